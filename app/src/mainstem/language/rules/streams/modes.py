"""Output modes against sinks and plans, as Spark's UnsupportedOperationChecker and its sinks have it."""

from collections.abc import Iterator

from mainstem.errors import Problem
from mainstem.language.model.sinks import Sink
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


def sinks(context: Context) -> Iterator[Problem]:
    """What a sink can write: files append; Delta appends, replaces, or merges, a database inserts, replaces, or upserts;
    the others take all.
    """
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            at: Path = ("queries", index, "to", place)
            yield from _sink(context, at, query.output_mode, sink)


def _sink(context: Context, at: Path, mode: str, sink: Sink) -> Iterator[Problem]:
    delta, path = sink.delta, (*at[:2], "outputMode")
    if sink.files and mode != "append":
        message = f"a folder of {sink.choice()} files can only be appended to, not written in {mode} mode; use delta"
        yield context.problem(path, message, "OutputModeNotAllowed")
    elif delta and mode == "update" and delta.merge is None:
        message = "Delta has no update mode; give the sink merge: {keys: [...]} to upsert"
        yield context.problem(path, message, "MergeNeeded")
    elif delta and delta.merge and mode == "complete":
        message = "merge upserts rows that are new or changed, and complete replaces the table; use update"
        yield context.problem((*at, "delta", "merge"), message, "OutputModeNotAllowed")
    elif sink.jdbc and sink.jdbc.delivery == "atLeastOnce":
        if mode != "append":
            message = f"delivery: atLeastOnce appends rows, and is not for {mode} mode; use append"
            yield context.problem(path, message, "OutputModeNotAllowed")
    elif sink.jdbc and mode == "update" and sink.jdbc.upsert is None:
        message = "rows that changed replace those of their keys; give the sink upsert: {keys: [...]}"
        yield context.problem(path, message, "UpsertNeeded")
    elif sink.jdbc and sink.jdbc.upsert and mode == "complete":
        message = "upsert writes rows that are new or changed, and complete replaces all rows; use update"
        yield context.problem((*at, "jdbc", "upsert"), message, "OutputModeNotAllowed")
    elif delta and delta.merge and delta.options:
        message = "options go to Delta's streaming writer, which a merge does not use"
        yield context.problem((*at, "delta", "options"), message, "OptionsNotAllowed")


def aggregation(context: Context) -> Iterator[Problem]:
    """Over a stream `complete` needs an aggregation, and `append` of an aggregation needs a watermark."""
    for index, query in enumerate(context.spec.queries):
        if not context.graph.streams(query.from_):
            continue
        aggregated = context.graph.aggregated(query.from_)
        path = ("queries", index, "outputMode")
        if query.output_mode == "complete" and aggregated is False:
            message = f"complete mode writes the whole result of an aggregation, and {query.from_!r} has none; use append"
            yield context.problem(path, message, "AggregationNeeded")
        if query.output_mode == "append" and aggregated and not context.graph.watermarked(query.from_):
            message = (
                f"{query.from_!r} aggregates a stream without a watermark, so no row would ever be final; "
                "give the source a watermark, or use update or complete"
            )
            yield context.problem(path, message, "WatermarkNeeded")
