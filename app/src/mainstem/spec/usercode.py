"""Which Python code a document names."""

from collections.abc import Iterator

from mainstem.spec.pipeline import PipelineSpec


def references(spec: PipelineSpec) -> Iterator[tuple[str, str]]:
    """What names code, for a message, and the `module:name` that it names."""
    for function in spec.functions:
        if function.python:
            yield f"function {function.name!r}", function.python.function
    for view in spec.views:
        if view.python:
            yield f"view {view.name!r}", view.python.function
        if view.state:
            yield f"view {view.name!r}", view.state.processor or view.state.function or ""
    for query in spec.queries:
        for sink in query.to:
            if sink.python:
                named = sink.python.foreach or sink.python.foreach_batch or ""
                yield f"sink {sink.name!r} of query {query.name!r}", named
