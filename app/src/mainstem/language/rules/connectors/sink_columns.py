"""Columns that a sink cannot store, merge by, or write into the name of a folder, by their types or their names; pure.

The rules use it for the types of a document, and a start for those of the query, so that no first batch fails for this.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.language.analysis.repeated_hours import repeats_hours
from mainstem.language.loading.shape_validation import nearest_of
from mainstem.language.model.sinks import Sink
from mainstem.language.sql.ddl import Type, inner, is_compared
from mainstem.language.yaml.yamltext import Path


class Unfit(NamedTuple):
    """A column that a sink cannot use: the path below the sink, what is wrong with what to do, and the reason."""

    path: Path
    message: str
    reason: reasons.Reason


DELTA_CHECKS: Final = "spark.databricks.delta.schema.typeCheck.enabled"
_NESTED: Final = frozenset({"ARRAY", "MAP", "STRUCT", "VARIANT"})


def _is_calendar_interval(kind: Type) -> bool:
    return kind.name == "INTERVAL" and not kind.words


def _is_collated(kind: Type) -> bool:
    return kind.name == "STRING" and kind.words not in ("", "COLLATE UTF8_BINARY")


_NOT_STORED: Final[Mapping[str, Callable[[Type], bool]]] = {
    "delta": lambda kind: kind.name == "INTERVAL" or _is_collated(kind),
    "parquet": _is_calendar_interval,
    "json": _is_calendar_interval,
    "orc": lambda kind: kind.name in ("VARIANT", "VOID") or _is_calendar_interval(kind),
    "csv": lambda kind: kind.name in _NESTED or kind.name == "VOID" or _is_calendar_interval(kind),
}
"""Sink -> the types that Spark 4.2 and Delta 4.3 refuse in its first batch; `spark/test_sink_types.py` asks them."""
_REMEDIES: Final = {
    "INTERVAL": "write its length as a number, or cast it to STRING",
    "STRING": "cast it to STRING COLLATE UTF8_BINARY",
    "VOID": "cast it to a type",
}
_COMPARED: Final = (("merge", "keys"), ("merge", "sequenceBy"))
_AS_JSON: Final = "write to_json of it"


def unfit(sink: Sink, columns: Mapping[str, Type], time_zone: str, *, delta_checks: bool) -> Iterator[Unfit]:
    """The columns that the sink cannot use as the document asks.

    Args:
        sink: the sink.
        columns: the columns whose types are known.
        time_zone: of the query.
        delta_checks: whether Delta checks types, by `DELTA_CHECKS`.
    """
    if not sink.delta or delta_checks:
        yield from _not_stored(sink, columns)
    kinds = {name.lower(): kind for name, kind in columns.items()}
    for path, column in sink.columns():
        if (kind := kinds.get(column.lower())) is None:
            continue
        if path[1] == "partitionBy" and (why := _not_in_a_folder(kind, time_zone)):
            message = f"has the partition column {column!r} of the type {why} in a view"
            yield Unfit(path, message, reasons.PARTITION_TYPE_NOT_SUPPORTED)
        if path[1:3] in _COMPARED and not is_compared(kind):
            message = f"has the column {column!r} of the type {kind}, and Spark compares no MAP and no VARIANT; {_AS_JSON} in a view"
            yield Unfit(path, message, reasons.TYPE_NOT_SUPPORTED)


def missing(sink: Sink, known: Collection[str], unchecked: re.Pattern[str]) -> Iterator[Unfit]:
    """The columns that the sink names, and the query does not have.

    Args:
        sink: the sink.
        known: all columns of the query.
        unchecked: found in the names that are not looked for, such as the path of a field.
    """
    folded = {name.lower() for name in known}
    for path, column in sink.columns():
        if column.lower() not in folded and not unchecked.search(column):
            yield Unfit(path, f"has no column {column!r}{nearest_of(column, known)}", reasons.UNKNOWN_COLUMN)


def repeated(sink: Sink, names: Collection[str]) -> Iterator[Unfit]:
    """Columns of one name, if the sink stores columns by their names.

    Args:
        sink: the sink.
        names: those that several columns of the query have.
    """
    merge = sink.delta.merge if sink.delta else None
    # A merge drops these columns before it writes, but behind its choice of the newest row.
    dropped = (merge.except_columns or ()) if merge and not merge.sequence_by else ()
    twice = sorted(set(names) - {name.lower() for name in dropped}) if sink.stores_names else []
    if twice:
        message = (
            f"has more than one column {', '.join(map(repr, twice))}; give each its own name in a view, such as b.id AS b_id, "
            "or leave it out"
        )
        yield Unfit((sink.choice(),), message, reasons.DUPLICATE_COLUMN)


def _not_stored(sink: Sink, columns: Mapping[str, Type]) -> Iterator[Unfit]:
    refuses = _NOT_STORED.get(sink.choice())
    folders = {name.lower() for name in (sink.files.partition_by if sink.files else None) or ()}
    for column, kind in columns.items() if refuses else ():
        if column.lower() not in folders and (refused := next(filter(refuses, inner(kind)), None)):
            message = (
                f"has the column {column!r} of the type {kind}, and {sink.choice()} has no type {refused}; "
                f"{_REMEDIES.get(refused.name, _AS_JSON)} in a view"
            )
            yield Unfit((sink.choice(),), message, reasons.TYPE_NOT_SUPPORTED)


def _not_in_a_folder(kind: Type, time_zone: str) -> str | None:
    """Why a column of this type cannot partition a sink, and what to do; None if it can."""
    if kind.name == "BINARY":
        return "BINARY, and a partition keeps text only; use hex or base64 of it"
    if kind.name in _NESTED:
        return f"{kind}, and a partition keeps text only; use one of its parts, or to_json of it"
    if kind.name == "TIMESTAMP" and repeats_hours(time_zone):
        return (
            f"TIMESTAMP, and {time_zone} has one hour of each year twice, which a partition does not distinguish; "
            "set timeZone: UTC, or use a DATE, or a STRING that has the offset"
        )
    return None
