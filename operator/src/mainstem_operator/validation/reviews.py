"""What the admission webhook asks about a document: its problems, and what a change of it does; pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainstem.changes import Effect, QueryVerdict, Verdict, compare
from mainstem.changes.refusals import refused_queries
from mainstem.changes.transition import transition
from mainstem.changes.verdict import REFUSED
from mainstem.errors import SpecInvalid
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.queries import Query

from mainstem_operator.validation.documents import read_body


_CONSEQUENCES: Final = {
    Effect.EMPTY: "starts with an empty checkpoint",
    Effect.REMOVED: "stops",
    Effect.CONTINUES: "continues from its checkpoint",
}


def problems(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The problems of a resource's document, each with its path, its line in a text of several lines, and its reason."""
    try:
        read_body(body)
    except SpecInvalid as refused:
        return tuple(problem.named() for problem in refused.problems if not problem.warning)
    return ()


def change_warnings(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """What the change from one resource to the other does, a line for each query that it concerns.

    Empty if the old document is invalid by the current rules.
    """
    try:
        running, wanted = (read_body(body).graph for body in (old, new))
    except SpecInvalid:
        return ()
    return tuple(lines(compare(running, wanted), wanted.pipeline, transition(running, wanted).driver))


def lines(verdict: Verdict, wanted: StreamingPipeline, driver: Sequence[str]) -> Iterator[str]:
    """The lines about a verdict. If the operator would refuse the document, only those about the refused queries.

    Args:
        verdict: the comparison of the stored document with the wanted one.
        wanted: the wanted document.
        driver: why only a new driver can run the wanted document; empty if a running one can take it over.
    """
    if refused := {query.query for query in refused_queries(verdict, wanted)}:
        for query in verdict.refused:
            if query.query in refused:
                consequence = "cannot continue from its checkpoint; the operator refuses the document while the driver runs"
                yield _line(query, consequence)
        return
    if driver:
        yield f"every query restarts: only a new driver can apply {', '.join(driver)}"
    queries = {query.name: query for query in wanted.spec.queries}
    for query in verdict.queries:
        if query.effect in REFUSED:
            yield _line(query, _accepted(queries[query.query]))
        elif query.effect in _CONSEQUENCES:
            yield _line(query, _CONSEQUENCES[query.effect])


def _accepted(query: Query) -> str:
    """What a query does whose document does not fit its checkpoint, although the operator takes the document."""
    if query.checkpoint.on_change == "newGeneration":
        return "starts with an empty checkpoint, by checkpoint.onChange"
    if query.checkpoint.on_change == "keep":
        return "continues from its checkpoint and may misread it, by checkpoint.onChange"
    return "is suspended, and cannot continue from its checkpoint when it is resumed"


def _line(query: QueryVerdict, consequence: str) -> str:
    """The query, the consequence and the worst change, in this order: the API server may cut the end."""
    change = query.changes[0]
    return f"query {query.query}: {consequence}. {change.path}: {change.text}"
