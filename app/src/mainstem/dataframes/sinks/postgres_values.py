"""Gives a query's columns the types of a PostgreSQL table, and fails a batch with a value that a column cannot have.

The database itself would cut and round some of them, and of others it would name neither column nor remedy.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import ArrayType, DataType, StringType, StructType, TimestampNTZType, TimestampType

from mainstem.dataframes.sinks.failing import failing
from mainstem.dataframes.sinks.partition_values import quote
from mainstem.dataframes.sinks.postgres_types import (
    MICROSECONDS,
    NO_LIMIT,
    PostgresColumn,
    Untaken,
    taken_types,
    untaken,
)
from mainstem.dataframes.sinks.stored_types import Misfit
from mainstem.dataframes.sinks.stored_values import VALUE_OUT_OF_RANGE, Stored, TypeTooNarrowError


PARSED_NOTE: Final = "mainstem: the database reads the text of "
"""Prefix of the note on an exception of the database; the names of columns follow."""
_DIGITS_OF_SECONDS: Final = {"time", "timetz", "interval"}


class _Check(NamedTuple):
    """A kind of value that a column cannot have.

    Attributes:
        fails: whether a value is of that kind.
        why: what the column cannot have, after its name.
    """

    fails: Callable[[Column], Column]
    why: str


class PostgresTable(NamedTuple):
    """The columns of a table, and how it takes those of a query.

    Attributes:
        columns: the table's columns that the query writes.
        time_zone: the session's time zone.
    """

    columns: Sequence[PostgresColumn]
    time_zone: str

    def misfits(self, rows: StructType) -> list[Misfit]:
        """The columns whose values the table may alter."""
        return self._stored(rows).misfits(rows)

    def untaken(self, rows: StructType) -> list[Untaken]:
        """The columns whose type the table does not take."""
        return list(untaken(rows, self.columns))

    def converted(self, rows: DataFrame) -> DataFrame:
        """The rows with the types of the table; a value that a column cannot have fails the batch.

        Raises:
            TypeTooNarrowError: the table has changed since the query started, and may alter values.
        """
        if columns := self.untaken(rows.schema):
            raise TypeTooNarrowError(columns)
        converted = self._stored(rows.schema).converted(rows)
        kinds = {field.name.lower(): field.dataType for field in converted.schema}
        known = {column.name.lower(): column for column in self.columns}
        return converted.select(
            *(_checked(name, kinds[name.lower()], known[name.lower()]) for name in converted.columns)
        )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Adds to an exception which columns the database reads from a text, for its own message does not name them."""
        try:
            yield
        except Exception as error:
            if parsed := ", ".join(f"{column.name!r} ({column})" for column in self.columns if column.parsed):
                error.add_note(f"{PARSED_NOTE}{parsed}")
            raise

    def _stored(self, rows: StructType) -> Stored:
        return Stored(taken_types(rows, self.columns), self.time_zone, lambda _before, _after: False)


def _checked(name: str, kind: DataType, column: PostgresColumn) -> Column:
    value = F.col(quote(name))
    checked = value
    for check in _checks(kind, column):
        fails = failing(VALUE_OUT_OF_RANGE, f"{name!r} {check.why}")
        checked = F.when(check.fails(value), fails).otherwise(checked)
    return checked.alias(name)


def _checks(kind: DataType, column: PostgresColumn) -> Iterator[_Check]:
    if isinstance(kind, ArrayType):
        if isinstance(kind.elementType, ArrayType):
            yield _Check(
                _is_ragged,
                "has an array whose arrays are empty, NULL or of different lengths, which PostgreSQL cannot store",
            )
        yield from (_Check(_anywhere(check.fails), check.why) for check in _checks(kind.elementType, column))
    if isinstance(kind, StringType):
        yield from _text_checks(column)
    if isinstance(kind, (TimestampType, TimestampNTZType)) and column.scale < MICROSECONDS:
        step = F.lit(Decimal(1).scaleb(-column.scale))
        yield _Check(
            lambda time: F.date_part(F.lit("SECOND"), time) % step != 0,
            f"has a time with more digits than {column} in the table; use date_trunc in a view",
        )


def _anywhere(fails: Callable[[Column], Column]) -> Callable[[Column], Column]:
    """Whether an element of an array is of the kind."""
    return lambda array: F.exists(array, fails)


def _is_ragged(array: Column) -> Column:
    """Whether an array of arrays has no table of rows and columns: PostgreSQL makes `{}` of `[[]]`."""
    lengths = F.array_distinct(F.transform(array, lambda each: F.coalesce(F.size(each), F.lit(0))))
    return (F.size(lengths) > 1) | F.array_contains(lengths, 0)


def _text_checks(column: PostgresColumn) -> Iterator[_Check]:
    yield _Check(
        lambda text: F.contains(text, F.lit("\0")),
        "has a text with a NUL character, which PostgreSQL cannot store; use replace(..., char(0), '') in a view",
    )
    yield _Check(
        lambda text: ~F.is_valid_utf8(text), "has a text that is not UTF-8; use make_valid_utf8 in a view"
    )
    if column.element in {"varchar", "bpchar"} and column.precision != NO_LIMIT:
        yield _Check(
            lambda text: F.char_length(text) > column.precision,
            f"has a text that is too long for {column} in the table",
        )
    if column.element in _DIGITS_OF_SECONDS:
        yield _Check(
            lambda text: text.rlike(f"[.]\\d{{{column.scale}}}\\d*[1-9]"),
            f"has a time with more digits than {column} in the table",
        )
