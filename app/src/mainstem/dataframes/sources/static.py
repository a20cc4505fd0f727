"""Reads the document's static sources as DataFrames."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from mainstem.dataframes.decode import file_records
from mainstem.dataframes.decode.decoding import Decoded
from mainstem.dataframes.options import connector, jdbc
from mainstem.dataframes.options.connections import Connections
from mainstem.language.model.file_source import decoding
from mainstem.language.model.static_sources import CsvTable, DeltaTable, JsonTable, StaticSource


def table(session: SparkSession, name: str, source: StaticSource, connections: Connections) -> DataFrame:
    """The rows of the static source of that name.

    Raises:
        NotReady: a secret is missing, or a connector's Python class.
    """
    if source.delta:
        return _delta(session, source.delta)
    if source.table:
        if source.refresh:  # a session remembers which files it has found
            session.sql(f"REFRESH TABLE {source.table.name}")
        return session.table(source.table.name)
    if source.jdbc:
        options = jdbc.source_options(source.jdbc, connections.jdbc[source.jdbc.connection])
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
    """Rows of text files; the first record that does not parse ends the query.

    To pass over one would be to find nothing where it is looked up. An empty line is no record here.
    """
    options = dict(table.options)
    if isinstance(table, CsvTable):
        options["header"] = str(table.header).lower()
    columns = table.schema_ or _inferred(session, kind, table.path, options)
    if not columns:
        return session.createDataFrame([], StructType())
    how = decoding(kind, columns, None, options, "fail")
    raw = file_records.table(session, table.path, how, options)
    raw = raw.where(F.col("value").isNull() | (F.trim("value") != ""))
    return Decoded(
        raw,
        how,
        name,
        counted=False,
        many=bool(how.json_) and file_records.is_many(options),
        remedy=f"correct the record: {name} is a side input, and all its records must be valid",
    ).rows()


def _inferred(session: SparkSession, kind: str, path: str, options: Mapping[str, str]) -> str:
    """The columns as Spark finds them in the files, as DDL; empty where it finds none."""
    reader = session.read.format(kind).options(**options).option("mode", "DROPMALFORMED")
    return str(reader.load(path)._jdf.schema().toDDL())  # noqa: SLF001 - Python's own leaves names unquoted
