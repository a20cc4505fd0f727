"""Checks, after Spark's analysis, that the query's rows have what its sinks need.

Some of Spark's writers would fail only in the first batch.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, StringType, StructType

from mainstem import reasons
from mainstem.dataframes.declared_types import declared, has_timestamp
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sinks import database
from mainstem.dataframes.sinks.delta_table import metadata
from mainstem.dataframes.sinks.folder_types import in_folder
from mainstem.dataframes.sinks.sequence import written
from mainstem.dataframes.sinks.stored_values import session_time_zone, stored, too_narrow
from mainstem.dataframes.spark_types import named
from mainstem.errors import Problem
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.repeated_hours import repeats_hours
from mainstem.language.model.connections import JdbcConnection
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink
from mainstem.language.rules.connectors.datetime_patterns import has_offset
from mainstem.language.rules.connectors.sink_columns import DELTA_CHECKS, Unfit, missing, repeated, unfit
from mainstem.language.yaml.yamltext import Path, render_path


_FIELD: Final = re.compile(r"[.`]")
"""In the path of a field within a column."""


def types_too_narrow(graph: Graph, query: Query, frame: DataFrame, connections: Connections) -> list[Problem]:
    """A problem for each column whose values the existing table of a sink may alter, or does not take; reads the tables.

    Raises:
        Py4JJavaError: a database refuses a table or a column.
    """
    at: Path = ("spec", "queries", graph.spec.queries.index(query), "to")
    return [
        Problem(0, 0, render_path((*at, index, *path)), f"{query.from_!r}: {message}", reason)
        for index, sink in enumerate(query.to)
        for path, message, reason in _of_table(sink, frame, connections)
    ]


def _of_table(sink: Sink, frame: DataFrame, connections: Connections) -> Iterator[Unfit]:
    if sink.delta:
        session = frame.sparkSession
        table = stored(session, sink.delta, metadata(session, sink.delta.path))
        columns = StructType(written(frame, sink.delta.merge)) if sink.delta.merge else frame.schema
        for column in table.misfits(columns) if table else []:
            yield Unfit(("delta",), too_narrow(column), reasons.TYPE_TOO_NARROW)
    if sink.files and (folder := in_folder(frame.sparkSession, sink.files, sink.choice())):
        for column in folder.misfits(frame.schema):
            yield Unfit((sink.choice(),), too_narrow(column), reasons.TYPE_TOO_NARROW)
    if sink.jdbc and sink.jdbc.delivery == "exactlyOnce":
        connection = connections.get(JdbcConnection, sink.jdbc.connection)
        in_database = database.table(frame.sparkSession, sink.jdbc, connection, frame.columns)
        for column in in_database.misfits(frame.schema):
            yield Unfit(("jdbc",), too_narrow(column), reasons.TYPE_TOO_NARROW)
        for untaken in in_database.untaken(frame.schema):
            yield Unfit(("jdbc",), f"{untaken}; {untaken.remedy}", reasons.TYPE_NOT_SUPPORTED)


def misfits(graph: Graph, query: Query, frame: DataFrame) -> list[Problem]:
    """The problems of a query's sinks: columns that a sink names or needs and the rows do not have, and conditions."""
    at: Path = ("spec", "queries", graph.spec.queries.index(query), "to")
    return [
        Problem(0, 0, render_path((*at, index, *path)), f"{query.from_!r} {message}", reason)
        for index, sink in enumerate(query.to)
        for check in (_columns, _repeated, _condition, _line, _types, _times, _times_of_files)
        for path, message, reason in check(sink, frame)
    ]


def _columns(sink: Sink, frame: DataFrame) -> Iterator[Unfit]:
    yield from missing(sink, frame.columns, _FIELD)


def _repeated(sink: Sink, frame: DataFrame) -> Iterator[Unfit]:
    """Columns of one name: Spark's writers fail in the first batch, and a JSON object for Kafka would have the key twice."""
    fold = str if frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true" else str.lower
    counts = Counter(map(fold, frame.columns))
    yield from repeated(sink, [name for name, count in counts.items() if count > 1])


