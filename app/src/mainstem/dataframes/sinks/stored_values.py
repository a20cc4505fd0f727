"""Gives a query's columns the types of the sink, and fails a batch with a value that the table's type cannot have.

Delta itself would convert by the rules of an INSERT, which cut and round.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructType,
)

from mainstem.dataframes.column_names import quote
from mainstem.dataframes.sinks.delta_table import TableMetadata
from mainstem.dataframes.sinks.failing import failing
from mainstem.dataframes.sinks.stored_types import (
    TABLE,
    Evolves,
    Misfit,
    Place,
    can_widen,
    misfits,
    pairs,
)
from mainstem.dataframes.spark_types import named
from mainstem.language.model.connectors.delta import DeltaSink


VALUE_OUT_OF_RANGE: Final = "mainstem:ValueOutOfRange:"
TYPE_TOO_NARROW: Final = "mainstem:TypeTooNarrow:"
_CAST: Final = "CAST it in a view to that type if the loss is meant, or"
CAST_OR_WIDEN: Final = f"{_CAST} {TABLE.wider}"


_BEYOND_LONG: Final = 2.0**63
"""Spark makes the greatest BIGINT of it, which is less."""


class TypeTooNarrowError(Exception):
    """A table's columns have types that may alter values of the query; the table has changed since the query started."""

    def __init__(self, columns: Iterable[object]) -> None:
        super().__init__(f"{TYPE_TOO_NARROW} {', '.join(map(str, columns))}")


def _never(_before: DataType, _after: DataType) -> bool:
    return False


def session_time_zone(session: SparkSession) -> str:
    """The time zone in which the session converts times."""
    return str(session.conf.get("spark.sql.session.timeZone"))


class Stored(NamedTuple):
    """The columns of an existing table, and how it takes those of a query.

    Attributes:
        columns: the table's columns.
        time_zone: the session's time zone.
        evolves: whether the table takes a type of the rows in place of its own.
        compared: names of the columns that a merge compares, in lower case.
        place: where the sink has these columns.
    """

    columns: StructType
    time_zone: str
    evolves: Evolves = _never
    compared: frozenset[str] = frozenset()
    place: Place = TABLE

    def misfits(self, rows: StructType) -> list[Misfit]:
        """The columns of the rows whose values the table may alter, or would compare in another order."""
        compared = [
            Misfit(field.name, field.dataType, stored)
            for field, stored in pairs(rows, self.columns)
            if field.name.lower() in self.compared and _is_other_order(field.dataType, stored)
        ]
        known = dict.fromkeys([*misfits(rows, self.columns, self.time_zone, self.evolves), *compared])
        return [column._replace(place=self.place) for column in known]

    def converted(self, rows: DataFrame) -> DataFrame:
        """The rows with the types of the table; a value that such a type cannot have fails the batch.

        Raises:
            TypeTooNarrowError: the table may alter values.
        """
        if columns := self.misfits(rows.schema):
            raise TypeTooNarrowError(columns)
        if all(_is_kept(field.dataType, there, self) for field, there in pairs(rows.schema, self.columns)):
            return rows
        return rows.select(*_fields(lambda name: F.col(quote(name)), "", rows.schema, self.columns, self))


def stored(session: SparkSession, sink: DeltaSink, table: TableMetadata | None) -> Stored | None:
    """The columns of the sink's table; None if the first batch makes it, or each batch makes it anew."""
    if table is None or sink.overwrite_schema:
        return None
    merges_all = session.conf.get("spark.databricks.delta.schema.autoMerge.enabled", "false") == "true"
    merge_schema = bool(sink.merge_schema) or merges_all

    def evolves(before: DataType, after: DataType) -> bool:
        return merge_schema and (isinstance(before, NullType) or (table.widens and can_widen(before, after)))

    compared = (*sink.merge.keys, *(sink.merge.sequence_by or ())) if sink.merge else ()
    return Stored(
        table.columns, session_time_zone(session), evolves, frozenset(name.lower() for name in compared)
    )


def as_stored(rows: DataFrame, sink: DeltaSink, table: TableMetadata | None) -> DataFrame:
    """The rows with the types of the sink's table.

    Raises:
        TypeTooNarrowError: the table may alter values.
    """
    known = stored(rows.sparkSession, sink, table)
    return known.converted(rows) if known else rows


def _is_other_order(kind: DataType, there: DataType) -> bool:
    """Whether values are compared as text in the table, and otherwise in the query: 10 is less than 9 there."""
    return isinstance(there, (StringType, BinaryType)) and not isinstance(kind, (type(there), NullType))


def too_narrow(column: Misfit) -> str:
    """The message of a column whose values a table may alter."""
    return f"{column}; {_CAST} {column.place.wider}"


def _fields(
    value: Callable[[str], Column], path: str, kind: StructType, there: StructType, known: Stored
) -> list[Column]:
    """The fields with the types that the table has for them; `value` gives the one of a name, `path` is before their names."""
    kinds = {field.name: each for field, each in pairs(kind, there)}
    return [
        _converted(value(field.name), f"{path}{field.name}", field.dataType, kinds.get(field.name, field.dataType), known)
        .alias(field.name, metadata=field.metadata)
        for field in kind
    ]  # fmt: skip


def _converted(value: Column, path: str, kind: DataType, there: DataType, known: Stored) -> Column:
    if _is_kept(kind, there, known):
        return value
    if isinstance(kind, NullType):
        return value.cast(there)
    match kind, there:
        case StructType(), StructType():
            return F.when(
                value.isNotNull(), F.struct(*_fields(value.getField, f"{path}.", kind, there, known))
            )
        case ArrayType(), ArrayType():
            return F.transform(
                value,
                lambda each: _converted(each, f"{path}.element", kind.elementType, there.elementType, known),
            )
        case MapType(), MapType():
            return _converted_map(value, path, kind, there, known)
    return _in_range(value, path, kind, there, known.place)


def _converted_map(value: Column, path: str, kind: MapType, there: MapType, known: Stored) -> Column:
    def of_value(each: Column) -> Column:
        return _converted(each, f"{path}.value", kind.valueType, there.valueType, known)

    if _equal(kind.keyType, there.keyType):  # a map that has a key twice stays as it is
        return F.transform_values(value, lambda _, each: of_value(each))
    entries = F.transform(
        F.map_entries(value),
        lambda entry: F.struct(
            _converted(entry["key"], f"{path}.key", kind.keyType, there.keyType, known),
            of_value(entry["value"]),
        ),
    )
    return F.map_from_entries(entries)


def _in_range(value: Column, path: str, kind: DataType, there: DataType, place: Place) -> Column:
    fitted = value.try_cast(there)
    is_other = ~fitted.try_cast(kind).eqNullSafe(value)
    if isinstance(kind, LongType) and isinstance(there, (FloatType, DoubleType)):
        is_other |= fitted >= _BEYOND_LONG
    fails = failing(
        VALUE_OUT_OF_RANGE,
        f"{path!r} is {named(kind)}, with a value that {named(there)} in {place.name} cannot have; correct or drop such rows in a "
        f"view, or {place.wider}",
    )
    return F.when(is_other, fails).otherwise(fitted)


def _is_kept(kind: DataType, there: DataType, known: Stored) -> bool:
    return _equal(kind, there) or known.evolves(there, kind)


def _equal(kind: DataType, stored: DataType) -> bool:
    """Whether the types are equal but for nulls and metadata."""
    return bool(kind.simpleString().lower() == stored.simpleString().lower())
