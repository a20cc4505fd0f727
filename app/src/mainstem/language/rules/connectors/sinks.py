"""Rules for the fields of a sink, and for the sinks of one query together."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.source_columns import complete_names, declared_columns
from mainstem.language.loading.shape_validation import show
from mainstem.language.model.sinks import Sink
from mainstem.language.rules.connectors import sink_columns
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_EITHER: Final = (("key", "keyColumn"), ("value", "valueColumn"), ("headers", "headersColumn"))
_NO_WORD: Final = re.compile(r"\W")
"""In the name of a field, or of an expression that the view does not name."""


def records(context: Context) -> Iterator[Problem]:
    """One field sets the key of a Kafka record, one the value, and one the headers."""
    for at, sink in _sinks(context):
        for field, column in _EITHER if sink.kafka else ():
            if sink.kafka and sink.kafka.member(field) is not None and sink.kafka.member(column) is not None:
                message = f"{field} and {column} both set the {field} of a record; remove one of them"
                yield context.problem((*at, "kafka", column), message, reasons.FIELDS_CONFLICT, key=True)


def databases(context: Context) -> Iterator[Problem]:
    """A JDBC sink with exactly-once delivery writes to PostgreSQL, to `name` or `schema.name`. A query writes a table once."""
    urls = {c.name: c.jdbc.url for c in context.spec.connections if c.jdbc}
    names: dict[tuple[int, str, str], str] = {}
    for at, sink in _sinks(context):
        if sink.jdbc is None:
            continue
        path: Path = (*at, "jdbc", "table")
        url = urls.get(sink.jdbc.connection, "")
        at_least_once = sink.jdbc.delivery == "atLeastOnce"
        if not url.startswith("jdbc:postgresql:") and not at_least_once:
            message = (
                f"only PostgreSQL has exactly-once delivery, and {show(url)} is not a PostgreSQL URL; set delivery: atLeastOnce, "
                "or use a python sink"
            )
            yield context.problem((*at, "jdbc", "connection"), message, reasons.DATABASE_NOT_SUPPORTED)
        if at_least_once and sink.jdbc.upsert:
            message = "upsert needs exactly-once delivery, which only PostgreSQL has; remove upsert or delivery: atLeastOnce"
            yield context.problem((*at, "jdbc", "upsert"), message, reasons.FIELDS_CONFLICT)
        if at_least_once:
            continue
        if not all(sink.jdbc.table.split(".")) or sink.jdbc.table.count(".") > 1:
            message = f"{show(sink.jdbc.table)} is not a table name; write name or schema.name"
            yield context.problem(path, message, reasons.INVALID_VALUE)
        other = names.setdefault((int(at[1]), url, sink.jdbc.table), sink.name)
        if other != sink.name:
            # The database records batches by checkpoint and table: the second sink's batches would count as written.
            message = f"the sink {other!r} of this query writes this table already; use another table"
            yield context.problem(path, message, reasons.TABLE_SHARED)


def columns(context: Context) -> Iterator[Problem]:
    """The columns that sinks name are columns of the query's relation, if those are known."""
    for at, sink in _sinks(context):
        known = _known(context, _relation(context, at))
        if known is not None:
            yield from _problems(context, at, sink_columns.missing(sink, known, _NO_WORD))


def repeated(context: Context) -> Iterator[Problem]:
    """No two columns have one name where a sink stores columns by their names."""
    if context.has_conf("spark.sql.caseSensitive"):
        return
    for at, sink in _sinks(context):
        names = context.columns.columns_of(_relation(context, at)).repeated
        yield from _problems(context, at, sink_columns.repeated(sink, names))


def types(context: Context) -> Iterator[Problem]:
    """If a query reads a source directly, its sinks can store, merge and partition by the types that the document declares."""
    if context.has_conf("spark.sql.caseSensitive"):  # two names may differ in case only
        return
    checks = not context.has_conf(sink_columns.DELTA_CHECKS)
    for at, sink in _sinks(context):
        source = context.graph.sources.get(_relation(context, at))
        if source is None or source.spark:  # a connector reads its schema as it likes
            continue
        declared = {column.name: column.type for column in declared_columns(source)}
        unfit = sink_columns.unfit(sink, declared, context.spec.time_zone, delta_checks=checks)
        yield from _problems(context, at, unfit)


def _problems(context: Context, at: Path, unfit: Iterable[sink_columns.Unfit]) -> Iterator[Problem]:
    """The problems of a sink's columns; that of the whole sink is shown at its key."""
    for path, message, reason in unfit:
        text = f"{_relation(context, at)!r} {message}"
        yield context.problem((*at, *path), text, reason, key=len(path) == 1)


def _relation(context: Context, at: Path) -> str:
    """The relation that the query of a sink reads."""
    return context.spec.queries[int(at[1])].from_


def _known(context: Context, relation: str) -> list[str] | None:
    """The columns of a relation, or None if only Spark knows all of them."""
    if source := context.graph.sources.get(relation):
        return complete_names(source)
    columns = context.columns.columns_of(relation)
    return None if columns.open else list(columns.names)


def text(context: Context) -> Iterator[Problem]:
    """A text sink writes one column, besides the columns of `partitionBy`."""
    for at, sink in _sinks(context):
        known = _known(context, _relation(context, at)) if sink.text else None
        if sink.text is None or known is None:
            continue
        folders = {name.lower() for name in sink.text.partition_by or ()}
        lines = [name for name in known if name.lower() not in folders]
        if len(lines) > 1:
            message = f"a text sink writes one column, and the rows have {', '.join(sorted(lines))}; select one in a view"
            yield context.problem((*at, "text"), message, reasons.TEXT_NEEDS_ONE_COLUMN, key=True)


def memory(context: Context) -> Iterator[Problem]:
    """A warning: rows in the driver's memory are lost when the driver ends."""
    for at, sink in _sinks(context):
        if sink.memory:
            message = "the driver keeps the rows in its memory, and they are lost when it ends; use it for tests only"
            yield context.problem((*at, "memory"), message, reasons.NOT_DURABLE, key=True, warning=True)


def _sinks(context: Context) -> Iterator[tuple[Path, Sink]]:
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            yield ("queries", index, "to", place), sink
