"""The position of each row's record in its source, which shows which of two records is the later one.

A source adds the position as a hidden column: views neither see nor name it. A sink that needs the order of records
asks for it with `carried`.
"""

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


POSITION: Final = "__mainstem_position"
"""Column, a STRUCT. Of two records of one origin, the one with the greater position is the later one; equal positions show
no order.
"""
ORIGIN: Final = "origin"
"""First field of the column, a STRING."""
_FIELDS: Final = {
    ORIGIN: "string",
    "time": "timestamp",
    "file": "string",
    "start": "bigint",
    "index": "bigint",
    "element": "int",
}
TYPE: Final = "struct<{}>".format(", ".join(f"{name}: {kind}" for name, kind in _FIELDS.items()))
"""The type of the column."""


def with_kafka_position(records: DataFrame, occurrence: str) -> DataFrame:
    """Kafka records with their position: only records of one partition have an order, which is the offset."""
    origin = F.concat_ws(" ", F.lit(occurrence), F.col("topic"), F.col("partition"))
    return records.withColumn(POSITION, _position(origin, index=F.col("offset")))


def with_file_position(rows: DataFrame, occurrence: str, index: Column | None = None) -> DataFrame:
    """Rows of files with their position: by the files' modification time, then by name, then by the place in the file.

    Args:
        rows: the rows of one of Spark's file sources.
        occurrence: name of the source's occurrence in the query.
        index: the number of the row in its part of the file; without it the rows of a file have no order.
    """
    metadata = rows.metadataColumn("_metadata")  # also if the rows have a column of this name
    fields = {
        "time": metadata["file_modification_time"],
        "file": metadata["file_path"],
        "start": metadata["file_block_start"],
    }
    number = {} if index is None else {"index": index}
    return rows.withColumn(POSITION, _position(F.lit(occurrence), **fields, **number))


def at_element(element: Column) -> Column:
    """The position of one of several rows of a record, by the number of the row."""
    # Spark 4.2 loses a field below `posexplode` if `withField` adds the element.
    others = {name: F.col(f"{POSITION}.{name}") for name in _FIELDS}
    return _position(others.pop(ORIGIN), **others | {"element": element})


def carried(rows: DataFrame) -> DataFrame:
    """The rows of a query with the column `POSITION`; without it if a view does not keep the records apart."""
    jvm: Any = rows.sparkSession._jvm  # noqa: SLF001
    return DataFrame(jvm.dev.mainstem.plans.CarriedColumn.carried(rows._jdf, POSITION), rows.sparkSession)  # noqa: SLF001


def _position(origin: Column, **fields: Column) -> Column:
    values = {ORIGIN: origin, **fields}
    return F.struct(*(values.get(name, F.lit(None)).cast(kind).alias(name) for name, kind in _FIELDS.items()))
