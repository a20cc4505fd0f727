"""Gives a query's columns the types of the table, and fails a batch with a value that the table's type cannot have.

Delta itself would convert by the rules of an INSERT, which cut and round.
"""

from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StructType

from mainstem.dataframes.sinks.delta_table import metadata
from mainstem.dataframes.sinks.partition_values import quote
from mainstem.dataframes.sinks.stored_types import Misfit, can_widen, misfits, pairs
from mainstem.language.model.connectors.delta import DeltaSink


VALUE_OUT_OF_RANGE: Final = "mainstem:ValueOutOfRange:"
TYPE_TOO_NARROW: Final = "mainstem:TypeTooNarrow:"
CAST_OR_WIDEN: Final = "CAST it in a view to that type if the loss is meant, or change the type in the table"


class TypeTooNarrowError(Exception):
    """A table's columns have types that may alter values of the query; the table has changed since the query started."""

    def __init__(self, columns: list[Misfit]) -> None:
        super().__init__(f"{TYPE_TOO_NARROW} {', '.join(map(_both, columns))}")


class Stored(NamedTuple):
    """The columns of an existing table.

    Attributes:
        columns: the columns.
        widens: whether Delta widens their types with those of the rows.
        time_zone: the session's time zone.
    """

    columns: StructType
    widens: bool
    time_zone: str

    def misfits(self, rows: StructType) -> list[Misfit]:
        """The columns of the rows whose values the table may alter."""
        return list(misfits(rows, self.columns, self.time_zone, widens=self.widens))

    def converted(self, rows: DataFrame) -> DataFrame:
        """The rows with the types of the table; a value that such a type cannot have fails the batch."""
        kinds = {field.name: kind for field, kind in pairs(rows.schema, self.columns)}
        return rows.select(
            *(
                _converted(F.col(quote(field.name)), field.name, field.dataType, kinds[field.name], self.widens)
                .alias(field.name, metadata=field.metadata)
                if field.name in kinds
                else F.col(quote(field.name))
                for field in rows.schema
            )
        )  # fmt: skip


def of_table(session: SparkSession, sink: DeltaSink) -> Stored | None:
    """The columns of the sink's table; None if the first batch makes it, or each batch makes it anew."""
    table = metadata(session, sink.path)
    if table is None or sink.overwrite_schema:
        return None
    time_zone = str(session.conf.get("spark.sql.session.timeZone"))
    return Stored(table.columns, bool(sink.merge_schema and table.widens), time_zone)


def as_stored(rows: DataFrame, sink: DeltaSink) -> DataFrame:
    """The rows with the types of the sink's table.

    Raises:
        TypeTooNarrowError: the table may alter values.
    """
    stored = of_table(rows.sparkSession, sink)
    if stored is None:
        return rows
    if columns := stored.misfits(rows.schema):
        raise TypeTooNarrowError(columns)
    return stored.converted(rows)


def too_narrow(column: Misfit) -> str:
    """The message of a column whose values a table may alter."""
    return f"{_both(column)}; {CAST_OR_WIDEN}"


def _both(column: Misfit) -> str:
    return f"{column.column!r} is {column.kind.upper()}, and {column.stored.upper()} in the table may alter its values"


def _converted(value: Column, path: str, kind: DataType, stored: DataType, widens: bool) -> Column:
    if _equal(kind, stored) or (widens and can_widen(stored, kind)):
        return value
    if isinstance(kind, NullType):
        return value.cast(stored)
    match kind, stored:
        case StructType(), StructType():
            kinds = {field.name: there for field, there in pairs(kind, stored)}
            fields = [
                _converted(value.getField(field.name), f"{path}.{field.name}", field.dataType, kinds.get(field.name, field.dataType), widens)
                .alias(field.name)
                for field in kind
            ]  # fmt: skip
            return F.when(value.isNotNull(), F.struct(*fields))
        case ArrayType(), ArrayType():
            return F.transform(
                value,
                lambda each: _converted(
                    each, f"{path}.element", kind.elementType, stored.elementType, widens
                ),
            )
        case MapType(), MapType():
            return F.map_from_entries(
                F.transform(
                    F.map_entries(value),
                    lambda entry: F.struct(
                        _converted(entry["key"], f"{path}.key", kind.keyType, stored.keyType, widens),
                        _converted(entry["value"], f"{path}.value", kind.valueType, stored.valueType, widens),
                    ),
                )
            )
    return _in_range(value, path, kind, stored)


def _in_range(value: Column, path: str, kind: DataType, stored: DataType) -> Column:
    there = value.try_cast(stored)
    # Two texts, so that a plan in the message of another failure is not taken for this one.
    why = f" {path!r} is {kind.simpleString().upper()}, with a value that {stored.simpleString().upper()} in the table cannot have"
    message = F.concat(F.lit(VALUE_OUT_OF_RANGE), F.lit(why))
    return F.when(~there.try_cast(kind).eqNullSafe(value), F.raise_error(message)).otherwise(there)


def _equal(kind: DataType, stored: DataType) -> bool:
    """Whether the types are equal but for nulls and metadata."""
    return bool(kind.simpleString().lower() == stored.simpleString().lower())
