"""Upserts batches into a Delta table by keys.

The first batch makes the table: the table never exists before a batch is in it, so that a query that waits for it never reads
it too early. Each further batch is at most one MERGE. Delta skips a transaction whose version it already has for the same
application id. The id is the checkpoint's id (Spark's query id), as in Delta's own streaming sink. So the first batches of a
new checkpoint are never skipped, and a renamed query or sink never merges a batch again over newer rows. The id of the
checkpoint is enough, because a query writes a table only once.
"""

import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructField

from mainstem.dataframes.column_names import quote
from mainstem.dataframes.sinks.delta_table import metadata
from mainstem.dataframes.sinks.failing import failing
from mainstem.dataframes.sinks.keys import without_null_keys
from mainstem.dataframes.sinks.partition_values import exact_in_table, table_partitions
from mainstem.dataframes.sinks.sequence import UNDECIDED, newest, not_older, removes, written
from mainstem.dataframes.sinks.stored_values import as_stored
from mainstem.dataframes.sinks.writers import BatchWriter
from mainstem.language.model.connectors.delta import DeltaSink, Merge


MERGE_KEY_REPEATED: Final = "mainstem:MergeKeyRepeated:"
_REMOVES: Final = "__mainstem_removes"
_TRANSACTION: Final = "spark.databricks.delta.write.txn"
_REPARTITION: Final = "spark.databricks.delta.merge.repartitionBeforeWrite.enabled"
"""Delta takes the name of a partition column there for a path to a field; without it, a merge writes more files."""
_locks: Final[defaultdict[str, threading.Lock]] = defaultdict(threading.Lock)


@contextmanager
def exclusive(path: str) -> Iterator[None]:
    """A context in which no other thread of this driver merges into the table or compacts it.

    Of two concurrent changes to a table, Delta fails the one that commits last, and its batch with it.
    """
    with _locks[absolute_path(path)]:
        yield


def merger(sink: DeltaSink) -> BatchWriter:
    """The writer of a sink with `merge`: it upserts each batch at most once."""
    merge = sink.merge
    if merge is None:
        raise ValueError(f"{sink.path} has no merge")

    def write(batch: DataFrame, batch_id: int) -> None:
        session = batch.sparkSession
        checkpoint = session.sparkContext.getLocalProperty("sql.streaming.queryId")
        path = absolute_path(sink.path)
        with exclusive(path):
            try:
                session.conf.set(f"{_TRANSACTION}AppId", checkpoint)
                session.conf.set(f"{_TRANSACTION}Version", str(batch_id))
                _write(session, sink, merge, path, batch)
            finally:
                session.conf.unset(f"{_TRANSACTION}AppId")
                session.conf.unset(f"{_TRANSACTION}Version")

    return write


def absolute_path(path: str) -> str:
    """The path; a relative path is made absolute, because Delta's table API reads a relative path as a table name."""
    return path if re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:/", path) else str(Path(path).absolute())


def _write(session: SparkSession, sink: DeltaSink, merge: Merge, path: str, batch: DataFrame) -> None:
    from delta.tables import DeltaTable

    fields = written(batch, merge)
    names = [quote(field.name) for field in fields]
    table = metadata(session, sink.path)
    if not merge.allow_null_keys:
        batch = without_null_keys(batch, merge.keys, "set merge.allowNullKeys: true")
    rows = exact_in_table(newest(batch, merge), sink, table).withColumn(_REMOVES, _removes(merge))
    rows = as_stored(rows.select(*_used(fields, merge), _REMOVES), sink, table)
    if not DeltaTable.isDeltaTable(session, path):
        _create(rows.where(f"NOT {_REMOVES}").select(*names), sink.partition_by or (), path)
        return
    values: Any = {name: f"source.{name}" for name in names}
    on_keys = " AND ".join(f"target.{quote(key)} <=> source.{quote(key)}" for key in merge.keys)
    builder = DeltaTable.forPath(session, path).alias("target").merge(rows.alias("source"), on_keys)
    if sink.merge_schema:
        builder = builder.withSchemaEvolution()
    is_not_older = not_older(merge.sequence_by or ())
    if merge.delete_when:
        builder = builder.whenMatchedDelete(f"source.{_REMOVES} AND {is_not_older}")
    builder = builder.whenMatchedUpdate(is_not_older, values).whenNotMatchedInsert(
        f"NOT source.{_REMOVES}", values
    )
    with _repartitioning(session, table_partitions(sink, table)):
        builder.execute()


@contextmanager
def _repartitioning(session: SparkSession, partitions: Sequence[str]) -> Iterator[None]:
    """A context in which a merge does not distribute its rows by partition columns whose names it does not resolve."""
    if not any("." in name for name in partitions):
        yield
        return
    before = session.conf.get(_REPARTITION, "true")
    session.conf.set(_REPARTITION, "false")
    try:
        yield
    finally:
        session.conf.set(_REPARTITION, before or "true")


def _used(fields: Sequence[StructField], merge: Merge) -> list[Column]:
    """The columns that the merge writes; of a row that removes its key, only those that find it."""
    needed = {name.lower() for name in (*merge.keys, *(merge.sequence_by or ()))}
    return [
        F.when(~F.col(_REMOVES), F.col(quote(field.name))).alias(field.name, metadata=field.metadata)
        if merge.delete_when and field.name.lower() not in needed
        else F.col(quote(field.name))
        for field in fields
    ]


def _create(rows: DataFrame, partitions: Sequence[str], path: str) -> None:
    if partitions:  # as a MERGE does it: otherwise each task writes a file into each partition
        rows = rows.repartition(*map(quote, partitions))
    rows.write.format("delta").mode("append").partitionBy(*partitions).save(path)


def _removes(merge: Merge) -> Column:
    """Whether a row removes its key. It fails the batch if no row of the key is the newest: Delta itself fails only if the
    table has the keys already, and else would insert both rows.
    """
    keys = f"two rows of one batch have equal keys ({', '.join(merge.keys)})"
    sequence = f", equal values of sequenceBy ({', '.join(merge.sequence_by or ())}), and no known order"
    fails = failing(MERGE_KEY_REPEATED, keys + (sequence if merge.sequence_by else ""))
    return F.when(F.col(UNDECIDED), fails).otherwise(removes(merge))
