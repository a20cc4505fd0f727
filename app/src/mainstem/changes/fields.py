"""Finds the fields in which two parts of a document differ."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

from mainstem.language.model.pipeline import PipelineSpec


class FieldChange(NamedTuple):
    """A field with another value; None stands for a field that is not set.

    Attributes:
        path: path of the field below the part, in the words of the document.
        was: the old value.
        now: the new value.
    """

    path: str
    was: Any
    now: Any

    @property
    def text(self) -> str:
        """The change in words."""
        return f"{self.path} was {_shown(self.was)}, and is {_shown(self.now)}"


def field_changes(was: BaseModel | None, now: BaseModel | None) -> list[FieldChange]:
    """The fields that differ, at the depth at which both sides have the part."""
    old, new = ({} if each is None else each.model_dump(mode="json", by_alias=True) for each in (was, now))
    return list(_changes(old, new, ""))


def changed_fields(was: PipelineSpec, now: PipelineSpec) -> list[str]:
    """The paths of the fields in which two documents differ, for people: items of lists have their names.

    A path names the item and one field below it, such as `queries[daily].trigger`; an item of one document only has no field.
    """
    old, new = (spec.model_dump(mode="json", by_alias=True) for spec in (was, now))
    paths: dict[str, None] = {}
    for key in dict.fromkeys([*old, *new]):
        if old[key] != new[key]:
            paths |= dict.fromkeys(_below(key, old[key], new[key]))
    return list(paths)


def _below(key: str, was: Any, now: Any) -> Iterator[str]:
    """The paths below one field of `spec` that differ."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in (name for name in {**was, **now} if was.get(name) != now.get(name)):
            yield f"{key}.{name}"
        return
    old, new = _by_name(was), _by_name(now)
    if old is None or new is None:
        yield key
        return
    for item in dict.fromkeys([*old, *new]):
        before, after = old.get(item), new.get(item)
        if before is None or after is None:
            yield f"{key}[{item}]"
        elif before != after:
            yield from _below(f"{key}[{item}]", before, after)
    if old == new:
        yield key  # only their order


def _by_name(items: Any) -> dict[str, Any] | None:
    """The items of a list by their names; None if they have none."""
    if not isinstance(items, list) or not all(isinstance(each, dict) and "name" in each for each in items):
        return None
    return {each["name"]: each for each in items}


def _changes(was: Any, now: Any, path: str) -> Iterator[FieldChange]:
    if isinstance(was, dict) and isinstance(now, dict) and path.rpartition(".")[2] != "conf":
        for key in dict.fromkeys([*was, *now]):
            yield from _changes(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif was != now:
        yield FieldChange(path, was, now)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value in (None, [], {}, ""):
        return "not set"
    if isinstance(value, list):
        value = ", ".join(str(each) for each in value)
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