def _condition(sink: Sink, frame: DataFrame) -> Iterator[Unfit]:
    """An invalid `deleteWhen`: Delta would find it only after it has created a new table."""
    text = sink.delta.merge.delete_when if sink.delta and sink.delta.merge else None
    try:
        _ = frame.where(F.expr(text)).schema if text else None
    except AnalysisException as error:
        why = str(error).partition("\n")[0].partition(" SQLSTATE")[0]
        at = ("delta", "merge", "deleteWhen")
        yield Unfit(at, f"cannot evaluate this condition: {why}", reason=reasons.INVALID_CONDITION)


def _types(sink: Sink, frame: DataFrame) -> Iterator[Unfit]:
    """Columns of types that the sink does not store, does not merge by, or does not keep in a partition."""
    session = frame.sparkSession
    columns = {field.name: declared(field.dataType) for field in frame.schema}
    is_checked = session.conf.get(DELTA_CHECKS, "true") == "true"
    yield from unfit(sink, columns, session_time_zone(session), delta_checks=is_checked)


def _times(sink: Sink, frame: DataFrame) -> Iterator[Unfit]:
    """Columns with times that a Kafka record has as a string, without an offset, in a time zone that repeats an hour."""
    time_zone = session_time_zone(frame.sparkSession)
    if sink.kafka is None or not repeats_hours(time_zone):
        return
    kinds = _kinds(frame)
    for path, column in sink.columns():
        kind = kinds.get(column.lower()) if path[1] not in ("key", "value") else None
        if kind and has_timestamp(kind):
            message = (
                f"writes the TIMESTAMP of {column!r} as a string without its offset, and {time_zone} has one hour of "
                "each year twice; write date_format(..., \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\") or to_json in a view, "
                "or set timeZone: UTC"
            )
            yield Unfit(path, message, reason=reasons.TIME_NEEDS_OFFSET)


def _times_of_files(sink: Sink, frame: DataFrame) -> Iterator[Unfit]:
    """The same for files of JSON and CSV, if the document's own format leaves the offset out."""
    if sink.files is None or sink.choice() not in ("json", "csv"):
        return
    options = {name.lower(): (name, value) for name, value in sink.files.options.items()}
    name, pattern = options.get("timestampformat", ("", ""))
    _, time_zone = options.get("timezone", ("", session_time_zone(frame.sparkSession)))
    if not pattern or has_offset(pattern) or not repeats_hours(time_zone):
        return
    folders = {column.lower() for column in sink.files.partition_by or ()}
    if columns := [
        each for each, kind in _kinds(frame).items() if has_timestamp(kind) and each not in folders
    ]:
        message = (
            f"writes the TIMESTAMP of {columns[0]!r} by the format {pattern!r} without its offset, and {time_zone} has one hour "
            "of each year twice; add XXX to the format, or set the option timeZone: UTC"
        )
        yield Unfit((sink.choice(), "options", name), message, reason=reasons.TIME_NEEDS_OFFSET)


def _kinds(frame: DataFrame) -> dict[str, DataType]:
    return {field.name.lower(): field.dataType for field in frame.schema}


def _line(sink: Sink, frame: DataFrame) -> Iterator[Unfit]:
    if sink.text is None:
        return
    folders = {column.lower() for column in sink.text.partition_by or ()}
    fields = [field for field in frame.schema if field.name.lower() not in folders]
    if [type(field.dataType) for field in fields] != [StringType]:
        columns = ", ".join(f"{field.name} {named(field.dataType)}" for field in fields) or "none"
        message = f"has the columns {columns}, but a text sink writes exactly one STRING column; select it in a view"
        yield Unfit(("text",), message, reason=reasons.TEXT_NEEDS_ONE_COLUMN)
