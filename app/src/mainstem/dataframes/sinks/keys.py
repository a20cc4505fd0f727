"""Fails a batch with a row whose key is null."""

from collections.abc import Iterator, Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StructType

from mainstem.dataframes.column_names import quote
from mainstem.dataframes.sinks.failing import failing_sql


KEY_IS_NULL: Final = "mainstem:KeyIsNull:"


def without_null_keys(rows: DataFrame, keys: Sequence[str], remedy: str) -> DataFrame:
    """The rows; one with a null in a key, or in a field of a STRUCT that is a key, fails the batch.

    Such a row has often lost its key: to a misspelled column, or to an outer join. A merge would write all of these rows to one
    row of the table, and an index of PostgreSQL, to which nulls differ, would take each of them as a new row.

    Args:
        rows: the rows of a batch.
        keys: the columns that identify a row of the table.
        remedy: what to do if null is a key.
    """
    fields = rows.select(*map(quote, keys)).schema.fields
    parts = [part for key, field in zip(keys, fields, strict=True) for part in _parts((key,), field.dataType)]
    checks = "".join(f"WHEN {_column(part)} IS NULL THEN {_fails(part, remedy)} " for part in parts)
    return rows.where(f"CASE {checks}ELSE true END")


def _parts(path: tuple[str, ...], kind: DataType) -> Iterator[tuple[str, ...]]:
    """The column, and each field within it."""
    yield path
    if isinstance(kind, StructType):
        for field in kind:
            yield from _parts((*path, field.name), field.dataType)


def _column(path: tuple[str, ...]) -> str:
    return ".".join(map(quote, path))


def _fails(path: tuple[str, ...], remedy: str) -> str:
    name = ".".join(path)
    return failing_sql(
        KEY_IS_NULL, f"{name!r} is null in a row, and is a key; drop such rows in a view, or {remedy}"
    )
