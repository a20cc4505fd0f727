"""What the admission webhook asks about a document: its problems, and what a change of it does; pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainstem.changes import Effect, QueryVerdict, Verdict
from mainstem.changes.consequences import CANNOT_CONTINUE, consequences, new_driver
from mainstem.changes.transition import transition
from mainstem.errors import SpecInvalid
from mainstem.estimates import estimate
from mainstem.language.analysis.graph import Graph

from mainstem_operator.validation.documents import read_body


_REFUSED: Final = "the operator refuses the document while the driver runs"
_SILENT: Final = (Effect.UNCHANGED, Effect.LIVE)


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
    status = {each["name"]: each for each in (old.get("status") or {}).get("queries") or ()}
    way = transition(running, wanted)
    return tuple(lines(way.verdict, wanted, way.driver, status))


def lines(
    verdict: Verdict, wanted: Graph, driver: Sequence[str], status: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """The lines about a verdict. If the operator would refuse the document, only those about the refused queries.

    Args:
        verdict: the comparison of the stored document with the wanted one.
        wanted: the wanted document.
        driver: why only a new driver can run the wanted document; empty if a running one can take it over.
        status: query -> its entry of the stored status.
    """
    outcomes = consequences(verdict, wanted.pipeline)
    if refused := [query for query, outcome in outcomes if outcome.refused]:
        yield from (_line(query, f"{CANNOT_CONTINUE}; {_REFUSED}") for query in refused)
        return
    if driver:
        yield f"every query restarts: {new_driver(driver)}"
    for query, outcome in outcomes:
        if query.effect not in _SILENT:
            known = estimate(outcome, status.get(query.query), wanted, query.query)
            more = known.words() if known else ""
            yield _line(query, f"{outcome.words}: {more}" if more else outcome.words)


def _line(query: QueryVerdict, consequence: str) -> str:
    """The query, the consequence and the worst change, in this order: the API server may cut the end."""
    change = query.changes[0]
    return f"query {query.query}: {consequence}. {change.path}: {change.text}"
