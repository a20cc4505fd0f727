"""Reads the document's static sources as DataFrames."""

from collections.abc import Mapping
from functools import singledispatch
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from mainstem.dataframes.decode import file_records
from mainstem.dataframes.decode.decoding import DecodedRecords
from mainstem.dataframes.options import connector, jdbc
from mainstem.dataframes.options.connections import Connections
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.custom import SparkTable
from mainstem.language.model.connectors.file_source import decoding
from mainstem.language.model.connectors.kinds import TableKind
from mainstem.language.model.connectors.static_sources import (
    CatalogTable,
    CsvTable,
    DeltaTable,
    JdbcTable,
    JsonTable,
    SchemalessTable,
    StaticSource,
)


class TableContext(NamedTuple):
    """What the reader of a table needs beside the settings of the table.

    Attributes:
        session: the query's session.
        name: name of the source.
        occurrence: name of the source's occurrence in the query.
        source: the static source with the table.
        connections: the connections of the document.
    """

    session: SparkSession
    name: str
    occurrence: str
    source: StaticSource
    connections: Connections


def table(
    session: SparkSession, name: str, occurrence: str, source: StaticSource, connections: Connections
) -> DataFrame:
    """The rows of a static source, with the source's name and that of its occurrence in the query.

    Raises:
        NotReady: a secret or the Python class of a connector is missing.
    """
    return open_table(source.connector, TableContext(session, name, occurrence, source, connections))


@singledispatch
def open_table(table: TableKind, _context: TableContext) -> DataFrame:
    """The rows of a table, by its kind; raises as `table` does."""
    raise NotImplementedError(f"no reader for {type(table).__name__}")


@open_table.register
def _csv(table: CsvTable, context: TableContext) -> DataFrame:
    return _records(table, dict(table.options) | {"header": str(table.header).lower()}, context)


@open_table.register
def _json(table: JsonTable, context: TableContext) -> DataFrame:
    return _records(table, dict(table.options), context)


@open_table.register
def _schemaless(table: SchemalessTable, context: TableContext) -> DataFrame:
    return context.session.read.format(context.source.choice()).options(**table.options).load(table.path)


@open_table.register
def _delta(table: DeltaTable, context: TableContext) -> DataFrame:
    reader = context.session.read.format("delta")
    if table.version is not None:
        reader = reader.option("versionAsOf", table.version)
    if table.timestamp is not None:
        reader = reader.option("timestampAsOf", table.timestamp)
    return reader.load(table.path)


@open_table.register
def _jdbc(table: JdbcTable, context: TableContext) -> DataFrame:
    options = jdbc.source_options(table, context.connections.get(JdbcConnection, table.connection))
    return context.session.read.format("jdbc").options(**options).load()


@open_table.register
def _catalog(table: CatalogTable, context: TableContext) -> DataFrame:
    if context.source.refresh:  # a session caches the listing of the table's files
        context.session.sql(f"REFRESH TABLE {table.name}")
    return context.session.table(table.name)


@open_table.register
def _custom(table: SparkTable, context: TableContext) -> DataFrame:
    return connector.table(context.session, table, context.connections.spark)


def _records(table: CsvTable | JsonTable, options: Mapping[str, str], context: TableContext) -> DataFrame:
    """The rows of text files; the first record that does not parse fails the query.

    If such a record were skipped, a join would silently miss it. Empty lines are ignored.
    """
    session, kind, name = context.session, context.source.choice(), context.name
    columns = table.schema_ or _infer_columns(session, kind, table.path, options)
    if not columns:
        return session.createDataFrame([], StructType())
    without_columns = isinstance(table, JsonTable) and table.allow_records_without_columns
    decode = decoding(kind, columns, None, options, "fail", without_columns=without_columns)
    raw = file_records.table(session, table.path, decode, options)
    raw = raw.where(F.col("value").isNull() | (F.trim("value") != ""))
    return DecodedRecords(
        raw,
        decode,
        context.occurrence,
        is_counted=False,
        many=bool(decode.json_) and file_records.is_many(options),
        remedy=f"correct the record: {name} is a side input, and all its records must be valid",
    ).rows()


def _infer_columns(session: SparkSession, kind: str, path: str, options: Mapping[str, str]) -> str:
    """The columns that Spark infers from the files, as DDL; empty if it infers none."""
    reader = session.read.format(kind).options(**options).option("mode", "DROPMALFORMED")
    return str(reader.load(path)._jdf.schema().toDDL())  # noqa: SLF001 - Python's schema does not quote names
