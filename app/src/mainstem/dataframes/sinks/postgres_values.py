"""Gives a query's columns the types of a PostgreSQL table, and fails a batch with a value that a column cannot have.

The database itself would cut and round some of them, and of others it would name neither column nor remedy.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from mainstem.dataframes.column_names import quote
from mainstem.dataframes.sinks.failing import failing_sql
from mainstem.dataframes.sinks.postgres_types import (
    MICROSECONDS,
    NO_LIMIT,
    TIMES_AS_TEXT,
    PostgresColumn,
    Untaken,
    taken_types,
    untaken,
)
from mainstem.dataframes.sinks.stored_types import Misfit
from mainstem.dataframes.sinks.stored_values import VALUE_OUT_OF_RANGE, Stored, TypeTooNarrowError


PARSED_NOTE: Final = "mainstem: the database reads the text of "
"""Prefix of the note on an exception of the database; the names of columns follow."""
_VALUE: Final = "{value}"
_LITERALS: Final = {
    DateType: "DATE'{}'",
    TimestampType: "TIMESTAMP_LTZ'{} 00:00:00Z'",
    TimestampNTZType: "TIMESTAMP_NTZ'{} 00:00:00'",
}
"""Spark's SQL for the beginning of a day."""


class _Check(NamedTuple):
    """A kind of value that a column cannot have.

    Attributes:
        fails: SQL of Spark, with `_VALUE` for the value: whether it is of that kind.
        why: what the column cannot have, after its name; and the remedy.
    """

    fails: str
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
        checks = {
            column.name: list(_checks(converted.schema[column.name].dataType, column))
            for column in self.columns
        }
        if not any(checks.values()):
            return converted
        # As one text: with a call of Java for each function, 200 columns take seconds.
        return converted.selectExpr(*(_checked(name, checks[name]) for name in converted.columns))

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
        return Stored(taken_types(rows, self.columns), self.time_zone)


def _checked(name: str, checks: Sequence[_Check]) -> str:
    value = quote(name)
    failing = "".join(
        f"WHEN {check.fails.replace(_VALUE, value)} THEN {failing_sql(VALUE_OUT_OF_RANGE, f'{name!r} has {check.why}')} "
        for check in checks
    )
    return f"CASE {failing}ELSE {value} END AS {value}" if checks else value


def _checks(kind: DataType, column: PostgresColumn, value: str = _VALUE) -> Iterator[_Check]:
    """The checks of a column's values; an array of arrays is checked as one array of all their elements."""
    if not isinstance(kind, ArrayType):
        yield from _checks_of_value(kind, column)
    elif isinstance(kind.elementType, ArrayType):
        yield _Check(
            _is_ragged(value),
            "an array whose arrays are empty, NULL or of different lengths, which PostgreSQL cannot store; write "
            "to_json of it in a view",
        )
        yield from _checks(kind.elementType, column, f"flatten({value})")
    else:
        for check in _checks_of_value(kind.elementType, column):
            yield _Check(f"exists({value}, e -> {check.fails.replace(_VALUE, 'e')})", check.why)


def _is_ragged(array: str) -> str:
    """Whether an array of arrays has no rows and columns: PostgreSQL makes `{}` of `[[]]`."""
    lengths = f"array_distinct(transform({array}, e -> if(e IS NULL, 0, size(e))))"
    return f"(size({lengths}) > 1 OR array_contains({lengths}, 0))"


def _checks_of_value(kind: DataType, column: PostgresColumn) -> Iterator[_Check]:
    if isinstance(kind, StringType):
        yield from _checks_of_text(column)
    if type(kind) in _LITERALS:
        day = _LITERALS[type(kind)].format
        yield _Check(
            f"({_VALUE} < {day('-4711-01-01')} OR {_VALUE} >= {day('1582-10-05')} AND {_VALUE} < {day('1582-10-15')})",
            "a day that PostgreSQL's driver moves or refuses: from 1582-10-05 to 1582-10-14, or before the year -4711; "
            "correct or drop such rows in a view",
        )
    if isinstance(kind, (TimestampType, TimestampNTZType)) and column.scale < MICROSECONDS:
        cut = "date_trunc('MILLISECOND', ...)"
        cut = f"CAST({cut} AS TIMESTAMP_NTZ)" if isinstance(kind, TimestampNTZType) else cut
        yield _Check(
            f"date_part('SECOND', {_VALUE}) % {Decimal(1).scaleb(-column.scale)} <> 0",
            f"a time with more digits than {column} in the table; cut them in a view, such as by {cut}",
        )


def _checks_of_text(column: PostgresColumn) -> Iterator[_Check]:
    yield _Check(
        f"contains({_VALUE}, char(0))",
        "a text with a NUL character, which PostgreSQL cannot store; use replace(..., char(0), '') in a view",
    )
    yield _Check(f"NOT is_valid_utf8({_VALUE})", "a text that is not UTF-8; use make_valid_utf8 in a view")
    if column.element in {"varchar", "bpchar"} and column.precision != NO_LIMIT:
        yield _Check(
            f"char_length({_VALUE}) > {column.precision}",
            f"a text that is too long for {column} in the table; shorten it in a view, or make the column wider in the table",
        )
    if column.element in TIMES_AS_TEXT and not column.is_array:
        yield _Check(
            _is_cut(column),
            f"a text of which {column} in the table would lose a part: write a time such as 23:59:59.5, with a zone for timetz "
            "alone, and with no more digits than the column has",
        )


def _is_cut(column: PostgresColumn) -> str:
    """Whether PostgreSQL ignores a part of a text that it reads as a time: a day, a zone, or digits."""
    digits = f"[.][0-9]{{1,{column.scale}}}"
    if column.element == "interval":
        seconds = f"(:[0-9]{{2}}{digits}|[0-9]{digits}S)$" if column.scale else "^$"
        return f"(contains({_VALUE}, '.') AND NOT {_VALUE} RLIKE '{seconds}')"
    seconds = f"(:[0-9]{{2}}({digits})?)?" if column.scale else "(:[0-9]{2})?"
    zone = "([+-][0-9]{1,2}(:?[0-9]{2}){0,2}|Z)" if column.element == "timetz" else ""
    return f"NOT {_VALUE} RLIKE '^[0-9]{{1,2}}:[0-9]{{2}}{seconds}{zone}$'"
