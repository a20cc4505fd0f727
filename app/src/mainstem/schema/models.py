"""Generates one JSON Schema with a definition for each model; the other modules derive their output from it.

It differs from pydantic's schema: no titles, no null for optional fields, no `const`, and defaults of factories are
included. Three keys of Mainstem: `x-model` and `x-one-of` hold the class and its alternatives, and `x-one-or-more` marks a
list that a document may write as a single item.
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
    """Name of a model -> its schema, in which `$ref` refers to other names; for `root` and all models below it."""
    schema = root.model_json_schema(schema_generator=_Generator)
    below: dict[str, Schema] = schema.pop("$defs")
    models = {root.__name__: schema, **below}
    for model in models.values():
        for field in model["properties"].values():
            if "description" not in field:  # pydantic leaves out a description that repeats the model's
                field["description"] = models[referred(field) or ""]["description"]
    return models


def referred(node: Schema) -> str | None:
    """The name of the definition that a node refers to; None without a `$ref`."""
    reference = node.get("$ref")
    return None if reference is None else str(reference).rpartition("/")[2]


def defaults(model: BaseModel) -> Schema:
    """A model in the form of the document: camelCase, without absent fields."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


class _Generator(GenerateJsonSchema):
    """pydantic's generator with one method for each difference."""

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
        literal = super().literal_schema(schema)
        return {"enum": [literal.pop("const")], **literal} if "const" in literal else literal

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        definition = super().model_schema(schema)
        definition.pop("title", None)
        model = schema["cls"]
        if issubclass(model, Model) and model.one_of:
            definition["x-one-of"] = list(model.one_of)
        return definition | {"x-model": model.__name__}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> Schema:
        """A part of the status, without its internal fields and without defaults, which only the runtime uses."""
        definition = super().dataclass_schema(schema)
        definition.pop("title", None)
        for field in fields(schema["cls"]):
            name = to_camel(field.name)
            definition["properties"][name].pop("default", None)
            if field.metadata.get("shown") is Shown.NEVER:
                del definition["properties"][name]
        return definition
