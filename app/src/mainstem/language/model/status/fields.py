"""The types of status fields, and what a field declares beside its type: when the resource shows it, and its metric."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic.alias_generators import to_camel


LARGEST: Final = 2**53 - 1
"""The largest whole number that every reader of JSON reads exactly."""

_INT64: Final = {"format": "int64"}
Count = Annotated[int, Field(ge=0, le=LARGEST, json_schema_extra=_INT64)]
Rate = Annotated[
    float,
    Field(ge=0, le=LARGEST),
    WithJsonSchema({"maximum": LARGEST, "minimum": 0, "type": "integer"} | _INT64),
]
"""A number with a fraction, which the resource shows as a whole number."""
Short = Annotated[str, StringConstraints(max_length=256)]
Message = Annotated[str, StringConstraints(max_length=1024)]
Time = Annotated[str, StringConstraints(max_length=40), Field(json_schema_extra={"format": "date-time"})]
Reason = Annotated[str, StringConstraints(max_length=128)]
Offset = Annotated[Any, WithJsonSchema({"maxLength": 256, "type": "string"})]
"""Spark's JSON of an offset, which the resource shows as a string."""


class Shown(StrEnum):
    """When the resource shows a field."""

    KNOWN = "known"
    """It has a value."""
    REPORTED = "reported"
    """Spark has reported progress of the query, so that a zero is a measured zero."""
    NONZERO = "nonzero"
    """It is not zero."""
    NEVER = "never"
    """Only `/status` and the lines show the field, or it is internal."""


class MetricUnit(StrEnum):
    """How a metric's value follows from the field's value."""

    NUMBER = "number"
    NONZERO = "nonzero"
    """The number; no sample for zero."""
    SECONDS = "seconds"
    """Seconds, from milliseconds."""
    TIMESTAMP = "timestamp"
    """Seconds since 1970, from a time."""
    AGE = "age"
    """Seconds from a time until now."""


@dataclass(frozen=True)
class Metric:
    """The Prometheus metric of a field.

    Attributes:
        name: without the prefix `mainstem_`, and without the `_total` of a counter.
        help: its help text.
        counter: whether it only grows while the driver runs.
        unit: how its value follows from the field's.
    """

    name: str
    help: str
    counter: bool = False
    unit: MetricUnit = MetricUnit.NUMBER


def describe(metric: Metric | None = None, shown: Shown = Shown.KNOWN) -> dict[str, Any]:
    """The metadata of a field: its metric, and when the resource shows it."""
    return {"metric": metric, "shown": shown}


def status_config(*required: str) -> ConfigDict:
    """Settings of a part of the resource, in which these fields are always present."""
    return ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        use_attribute_docstrings=True,
        json_schema_extra={"required": list(required)},
    )


def earliest(times: Iterable[str | None]) -> str | None:
    """The earliest of some times of `stamp`; None if there is none, or if one is not known."""
    known = list(times)
    return min(filter(None, known), default=None) if all(known) else None


def moment(text: str | None) -> datetime | None:
    """Parse one of Spark's times; None for a time after the year 9999, which no resource and no clock can show.

    Event time gets there if milliseconds are taken for seconds, and the watermark with it.
    """
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
