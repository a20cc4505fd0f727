"""Rules for static side inputs: which of their fields can be set together."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.base import seconds
from mainstem.language.rules.context import Context
from mainstem.language.sql.facts import FILE_FORMATS


def versions(context: Context) -> Iterator[Problem]:
    """A Delta table is read at a version or at a time, not both."""
    for index, source in enumerate(context.spec.sources):
        delta = source.static.delta if source.static else None
        if delta and delta.version is not None and delta.timestamp is not None:
            path = ("sources", index, "static", "delta", "timestamp")
            message = "version and timestamp both select a version of the table; remove one of them"
            yield context.problem(path, message, reasons.FIELDS_CONFLICT)


def names(context: Context) -> Iterator[Problem]:
    """The name of a table refers to a table of a catalog, not to a path of files."""
    for index, source in enumerate(context.spec.sources):
        table = source.static.table if source.static else None
        if table and "/" in table.name and table.name.split(".", 1)[0].strip("` ").lower() in FILE_FORMATS:
            path = ("sources", index, "static", "table", "name")
            message = f"{table.name} reads files by their path; use static.delta, static.parquet or another file format"
            yield context.problem(path, message, reasons.FILE_IN_SQL)


def refreshes(context: Context) -> Iterator[Problem]:
    """`refresh` is at least 1 second. It is for queries that do not end, and not for a fixed version or time of a table."""
    for index, source in enumerate(context.spec.sources):
        if source.static is None or source.static.refresh is None:
            continue
        path = ("sources", index, "static", "refresh")
        delta = source.static.delta
        if seconds(source.static.refresh) < 1:
            message = f"{source.static.refresh} is too short, because each refresh restarts queries; set 1 second or more, better minutes"
            yield context.problem(path, message, reasons.OUT_OF_RANGE)
        if delta and (delta.version is not None or delta.timestamp is not None):
            message = "a fixed version of a table never changes; remove refresh, or the version or timestamp"
            yield context.problem(path, message, reasons.REFRESH_NOT_ALLOWED)
        readers = [query for query in context.spec.queries if query.name in context.readers(source.name)]
        if readers and all(context.graph.ends(query) for query in readers):
            message = (
                f"only queries that end by themselves read {source.name!r} ({', '.join(q.name for q in readers)}), and each "
                "reads it when it starts; remove refresh"
            )
            yield context.problem(path, message, reasons.REFRESH_NOT_ALLOWED)
