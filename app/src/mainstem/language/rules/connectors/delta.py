"""Rules for Delta tables: streams from a table, merges, schema changes and maintenance."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.folders import normal
from mainstem.language.base import seconds
from mainstem.language.model.connectors.delta import DeltaSink, DeltaSource
from mainstem.language.model.queries import Query
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_WEEK: Final = 7 * 86400


def starts(context: Context) -> Iterator[Problem]:
    """A stream of a Delta table starts at a version or at a time, not at both."""
    for path, source in _sources(context):
        if source.starting_version is not None and source.starting_timestamp is not None:
            message = (
                "startingVersion and startingTimestamp both set the start of the stream; remove one of them"
            )
            yield context.problem((*path, "startingTimestamp"), message, reasons.FIELDS_CONFLICT)


def changes(context: Context) -> Iterator[Problem]:
    """At most one field sets how the stream handles a commit that changes rows."""
    for path, source in _sources(context):
        switches = {
            "readChangeFeed": source.read_change_feed,
            "skipChangeCommits": source.skip_change_commits,
            "ignoreChanges": source.ignore_changes,
            "ignoreDeletes": source.ignore_deletes,
        }
        first, *others = [name for name, on in switches.items() if on] or [""]
        for name in others:
            message = f"{first} already sets how the stream handles such commits, and Delta would ignore {name}; remove one of them"
            yield context.problem((*path, name), message, reasons.FIELDS_CONFLICT)


def merges(context: Context) -> Iterator[Problem]:
    """A merge writes the columns that identify and order rows; the sequence is not a key."""
    for path, _, sink in _sinks(context):
        if sink.merge is None:
            continue
        keys = {name.lower() for name in sink.merge.keys}
        sequence = sink.merge.sequence_by or ()
        for name in sequence:
            if name.lower() in keys:
                message = f"{name!r} is also a key, so each change would be a separate row; use a column that is not a key"
                yield context.problem((*path, "merge", "sequenceBy"), message, reasons.FIELDS_CONFLICT)
        required = keys.union(name.lower() for name in (*sequence, *(sink.partition_by or ())))
        for index, name in enumerate(sink.merge.except_columns or ()):
            if name.lower() in required:
                message = f"{name!r} is a key, the sequence or a partition column; the table needs it, so remove it here"
                yield context.problem(
                    (*path, "merge", "exceptColumns", index), message, reasons.FIELDS_CONFLICT
                )


def schemas(context: Context) -> Iterator[Problem]:
    """`overwriteSchema` needs `outputMode: complete`: only a batch with the complete result can replace the columns."""
    for path, query, sink in _sinks(context):
        if sink.overwrite_schema and query.output_mode != "complete":
            message = f"in {query.output_mode} mode the table keeps its rows and their columns; use mergeSchema to add columns"
            yield context.problem((*path, "overwriteSchema"), message, reasons.FIELDS_CONFLICT)


def maintenance(context: Context) -> Iterator[Problem]:
    """Maintenance has an action, and one query maintains a table. `vacuum` keeps a week of versions; `optimize` is not for complete
    mode.
    """
    queries: dict[str, str] = {}
    for path, query, sink in _sinks(context):
        if sink.maintenance is None:
            continue
        at: Path = (*path, "maintenance")
        if (other := queries.setdefault(normal(sink.path), query.name)) != query.name:
            message = f"the query {other!r} maintains this table already; remove maintenance from one of them"
            yield context.problem(at, message, reasons.FIELDS_CONFLICT)
        if sink.maintenance.optimize is None and sink.maintenance.vacuum is None:
            yield context.problem(
                at, "at least one of optimize, vacuum must be given", reasons.MAINTENANCE_EMPTY
            )
        yield from _actions(context, at, query, sink)


def _actions(context: Context, at: Path, query: Query, sink: DeltaSink) -> Iterator[Problem]:
    settings = sink.maintenance
    if settings and settings.optimize and query.output_mode == "complete":
        message = (
            "complete mode rewrites the table in each batch, so there is nothing to compact; remove optimize"
        )
        yield context.problem((*at, "optimize"), message, reasons.MAINTENANCE_NOT_ALLOWED)
    partitions = {name.lower() for name in sink.partition_by or ()}
    columns = settings.optimize.z_order_by if settings and settings.optimize else None
    for index, name in enumerate(columns or ()):
        if name.lower() in partitions:
            message = (
                f"{name!r} is a partition column, so all rows of a file have the same value; remove it here"
            )
            yield context.problem(
                (*at, "optimize", "zOrderBy", index), message, reasons.MAINTENANCE_NOT_ALLOWED
            )
    if settings and settings.vacuum and seconds(settings.vacuum.retain) < _WEEK:
        message = (
            f"{settings.vacuum.retain} is too short: slow readers and streams could still need removed files; "
            "set 7 days or more"
        )
        yield context.problem((*at, "vacuum", "retain"), message, reasons.OUT_OF_RANGE)


def _sinks(context: Context) -> Iterator[tuple[Path, Query, DeltaSink]]:
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            if sink.delta:
                yield ("queries", index, "to", place, "delta"), query, sink.delta


def _sources(context: Context) -> Iterator[tuple[Path, DeltaSource]]:
    for index, source in enumerate(context.spec.sources):
        if source.delta:
            yield ("sources", index, "delta"), source.delta
