"""What the models say, as one JSON Schema with a definition for each model; the other modules shape it for their readers.

It differs from pydantic's own: no titles, no null beside optional fields, no `const`, and defaults that a factory makes
are written out. Two keys of ours, `x-model` and `x-one-of`, carry the class and its alternatives.
"""

from dataclasses import fields
from typing import Any

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema, to_jsonable_python

from mainstem.language.base import Model
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.status.fields import Shown


Schema = dict[str, Any]


def definitions(root: type[Model] = StreamingPipeline) -> dict[str, Schema]:
    """Name of a model -> its schema, in which `$ref` leads to other names; `root` and all that it holds."""
    schema = root.model_json_schema(schema_generator=_Generator)
    found: dict[str, Schema] = schema.pop("$defs")
    found = {root.__name__: schema, **found}
    for model in found.values():
        for field in model["properties"].values():
            if "description" not in field:  # pydantic leaves out what would repeat the model's own
                field["description"] = found[referred(field) or ""]["description"]
    return found


def referred(node: Schema) -> str | None:
    """Name of the definition that a node refers to, if it does."""
    reference = node.get("$ref")
    return None if reference is None else str(reference).rpartition("/")[2]


def defaults(model: BaseModel) -> Schema:
    """A model as the document writes it: camelCase, and without what is absent."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class _Generator(GenerateJsonSchema):
    """The differences from pydantic's own generator, each a method of it."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - titles only repeat names
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> Schema:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        inner = self.generate_inner(schema["schema"])
        factory: Any = schema.get("default_factory")
        value = factory() if factory else schema.get("default")
        if value is None:
            return inner
        return inner | {
            "default": defaults(value) if isinstance(value, BaseModel) else to_jsonable_python(value)
        }

    def literal_schema(self, schema: core_schema.LiteralSchema) -> Schema:
        found = super().literal_schema(schema)
        return {"enum": [found.pop("const")], **found} if "const" in found else found

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        found = super().model_schema(schema)
        found.pop("title", None)
        model = schema["cls"]
        if issubclass(model, Model) and model.one_of:
            found["x-one-of"] = list(model.one_of)
        return found | {"x-model": model.__name__}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        """A part of the status: without its internal fields, and without defaults, which only the runtime uses."""
        found = super().dataclass_schema(schema)
        found.pop("title", None)
        for field in fields(schema["cls"]):
            name = to_camel(field.name)
            found["properties"][name].pop("default", None)
            if field.metadata.get("shown") is Shown.NEVER:
                del found["properties"][name]
        return found
