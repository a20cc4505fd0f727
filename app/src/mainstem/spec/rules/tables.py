"""Static side inputs: what may be said of them together."""

from collections.abc import Iterator

from mainstem.errors import Problem
from mainstem.spec.rules.context import Context


def versions(context: Context) -> Iterator[Problem]:
    """A Delta table is read at a version or at a time, not at both."""
    for index, source in enumerate(context.spec.sources):
        delta = source.static.delta if source.static else None
        if delta and delta.version is not None and delta.timestamp is not None:
            path = ("sources", index, "static", "delta", "timestamp")
            message = "version says already which version of the table is read; give one of the two"
            yield context.problem(path, message, "FieldsConflict")
