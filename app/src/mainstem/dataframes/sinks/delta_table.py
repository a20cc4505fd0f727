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
        has_value_folders: whether the folders of its files have names such as `column=value`; a table that maps its columns, or
            spreads its files, has others.
    """

    columns: StructType
    partitions: tuple[str, ...]
    widens: bool
    has_value_folders: bool


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

    def has(key: str, *values: str) -> bool:
        return str(table.configuration().get(key).toString()).lower() in {
            f"some({value})" for value in values
        }

    # As Delta's TransactionalWrite chooses the folder of a file.
    spreads = has("delta.randomizeFilePrefixes", "true") or has("delta.columnMapping.mode", "name", "id")
    partitions = tuple(table.partitionSchema().fieldNames())
    return TableMetadata(columns, partitions, has("delta.enableTypeWidening", "true"), not spreads)
