"""Names: each name stands for one thing, and every reference names something that exists."""

from collections.abc import Iterator, Sequence
from typing import Any

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import did_you_mean, nearest_of
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


def duplicate_names(context: Context) -> Iterator[Problem]:
    """Names are unique within their list; the API server enforces the same for list maps."""
    spec = context.spec
    lists: list[tuple[Path, Sequence[Any]]] = [
        (("parameters",), spec.parameters),
        (("connections",), spec.connections),
        (("functions",), spec.functions),
        (("sources",), spec.sources),
        (("views",), spec.views),
        (("queries",), spec.queries),
        (("imagePullSecrets",), spec.image_pull_secrets),
        *((("views", index, "expectations"), view.expectations) for index, view in enumerate(spec.views)),
        *((("queries", index, "to"), query.to) for index, query in enumerate(spec.queries)),
    ]
    for path, items in lists:
        names: set[str] = set()
        for index, item in enumerate(items):
            if item.name in names:
                message = f"the name {item.name!r} is taken by an earlier entry of {path[-1]}"
                yield context.problem((*path, index, "name"), message, reasons.DUPLICATE_NAME)
            names.add(item.name)


def relation_names(context: Context) -> Iterator[Problem]:
    """Sources, views, dead letters and quarantines share one namespace: that of SQL."""
    graph = context.graph
    for index, view in enumerate(context.spec.views):
        if view.name in graph.sources:
            message = f"a source is called {view.name!r} already; sources and views share one namespace in SQL; rename the view"
            yield context.problem(("views", index, "name"), message, reasons.DUPLICATE_RELATION)
    for index, source in enumerate(context.spec.sources):
        if (source.dead_letters or "") in (*graph.sources, *graph.views):
            message = f"{source.dead_letters!r} is the relation of this source's dead letters, and another relation has that name; rename one of the two"
            yield context.problem(("sources", index, "name"), message, reasons.DUPLICATE_RELATION)
    for index, view in enumerate(context.spec.views):
        if (view.quarantine or "") in (*graph.sources, *graph.views, *graph.dead_letters):
            message = f"{view.quarantine!r} is the relation of this view's quarantined rows, and another relation has that name; rename one of the two"
            yield context.problem(("views", index, "name"), message, reasons.DUPLICATE_RELATION)


def connections(context: Context) -> Iterator[Problem]:
    """Every connector that needs a connection names a connection of the right kind."""
    kinds = {connection.name: connection.choice() for connection in reversed(context.spec.connections)}
    for path, kind, name in _uses(context):
        if name not in kinds:
            message = f"no connection is called {name!r}{did_you_mean(name, list(kinds))}"
            yield context.problem(path, message, reasons.UNKNOWN_CONNECTION)
        elif kinds[name] != kind:
            message = f"the connection {name!r} is of kind {kinds[name]}; name a connection of kind {kind}"
            yield context.problem(path, message, reasons.WRONG_CONNECTION)


def _uses(context: Context) -> Iterator[tuple[Path, str, str]]:
    """The path of each reference to a connection, the kind that it needs, and the name."""
    for at, connector in context.spec.connectors():
        if connector.connection_kind and connector.connection_name:
            yield (*at, "connection"), connector.connection_kind, connector.connection_name


def query_relations(context: Context) -> Iterator[Problem]:
    """A query reads a source, a view, a source's dead letters, or a view's quarantine."""
    for index, query in enumerate(context.spec.queries):
        if query.from_ not in context.graph.names:
            yield context.problem(
                ("queries", index, "from"), _unknown(context, query.from_), reasons.UNKNOWN_RELATION
            )


def one_query_each(context: Context) -> Iterator[Problem]:
    """A view is exactly one query. It calls no function that reaches into the JVM, and reads no files by path."""
    for index, view in enumerate(context.spec.views):
        for refusal in context.graph.facts[view.name].refusals:
            path: Path = ("views", index, "sql")
            yield context.problem(path, refusal.message, refusal.reason, offset=refusal.offset)


def view_relations(context: Context) -> Iterator[Problem]:
    """Every relation that a view reads exists; in SQL this holds for every unqualified name."""
    for index, view in enumerate(context.spec.views):
        for path, name in view.inputs:
            if name not in context.graph.names:
                yield context.problem(
                    ("views", index, *path), _unknown(context, name), reasons.UNKNOWN_RELATION
                )
        for reference in context.graph.facts[view.name].references or ():
            if reference.name not in context.graph.names:
                message = _unknown(context, reference.name)
                yield context.problem(
                    ("views", index, "sql"), message, reasons.UNKNOWN_RELATION, offset=reference.start
                )


def cycles(context: Context) -> Iterator[Problem]:
    """Views do not read themselves, directly or through others."""
    if chain := context.graph.cycle():
        path, offset = _reading(context, chain[0], chain[1])
        message = (
            f"views read each other: {' -> '.join(chain)}" if len(chain) > 2 else "the view reads itself"
        )
        yield context.problem(path, message, reasons.CYCLIC_VIEWS, offset=offset)


def _reading(context: Context, name: str, below: str) -> tuple[Path, int | None]:
    """The place where a view names a relation that it certainly reads: a path, and in SQL an offset."""
    index, view = next((index, view) for index, view in enumerate(context.spec.views) if view.name == name)
    if view.sql is None:
        return ("views", index, *next(path for path, read in view.inputs if read == below)), None
    references = context.graph.facts[name].references or ()
    return ("views", index, "sql"), next(ref.start for ref in references if ref.name == below)


def _unknown(context: Context, name: str) -> str:
    source = context.graph.sources.get(name.removesuffix("_dead_letters"))
    if source is not None and source.dead_letters != name:
        field = "files" if source.files and source.files.decoding else "decode"
        return f"no relation {name!r}: the source {source.name!r} has it only with {field}.onMalformedRecord: deadLetter"
    view = context.graph.views.get(name.removesuffix("_quarantine"))
    if view is not None and view.name != name:
        return f"no relation {name!r}: the view {view.name!r} has it only with an expectation that sets onViolation: quarantine"
    return f"no source or view is called {name!r}{nearest_of(name, sorted(context.graph.names))}"
