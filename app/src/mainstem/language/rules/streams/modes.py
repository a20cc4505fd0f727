"""Output modes that a sink or a plan does not allow, after Spark's UnsupportedOperationChecker and its sinks."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.model.connectors.kinds import ModeRefusal
from mainstem.language.model.sinks import Sink
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


def sinks(context: Context) -> Iterator[Problem]:
    """A query has an output mode that its sinks support. Files append. Delta appends, replaces or merges. A database inserts, replaces or upserts.
    Other sinks allow all modes.
    """
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            refusal = refused(sink, query.output_mode)
            if refusal:
                at: Path = ("queries", index, "outputMode")
                if refusal.field:
                    at = ("queries", index, "to", place, sink.choice(), refusal.field)
                message = refusal.message.format(kind=sink.choice(), mode=query.output_mode)
                yield context.problem(at, message, refusal.reason)


def refused(sink: Sink, mode: str) -> ModeRefusal | None:
    """The first refusal of a sink with this output mode."""
    return next((each for each in sink.connector.refusals if each.applies(sink.connector, mode)), None)


def aggregation(context: Context) -> Iterator[Problem]:
    """Over a stream, `complete` needs an aggregation, and `append` with an aggregation needs a watermark."""
    for index, query in enumerate(context.spec.queries):
        if not context.graph.streams(query.from_):
            continue
        aggregated = context.graph.aggregated(query.from_)
        path = ("queries", index, "outputMode")
        if query.output_mode == "complete" and aggregated is False:
            message = f"complete mode writes the whole result of an aggregation, and {query.from_!r} has none; use append"
            yield context.problem(path, message, reasons.AGGREGATION_NEEDED)
        if query.output_mode == "append" and aggregated and not context.graph.watermarked(query.from_):
            message = (
                f"{query.from_!r} aggregates a stream without a watermark, so no row would ever be final; "
                "give the source a watermark, or use update or complete"
            )
            yield context.problem(path, message, reasons.WATERMARK_NEEDED)
