"""The delivery guarantee of each sink in one line; docs/exactly-once.md has the details."""

from typing import Final

from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink


UNKNOWN_SOURCE: Final = "reading again after a failure: not known: depends on the connector"
"""The guarantee of a source whose connector is not part of Mainstem."""


def promise(query: Query, sink: Sink) -> str:
    """The delivery guarantee of a sink of a query."""
    if query.trigger and query.trigger.resident:
        return "at least once: after a failure, all rows since the last checkpoint may be written again"
    if query.async_progress_tracking:
        interval = query.async_progress_tracking.checkpoint_interval
        return f"at least once: after a stop or failure about {interval} of rows may be written again"
    return sink.connector.guarantee().text
