"""The order of the changes of a key in a merge: which row of a batch is the newest, and whether the table's row is newer."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructField

from mainstem.dataframes import positions
from mainstem.dataframes.column_names import quote
from mainstem.dataframes.declared_types import is_comparable
from mainstem.dataframes.positions import POSITION
from mainstem.dataframes.sinks.kafka_records import TIME_FORMATS
from mainstem.language.model.connectors.delta import Merge


UNDECIDED: Final = "__mainstem_undecided"
"""Column, a BOOLEAN: whether another row of the batch is as new as this row."""
_RANK: Final = "__mainstem_rank"
_FIRST: Final = "__mainstem_first"
_VALUES: Final = "__mainstem_values"


def newest(batch: DataFrame, merge: Merge) -> DataFrame:
    """For each key the row with the highest sequence; null is the lowest. Of rows with equal sequences the later record.

    Rows that the merge would write alike count as one. Without `sequenceBy` no row is newer than another one of its key.

    Args:
        batch: the rows, with `POSITION` if the order of their records is known.
        merge: the keys, the sequence, and what happens if two rows have equal ones.

    Returns:
        the rows without `POSITION`, with the column `UNDECIDED`: where it is true, no row of the key is the newest.
    """
    of_key = Window.partitionBy(*map(quote, merge.keys))
    if not merge.sequence_by:
        return batch.drop(POSITION).withColumn(UNDECIDED, F.count(F.lit(1)).over(of_key) > 1)
    # By the sequence alone, so that Spark drops the older rows before the shuffle.
    by_sequence = of_key.orderBy(*(F.col(quote(name)).desc_nulls_last() for name in merge.sequence_by))
    rows = batch.withColumn(_RANK, F.rank().over(by_sequence)).where(F.col(_RANK) == 1)
    is_known = POSITION in batch.columns and merge.takes_later
    compared = {
        POSITION: F.col(POSITION) if is_known else F.lit(None).cast(positions.TYPE),
        _VALUES: F.struct(removes(merge), *map(_comparable, written(batch, merge))),
    }
    latest_first = of_key.orderBy(F.col(POSITION).desc_nulls_last())
    rows = rows.withColumns(compared).withColumns(
        {_RANK: F.row_number().over(latest_first), _FIRST: F.first(F.struct(*compared)).over(latest_first)}
    )
    rows = rows.withColumn(UNDECIDED, (F.col(_RANK) > 1) & _is_undecided())
    columns = batch.drop(POSITION).columns
    return rows.where((F.col(_RANK) == 1) | F.col(UNDECIDED)).select(*map(quote, columns), UNDECIDED)


def written(batch: DataFrame, merge: Merge) -> list[StructField]:
    """The columns that the merge writes."""
    others = {name.lower() for name in (POSITION, *(merge.except_columns or ()))}
    return [field for field in batch.schema if field.name.lower() not in others]


def removes(merge: Merge) -> Column:
    """Whether a row removes its key; never null."""
    return F.coalesce(F.expr(merge.delete_when or "false"), F.lit(False))


def not_older(sequence: Sequence[str]) -> str:
    """The condition in SQL that the row of the source is not older than the row of the table; null is the lowest value."""
    if not sequence:
        return "true"
    first, *others = sequence
    source, target = f"source.{quote(first)}", f"target.{quote(first)}"
    newer = f"{source} > {target} OR ({target} IS NULL AND {source} IS NOT NULL)"
    return f"({newer} OR ({source} <=> {target} AND {not_older(others)}))"


def _is_undecided() -> Column:
    """Whether a row differs from the first row of its key, and is not known to be an earlier record; never null."""
    is_earlier_record = _is_as_first(f"{POSITION}.{positions.ORIGIN}") & ~_is_as_first(POSITION)
    return ~is_earlier_record & ~_is_as_first(_VALUES)


def _is_as_first(name: str) -> Column:
    return F.col(name).eqNullSafe(F.col(f"{_FIRST}.{name}"))


def _comparable(field: StructField) -> Column:
    """The column in a form that Spark compares; it compares no MAP and no VARIANT."""
    column = F.col(quote(field.name))
    if not is_comparable(field.dataType):
        return F.to_json(F.struct(column), {"ignoreNullFields": "false", **TIME_FORMATS}).alias(field.name)
    return column
