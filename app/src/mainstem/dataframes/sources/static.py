"""Reads the document's static sources as DataFrames."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from mainstem.dataframes.decode import file_records
from mainstem.dataframes.decode.decoding import DecodedRecords
from mainstem.dataframes.options import connector, jdbc
from mainstem.dataframes.options.connections import Connections
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.connectors.file_source import decoding
from mainstem.language.model.connectors.static_sources import CsvTable, DeltaTable, JsonTable, StaticSource


def table(session: SparkSession, name: str, source: StaticSource, connections: Connections) -> DataFrame:
    """The rows of a static source; `name` is the source's name.

    Raises:
        NotReady: a secret or the Python class of a connector is missing.
    """
    if source.delta:
        return _delta(session, source.delta)
    if source.table:
        if source.refresh:  # a session caches the listing of the table's files
            session.sql(f"REFRESH TABLE {source.table.name}")
        return session.table(source.table.name)
    if source.jdbc:
        options = jdbc.source_options(source.jdbc, connections.get(JdbcConnection, source.jdbc.connection))
        return session.read.format("jdbc").options(**options).load()
    if source.spark:
        return connector.table(session, source.spark, connections.spark)
    return _files(session, source, name)


def _delta(session: SparkSession, table: DeltaTable) -> DataFrame:
    reader = session.read.format("delta")
    if table.version is not None:
        reader = reader.option("versionAsOf", table.version)
    if table.timestamp is not None:
        reader = reader.option("timestampAsOf", table.timestamp)
    return reader.load(table.path)


def _files(session: SparkSession, source: StaticSource, name: str) -> DataFrame:
    kind = source.choice()
    if records := source.csv or source.json_:
        return _records(session, kind, records, name)
    table = source.member(kind)
    return session.read.format(kind).options(**table.options).load(table.path)


def _records(session: SparkSession, kind: str, table: CsvTable | JsonTable, name: str) -> DataFrame:
    """The rows of text files; the first record that does not parse fails the query.

    If such a record were skipped, a join would silently miss it. Empty lines are ignored.
    """
    options = dict(table.options)
    if isinstance(table, CsvTable):
        options["header"] = str(table.header).lower()
    columns = table.schema_ or _infer_columns(session, kind, table.path, options)
    if not columns:
        return session.createDataFrame([], StructType())
    decode = decoding(kind, columns, None, options, "fail")
    raw = file_records.table(session, table.path, decode, options)
    raw = raw.where(F.col("value").isNull() | (F.trim("value") != ""))
    return DecodedRecords(
        raw,
        decode,
        name,
        is_counted=False,
        many=bool(decode.json_) and file_records.is_many(options),
        remedy=f"correct the record: {name} is a side input, and all its records must be valid",
    ).rows()


def _infer_columns(session: SparkSession, kind: str, path: str, options: Mapping[str, str]) -> str:
    """The columns that Spark infers from the files, as DDL; empty if it infers none."""
    reader = session.read.format(kind).options(**options).option("mode", "DROPMALFORMED")
    return str(reader.load(path)._jdf.schema().toDDL())  # noqa: SLF001 - Python's schema does not quote names
