"""What the sinks of a query get when it continues from an older batch on a new checkpoint; pure."""

from mainstem.checkpoints.layout import Layout
from mainstem.language.model.queries import Query


def repeated(layout: Layout, batch: int) -> str:
    """Which batches run again after a batch, as a phrase; empty if there are none."""
    last = max(layout.planned[-1] if layout.planned else batch, layout.last_committed or 0)
    if last <= batch:
        return ""
    first = batch + 1
    return f"batch {first}" if first == last else f"batches {first} to {last}"


def sink_lines(query: Query, layout: Layout, batch: int) -> list[str]:
    """A line for each sink: what it does with the rows of the batches that run again."""
    if not repeated(layout, batch):
        return []
    return [f"the sink {sink.name!r} {sink.connector.repeated(query.output_mode)}" for sink in query.to]
