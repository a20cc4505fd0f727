"""Fails a batch whose partition values would be read back as other values.

Spark and Delta keep the value of a partition column as text only: in the name of a folder, or in the log of a table.
An empty text, and the name that Hive gives to the folder of NULL, are read back as NULL. Bytes that are not UTF-8 are
replaced. A time has no offset there, so an hour that the time zone repeats is read back an hour too early. A merge would
never match such a row again, and would insert it in each batch. On a local disk the name of a folder has a longest length.
"""

import re
from collections.abc import Collection
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import BinaryType, StringType, StructField, TimestampType

from mainstem.dataframes.column_names import quote
from mainstem.dataframes.sinks.delta_table import TableMetadata
from mainstem.dataframes.sinks.failing import failing
from mainstem.filesystem import local_path
from mainstem.language.model.connectors.delta import DeltaSink
from mainstem.language.model.connectors.file_sink import FileSink


PARTITION_VALUE_NOT_SUPPORTED: Final = "mainstem:PartitionValueNotSupported:"
_NULL_FOLDER: Final = "__HIVE_DEFAULT_PARTITION__"
_LONGEST_NAME: Final = 255
"""Bytes of the longest name of a folder on a local disk."""
_NOT_ESCAPED: Final = r"""[^\x01-\x1f"#%'*/:=?\\\x7f{\[\]^]+"""
"""Characters that stand for themselves in the name of a folder; the others become `%` and two digits, in Spark's
`ExternalCatalogUtils.escapePathName`."""


def exact_in_folder(rows: DataFrame, sink: FileSink) -> DataFrame:
    """The rows for a sink of files, with a check of each value of its partition columns."""
    return _exact(rows, sink.partition_by or (), on_disk=_is_on_disk(sink.path))


def exact_in_table(rows: DataFrame, sink: DeltaSink, table: TableMetadata | None) -> DataFrame:
    """The rows for the table, with a check of each value of its partition columns."""
    on_disk = _is_on_disk(sink.path) and (table is None or table.has_value_folders)
    return _exact(rows, table_partitions(sink, table), on_disk=on_disk)


def _is_on_disk(path: str) -> bool:
    return local_path(path) is not None


def _exact(rows: DataFrame, partitions: Collection[str], *, on_disk: bool) -> DataFrame:
    names = {name.lower() for name in partitions}
    checks = {
        field.name: _altered(field, on_disk=on_disk) for field in rows.schema if field.name.lower() in names
    }
    if not any(checks.values()):
        return rows
    # A condition in the projection stays there; Spark would move a filter below a view's own conditions.
    return rows.select(*(_checked(field, checks.get(field.name) or []) for field in rows.schema))


def table_partitions(sink: DeltaSink, table: TableMetadata | None) -> tuple[str, ...]:
    """The partition columns of the table; those of the document if they make the table, or make it anew."""
    if table is None or (sink.overwrite_schema and sink.partition_by):
        return sink.partition_by or ()
    return table.partitions


def _altered(field: StructField, *, on_disk: bool) -> list[tuple[Column, str]]:
    """Conditions that are true for a value that would be altered, each with what it would become."""
    value = F.col(quote(field.name))
    if isinstance(field.dataType, StringType):
        too_long = f"a text whose folder would have a name of more than {_LONGEST_NAME} bytes, which a local disk cannot have"
        return [
            *([(folder_bytes(field.name, value) > _LONGEST_NAME, too_long)] if on_disk else []),
            (value == "", "an empty text, which would become NULL"),
            (value == _NULL_FOLDER, f"the text {_NULL_FOLDER}, which would become NULL"),
            (~F.is_valid_utf8(value), "bytes that are not UTF-8, which would be replaced"),
            (value.contains("\0"), "a text with the character U+0000, which no folder can have in its name"),
        ]
    if isinstance(field.dataType, BinaryType):
        return [(value.isNotNull(), "bytes, of which a partition keeps only text")]
    if isinstance(field.dataType, TimestampType):
        same = value.cast("string").try_cast("timestamp").eqNullSafe(value)
        return [(~same, "a time in an hour that the time zone repeats, which would become an earlier time")]
    return []


def folder_bytes(name: str, value: Column) -> Column:
    """Bytes of the name of the folder `name=value`, in which an escaped character takes three."""
    of_name = len(name.encode()) + 2 * len(re.sub(_NOT_ESCAPED, "", name))
    of_value = F.octet_length(value) + 2 * F.length(F.regexp_replace(value.cast("string"), _NOT_ESCAPED, ""))
    return F.lit(of_name + 1) + of_value


def _checked(field: StructField, altered: list[tuple[Column, str]]) -> Column:
    value = F.col(quote(field.name))
    if not altered:
        return value
    checked = value
    for is_altered, why in altered:
        fails = failing(PARTITION_VALUE_NOT_SUPPORTED, f"the partition column {field.name!r} has {why}")
        checked = F.when(is_altered, fails).otherwise(checked)
    return checked.alias(field.name, metadata=field.metadata)
