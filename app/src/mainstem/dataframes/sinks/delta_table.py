"""The newest columns, partitions and properties of a Delta table, from its log."""

import json
from typing import Any, NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType


class TableMetadata(NamedTuple):
    """The metadata of the newest version of a table.

    Attributes:
        columns: the columns, also those that partition it.
        partitions: names of the columns that partition it.
        widens: whether the property `delta.enableTypeWidening` lets a changed schema widen its types.
    """

    columns: StructType
    partitions: tuple[str, ...]
    widens: bool


def metadata(session: SparkSession, path: str) -> TableMetadata | None:
    """The metadata of the table; None if there is no table yet. It reads the log, for another writer may have changed it."""
    jvm: Any = session._jvm  # noqa: SLF001
    nothing = jvm.scala.Option.empty()
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, path)  # noqa: SLF001
    newest = log.update(False, nothing, nothing)
    if not log.tableExists():
        return None
    table = newest.metadata()
    columns = StructType.fromJson(json.loads(table.schemaString()))
    widening = table.configuration().get("delta.enableTypeWidening").toString().lower() == "some(true)"
    return TableMetadata(columns, tuple(table.partitionSchema().fieldNames()), widening)
