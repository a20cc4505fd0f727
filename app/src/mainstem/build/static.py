"""Static sources of the document as DataFrames."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from mainstem.build import jdbc
from mainstem.spec.connections import JdbcConnection
from mainstem.spec.static import DeltaTable, StaticSource


def table(
    session: SparkSession, source: StaticSource, connections: Mapping[str, JdbcConnection]
) -> DataFrame:
    """The rows of a static source.

    Raises:
        NotReady: a database's secret is missing.
    """
    if source.delta:
        return _delta(session, source.delta)
    if source.table:
        if source.refresh:  # a session remembers which files it has found
            session.sql(f"REFRESH TABLE {source.table.name}")
        return session.table(source.table.name)
    if source.jdbc:
        options = jdbc.source_options(source.jdbc, connections[source.jdbc.connection])
        return session.read.format("jdbc").options(**options).load()
    return _files(session, source)


def _delta(session: SparkSession, table: DeltaTable) -> DataFrame:
    reader = session.read.format("delta")
    if table.version is not None:
        reader = reader.option("versionAsOf", table.version)
    if table.timestamp is not None:
        reader = reader.option("timestampAsOf", table.timestamp)
    return reader.load(table.path)


def _files(session: SparkSession, source: StaticSource) -> DataFrame:
    kind = source.choice()
    table = source.member(kind)
    reader = session.read.format(kind).options(**table.options)
    if source.csv:
        reader = reader.option("header", source.csv.header)
    if getattr(table, "schema_", None) is not None:
        reader = reader.schema(table.schema_)
    return reader.load(table.path)
