"""What each sink promises, in one line; the whole story is docs/exactly-once.md."""

from typing import Final

from mainstem.language.model.connectors.file_sink import FILE_FORMATS
from mainstem.language.model.queries import Query
from mainstem.language.model.sinks import Sink


UNKNOWN: Final = (
    "delivery: not known: depends on the connector, which gets the last batch again after a failure"
)
"""Of a connector that Mainstem does not bring."""
UNKNOWN_SOURCE: Final = "reading again after a failure: not known: depends on the connector"
"""The same of what it reads."""
_AT_LEAST_ONCE: Final = "at least once: after a failure the last batch may be written again"
_PROMISES: Final = {
    "kafka": _AT_LEAST_ONCE,
    "delta": "exactly once: each batch is at most one version of the table",
    "jdbc": "exactly once: a batch and the mark that it was written are one transaction",
    "spark": UNKNOWN,
    "python": "as its code has it: a batch may come again, under the same number",
    "console": "for looking; a batch may be shown again",
    "memory": "for tests; gone with the driver",
    "noop": "nothing is kept",
    **dict.fromkeys(
        FILE_FORMATS, "exactly once; for readers of the bare folder once the query has started again"
    ),
}


def promise(query: Query, sink: Sink) -> str:
    """What becomes of a row, whatever fails."""
    if query.trigger and query.trigger.resident:
        return "at least once: after a failure all since the last checkpoint may be written again"
    if query.async_progress_tracking:
        interval = query.async_progress_tracking.checkpoint_interval
        return f"at least once: after a stop or failure about {interval} of rows may be written again"
    if sink.jdbc and sink.jdbc.delivery == "atLeastOnce":
        return f"{_AT_LEAST_ONCE}, or a part of it"
    return _PROMISES[sink.choice()]
