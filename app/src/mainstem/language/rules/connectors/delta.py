"""Delta tables: what a stream of one may be asked for, and a merge, and maintenance."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.base import seconds
from mainstem.language.model.connectors.delta import DeltaSink, DeltaSource
from mainstem.language.model.queries import Query
from mainstem.language.rules.connectors.paths import normal
from mainstem.language.rules.context import Context
from mainstem.language.sql.text import forbidden_calls
from mainstem.language.yaml.yamltext import Path


_WEEK: Final = 7 * 86400


def starts(context: Context) -> Iterator[Problem]:
    """A stream of a Delta table starts at a version or at a time, not at both."""
    for path, source in _sources(context):
        if source.starting_version is not None and source.starting_timestamp is not None:
            message = "startingVersion says already where the stream starts; give one of the two"
            yield context.problem((*path, "startingTimestamp"), message, reasons.FIELDS_CONFLICT)


def changes(context: Context) -> Iterator[Problem]:
    """At most one switch decides what happens to a commit that changes rows."""
    for path, source in _sources(context):
        said = {
            "readChangeFeed": source.read_change_feed,
            "skipChangeCommits": source.skip_change_commits,
            "ignoreChanges": source.ignore_changes,
            "ignoreDeletes": source.ignore_deletes,
        }
        first, *others = [name for name, on in said.items() if on] or [""]
        for name in others:
            message = f"{first} says already what becomes of such commits, and {name} would be passed over"
            yield context.problem((*path, name), message, reasons.FIELDS_CONFLICT)


def merges(context: Context) -> Iterator[Problem]:
    """The columns by which a merge finds and orders rows are written, and its sequence is no key."""
    for path, _, sink in _sinks(context):
        if sink.merge is None:
            continue
        keys = {name.lower() for name in sink.merge.keys}
        if (sequence := (sink.merge.sequence_by or "").lower()) in keys:
            message = "the sequence orders the changes of one key; as a key itself each change would be a row of its own"
            yield context.problem((*path, "merge", "sequenceBy"), message, reasons.FIELDS_CONFLICT)
        needed = keys | {sequence} | {name.lower() for name in sink.partition_by or ()}
        for index, name in enumerate(sink.merge.except_columns or ()):
            if name.lower() in needed:
                message = (
                    f"{name!r} is a key, the sequence or a partition of the table, which cannot be without it"
                )
                yield context.problem(
                    (*path, "merge", "exceptColumns", index), message, reasons.FIELDS_CONFLICT
                )


def conditions(context: Context) -> Iterator[Problem]:
    """The condition of a merge calls nothing that reaches into the JVM."""
    for path, _, sink in _sinks(context):
        text = sink.merge.delete_when if sink.merge else None
        for refusal in forbidden_calls(text) if text else ():
            at: Path = (*path, "merge", "deleteWhen")
            yield context.problem(at, refusal.message, refusal.reason, offset=refusal.offset)


def schemas(context: Context) -> Iterator[Problem]:
    """Only the complete result of a batch can replace a table's columns."""
    for path, query, sink in _sinks(context):
        if sink.overwrite_schema and query.output_mode != "complete":
            message = f"in {query.output_mode} mode the table's rows stay, and their columns with them; use mergeSchema to add columns"
            yield context.problem((*path, "overwriteSchema"), message, reasons.FIELDS_CONFLICT)


def maintenance(context: Context) -> Iterator[Problem]:
    """Maintenance does something, stands at one sink of a table, and leaves a week's versions and what each batch replaces."""
    seen: dict[str, str] = {}
    for path, query, sink in _sinks(context):
        if sink.maintenance is None:
            continue
        at: Path = (*path, "maintenance")
        if (other := seen.setdefault(normal(sink.path), query.name)) != query.name:
            message = f"the query {other!r} tends this table already"
            yield context.problem(at, message, reasons.FIELDS_CONFLICT)
        if sink.maintenance.optimize is None and sink.maintenance.vacuum is None:
            yield context.problem(
                at, "at least one of optimize, vacuum must be given", reasons.MAINTENANCE_EMPTY
            )
        yield from _tending(context, at, query, sink)


def _tending(context: Context, at: Path, query: Query, sink: DeltaSink) -> Iterator[Problem]:
    asked = sink.maintenance
    if asked and asked.optimize and query.output_mode == "complete":
        message = "complete mode writes the table anew in each batch; there is nothing to compact"
        yield context.problem((*at, "optimize"), message, reasons.MAINTENANCE_NOT_ALLOWED)
    partitions = {name.lower() for name in sink.partition_by or ()}
    columns = asked.optimize.z_order_by if asked and asked.optimize else None
    for index, name in enumerate(columns or ()):
        if name.lower() in partitions:
            message = f"{name!r} partitions the table, and so is the same in all rows of a file; leave it out"
            yield context.problem(
                (*at, "optimize", "zOrderBy", index), message, reasons.MAINTENANCE_NOT_ALLOWED
            )
    if asked and asked.vacuum and seconds(asked.vacuum.retain) < _WEEK:
        message = (
            "Delta keeps the files of a week: a reader, or a stream that lags, would find some of them gone"
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
