"""Finds the fields that only a new driver can apply."""

from typing import Final

from mainstem.changes.fields import field_changes
from mainstem.language.model.pipeline import PipelineSpec


DRIVER_FIELDS: Final = (
    "image",
    "imagePullPolicy",
    "imagePullSecrets",
    "driver",
    "executors",
    "spark",
    "connections",
    "packages",
    "functions",
    "listeners",
    "timeZone",
    "checkpoints",
    "restart",
    "drain",
    "restartNonce",
)
"""Fields of `spec` that the process of the driver reads once, when it starts."""


def driver_changes(was: PipelineSpec, now: PipelineSpec) -> tuple[str, ...]:
    """The paths of the changed fields that only a new driver can apply."""
    excluded = {"sources", "views", "queries", "parameters"}
    old, new = (spec.model_copy(update=dict.fromkeys(excluded, ())) for spec in (was, now))
    paths = []
    for field in field_changes(old, new):
        if field.path.split(".")[0] in DRIVER_FIELDS:
            paths += _items(field.path, field.was, field.now)
    return tuple(dict.fromkeys(paths))


def _items(path: str, was: object, now: object) -> list[str]:
    """The path of a field; for a list of named items and for Spark properties those that differ."""
    if path == "spark.conf" and isinstance(was, dict) and isinstance(now, dict):
        return [f"spec.spark.conf[{key}]" for key in sorted({*was, *now}) if was.get(key) != now.get(key)]
    if isinstance(was, list) and isinstance(now, list):
        old, new = ({each["name"]: each for each in items if isinstance(each, dict)} for items in (was, now))
        if names := [name for name in {**old, **new} if old.get(name) != new.get(name)]:
            return [f"spec.{path}[{name}]" for name in names]
    return [f"spec.{path}"]
