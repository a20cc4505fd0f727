"""Finds the fields in which two parts of a document differ."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel


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


def _changes(was: Any, now: Any, path: str) -> Iterator[FieldChange]:
    if isinstance(was, dict) and isinstance(now, dict) and path.rpartition(".")[2] != "conf":
        for key in dict.fromkeys([*was, *now]):
            yield from _changes(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif was != now:
        yield FieldChange(path, was, now)


def _shown(value: Any) -> str:
    if value in (None, [], {}, ""):
        return "not set"
    if isinstance(value, list):
        value = ", ".join(str(each) for each in value)
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
