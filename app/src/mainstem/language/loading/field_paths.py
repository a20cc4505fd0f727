"""Finds the model or the field at a path of a document."""

from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mainstem.language.base import Model
from mainstem.language.yaml.yamltext import Path


def model_at(root: type[Model], path: Path) -> type[Model] | None:
    """The model at a path below the root; None if there is no model."""
    model: type[BaseModel] = root
    for piece in path:
        if isinstance(piece, int):
            continue
        info = _field(model, piece)
        models = _models(info.annotation) if info else []
        if not models:
            return None
        model = models[0]
    return model if issubclass(model, Model) else None


def field_at(root: type[Model], path: Path) -> FieldInfo | None:
    """The field at a path; None inside a map, because users choose its keys."""
    model = model_at(root, path[:-1])
    return _field(model, str(path[-1])) if model else None


def keys_of(model: type[Model]) -> list[str]:
    """The keys of a model in the document."""
    return [info.alias or name for name, info in model.model_fields.items()]


def _field(model: type[BaseModel], key: str) -> FieldInfo | None:
    fields = model.model_fields
    return next((info for name, info in fields.items() if (info.alias or name) == key), None)


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models(argument)]
