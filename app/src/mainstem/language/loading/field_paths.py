"""Which model, or which field of one, a path of a document leads to."""

from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mainstem.language.base import Model
from mainstem.language.yaml.yamltext import Path


def model_at(root: type[Model], path: Path) -> type[Model] | None:
    """The model at a path below the root, if one stands there."""
    model: type[BaseModel] = root
    for piece in path:
        if isinstance(piece, int):
            continue
        info = _field(model, piece)
        found = _models(info.annotation) if info else []
        if not found:
            return None
        model = found[0]
    return model if issubclass(model, Model) else None


def field_at(root: type[Model], path: Path) -> FieldInfo | None:
    """The field at a path; None within a map, whose keys are the user's."""
    model = model_at(root, path[:-1])
    return _field(model, str(path[-1])) if model else None


def keys_of(model: type[Model]) -> list[str]:
    """The fields of a model, as the document writes them."""
    return [info.alias or name for name, info in model.model_fields.items()]


def _field(model: type[BaseModel], key: str) -> FieldInfo | None:
    fields = model.model_fields
    return next((info for name, info in fields.items() if (info.alias or name) == key), None)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]
