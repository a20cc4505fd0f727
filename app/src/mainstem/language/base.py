"""The base class of all models, and the types of names, durations, sizes and texts."""

import re
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError, PydanticKnownError


MAX_ITEMS: Final = 64
MAX_SQL: Final = 16 * 1024

LIST_MAP: Final = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
LIST_SET: Final = {"x-kubernetes-list-type": "set"}

_UNITS: Final = {
    "ms": 0.001,
    "millisecond": 0.001,
    "s": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
    "w": 604800,
    "week": 604800,
}
_INTERVAL_NAMES: Final = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}  # fmt: skip
DURATION_PATTERN: Final = (
    r"^[0-9]{1,9} ?(ms|milliseconds?|s|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)$"
)


class Model(BaseModel):
    """The base class of all models: frozen, with camelCase keys, and closed, so an unknown field is an error.

    A union lists its alternatives in `one_of`: exactly one of these keys must be set.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=False,
        validate_default=False,
        use_attribute_docstrings=True,
    )

    one_of: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if not self.one_of:
            return self
        given = [key for key in self.one_of if self.member(key) is not None]
        if len(given) != 1:
            raise PydanticCustomError(
                "one_of",
                "exactly one of {choices} must be given, found {given}",
                {"choices": ", ".join(self.one_of), "given": ", ".join(given) or "none"},
            )
        return self

    def choice(self) -> str:
        """The key of a union that is set; its value is `member(choice())`."""
        return next(key for key in self.one_of if self.member(key) is not None)

    def member(self, key: str) -> Any:
        """The value of a key of the document. The key `json` is the field `json_`, because pydantic has a `json`."""
        name = to_snake(key)
        return getattr(self, f"{name}_" if f"{name}_" in type(self).model_fields else name)


@cache
def to_snake(key: str) -> str:
    """The Python name of a key of the document: `processingTime` -> `processing_time`."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower()


def seconds(duration: str) -> float:
    """The seconds of a duration in a document: `5 minutes` and `5m` are 300.0."""
    number, unit = _split(duration)
    return number * _UNITS[unit if unit in _UNITS else unit.removesuffix("s")]


def interval(duration: str) -> str:
    """A duration in the form of Spark: `5m` becomes `5 minutes`."""
    number, unit = _split(duration)
    return f"{number} {_INTERVAL_NAMES.get(unit, unit)}"


def _split(duration: str) -> tuple[int, str]:
    match = re.fullmatch(r"([0-9]+) ?([a-z]+)", duration)
    if match is None:
        raise ValueError(f"not a duration: {duration!r}")
    return int(match[1]), match[2]


def _time_zone(name: str) -> str:
    from zoneinfo import (
        available_timezones,
    )  # reads the zone database, so only for a document with a time zone

    if name != "UTC" and name not in available_timezones():
        raise PydanticCustomError(
            "time_zone", "no such time zone, use a name like UTC or Europe/Zurich", {"value": name}
        )
    return name


def _unquoted(name: str) -> str:
    """The name without the backticks around the whole of it, if it has them."""
    within = name[1:-1].replace("``", "")
    is_quoted = len(name) > 2 and name[0] == name[-1] == "`" and "`" not in within
    return name[1:-1].replace("``", "`") if is_quoted else name


def _as_text(value: Any) -> Any:
    """A whole number as text: like Kubernetes, a document may write `cpu: 2` instead of `cpu: "2"`."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_items(value: Any) -> Any:
    """The items of a list, or a single text as the only item; pydantic takes a tuple from a validator."""
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _unique(items: tuple[str, ...]) -> tuple[str, ...]:
    for index, item in enumerate(items):
        if item in items[:index]:
            raise PydanticCustomError("listed_twice", "{value} is listed twice", {"value": repr(item)})
    return items


UNIQUE: Final = AfterValidator(_unique)
"""For a field with `LIST_SET`: the API server also rejects a repeated entry."""


def _true(value: Any) -> Any:
    """Reject 1 for true: pydantic compares literals by value even in strict mode, and the API server rejects 1."""
    if value is not True:
        raise PydanticKnownError("literal_error", {"expected": "True"})
    return value


TrueOnly = Annotated[Literal[True], BeforeValidator(_true)]
"""A field that a document sets to `true` or leaves out."""


NUMBER_OR_TEXT: Final = (
    BeforeValidator(_as_text),
    Field(json_schema_extra={"x-kubernetes-int-or-string": True, "minimum": 0}),
)
"""For a string that a user may write as a number."""


def pattern(kind: Any) -> str:
    """The pattern of an annotated string type."""
    return str(kind.__metadata__[0].pattern)


Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$", max_length=63)]
"""The name of a source, view, connection or sink: a SQL identifier in lower case."""

Label = Annotated[str, StringConstraints(pattern=r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", max_length=63)]
"""The name of a query: a DNS label, like names in Kubernetes."""

ParameterName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,62}$", max_length=63)]
Duration = Annotated[str, StringConstraints(pattern=DURATION_PATTERN, max_length=32)]
"""Spark's interval strings (`30 seconds`, `1 day`) and their short forms (`30s`, `1d`)."""

ByteSize = Annotated[
    str, StringConstraints(pattern=r"^[1-9][0-9]{0,15}([bkmgtp]|[kmgtp]b)?$", max_length=18), *NUMBER_OR_TEXT
]
"""A size in the form of Spark: `512m`, `10g`; a number without unit is bytes."""

Version = Annotated[str, StringConstraints(pattern=r"^(latest|[0-9]{1,15})$", max_length=15), *NUMBER_OR_TEXT]
"""A version of a Delta table: a number, or `latest`."""

PositiveInt = Annotated[int, Field(ge=1, le=2**53)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
"""A string that may contain `${parameter}`."""

Sql = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SQL)]
Ddl = Annotated[str, StringConstraints(min_length=1, max_length=MAX_SQL)]
Predicate = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
"""A condition in Spark SQL on the columns of one relation."""

PythonObject = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$",
        max_length=255,
    ),
]
"""An object of a Python module, `package.module:object`."""

JavaClass = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$", max_length=255)]

Column = Annotated[str, StringConstraints(min_length=1, max_length=255)]
EventTimeColumn = Annotated[Column, AfterValidator(_unquoted)]
"""A column of a relation, never a field of one; a document may write it in backticks."""
Columns = Annotated[
    tuple[Column, ...],
    Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
]
OneOrMoreColumns = Annotated[
    Columns,
    BeforeValidator(_as_items),
    Field(json_schema_extra={"x-one-or-more": True}),
]
"""Columns; a document may write a single one without a list."""
OptionText = Annotated[str, StringConstraints(max_length=4096)]
Options = Annotated[dict[Text, OptionText], Field(max_length=MAX_ITEMS)]
TimeZone = Annotated[str, StringConstraints(min_length=1, max_length=64), AfterValidator(_time_zone)]
