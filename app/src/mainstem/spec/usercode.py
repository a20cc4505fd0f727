"""Which Python code a document names."""

from collections.abc import Iterator

from mainstem.spec.pipeline import PipelineSpec
from mainstem.spec.yamltext import render_path


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
    for at, connector in spec.connectors():
        if connector.python:
            yield render_path(("spec", *at)), connector.python
    for query in spec.queries:
        for name, python in ((sink.name, sink.python) for sink in query.to if sink.python):
            yield f"sink {name!r} of query {query.name!r}", python.foreach or python.foreach_batch or ""
