"""Static sources of the document as DataFrames."""

from pyspark.sql import DataFrame, SparkSession

from mainstem.build import connector, jdbc
from mainstem.build.connections import Connections
from mainstem.spec.static import DeltaTable, StaticSource


def table(session: SparkSession, source: StaticSource, connections: Connections) -> DataFrame:
    """The rows of a static source.

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
