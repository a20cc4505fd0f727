"""The order of the changes of a key in a merge: which row of a batch is the newest, and whether the table's row is newer."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructField

from mainstem.dataframes import positions
from mainstem.dataframes.positions import POSITION
from mainstem.dataframes.sinks.kafka_records import TIME_FORMATS
from mainstem.dataframes.sinks.partition_values import quote
from mainstem.language.model.connectors.delta import Merge


UNDECIDED: Final = "__mainstem_undecided"
"""Column, a BOOLEAN: whether another row of the batch is as new as this row."""
_RANK: Final = "__mainstem_rank"
_FIRST: Final = "__mainstem_first"
_SEQUENCE: Final = "__mainstem_sequence"
_VALUES: Final = "__mainstem_values"


def newest(batch: DataFrame, merge: Merge) -> DataFrame:
    """For each key the row with the highest sequence; null is the lowest. Of rows with equal sequences the later record.

    Rows that are equal in all columns count as one. Without `sequenceBy` no row is newer than another one of its key.

    Args:
        batch: the rows, with `POSITION` if the order of their records is known.
        merge: the keys, the sequence, and what happens if two rows have equal ones.

    Returns:
        the rows without `POSITION`, with the column `UNDECIDED`: where it is true, no row of the key is the newest.
    """
    columns = batch.drop(POSITION).columns
    is_known = POSITION in batch.columns and merge.takes_later
    sequence = [quote(name) for name in merge.sequence_by or ()]
    compared = {
        _SEQUENCE: F.struct(F.lit(0), *sequence),
        POSITION: F.col(POSITION) if is_known else F.lit(None).cast(positions.TYPE),
        _VALUES: F.struct(*(_comparable(field) for field in batch.drop(POSITION).schema)),
    }
    newest_first = Window.partitionBy(*map(quote, merge.keys)).orderBy(
        *(F.col(name).desc_nulls_last() for name in (*sequence, POSITION))
    )
    rows = batch.withColumns(compared).withColumns(
        {_RANK: F.row_number().over(newest_first), _FIRST: F.first(F.struct(*compared)).over(newest_first)}
    )
    rows = rows.withColumn(UNDECIDED, (F.col(_RANK) > 1) & (_is_undecided() if sequence else F.lit(True)))
    return rows.where((F.col(_RANK) == 1) | F.col(UNDECIDED)).select(*map(quote, columns), UNDECIDED)


def not_older(sequence: Sequence[str]) -> str:
    """The condition in SQL that the row of the source is not older than the row of the table; null is the lowest value."""
    if not sequence:
        return "true"
    first, *others = sequence
    source, target = f"source.{quote(first)}", f"target.{quote(first)}"
    newer = f"{source} > {target} OR ({target} IS NULL AND {source} IS NOT NULL)"
    return f"({newer} OR ({source} <=> {target} AND {not_older(others)}))"


def _is_undecided() -> Column:
    """Whether a row is as new as the first row of its key, and differs from it; both are known."""
    is_earlier_record = _is_as_first(f"{POSITION}.{positions.ORIGIN}") & ~_is_as_first(POSITION)
    return _is_as_first(_SEQUENCE) & ~is_earlier_record & ~_is_as_first(_VALUES)


def _is_as_first(name: str) -> Column:
    return F.col(name).eqNullSafe(F.col(f"{_FIRST}.{name}"))


def _comparable(field: StructField) -> Column:
    """The column in a form that Spark compares; it compares no MAP and no VARIANT."""
    column = F.col(quote(field.name))
    if any(word in field.dataType.simpleString() for word in ("map<", "variant")):
        return F.to_json(F.struct(column), {"ignoreNullFields": "false", **TIME_FORMATS}).alias(field.name)
    return column
