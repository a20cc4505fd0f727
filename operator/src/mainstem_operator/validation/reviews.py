"""What the admission webhook asks about a document: its problems, and what a change of it does; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from mainstem.changes import Change, Effect
from mainstem.changes.consequences import (
    CANNOT_CONTINUE,
    DriverStep,
    consequences,
    driver_step,
    new_driver,
)
from mainstem.changes.transition import Step, Transition, transition
from mainstem.errors import SpecInvalid
from mainstem.estimates import estimate
from mainstem.language.analysis.graph import Graph

from mainstem_operator.validation.documents import read_body


_REFUSED: Final = "the operator refuses the document while the driver runs"
_WHOLE: Final = {
    DriverStep.STOP: "every query stops at a batch's end",
    DriverStep.REST: "nothing changes until the pipeline is resumed",
}
_SILENT: Final = (Effect.UNCHANGED, Effect.LIVE)


class Findings(NamedTuple):
    """What is wrong with a document, each with its path, its line in a text of several lines, and its reason."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def findings(body: Mapping[str, Any]) -> Findings:
    """The problems of a resource's document; its warnings, if it has no problem."""
    try:
        document = read_body(body)
    except SpecInvalid as refused:
        return Findings(problems=tuple(each.named() for each in refused.problems if not each.warning))
    # `kubectl` itself begins the line with "Warning: ".
    return Findings(warnings=tuple(replace(each, warning=False).named() for each in document.warnings))


def change_warnings(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """What the change from one resource to the other does, a line for each query that it concerns.

    Empty if the old document is invalid by the current rules.
    """
    written = old.get("status") or {}
    # A driver starts for each other nonce than that of the last start, which may not be the stored one.
    started = written if "revision" in written else old["spec"]
    spec = {key: value for key, value in old["spec"].items() if key != "restartNonce"}
    spec |= {key: value for key, value in started.items() if key == "restartNonce"}
    try:
        running, wanted = (read_body(body).graph for body in ({**old, "spec": spec}, new))
    except SpecInvalid:
        return ()
    status = {each["name"]: each for each in written.get("queries") or ()}
    return tuple(lines(transition(running, wanted), running, wanted, status))


def lines(
    way: Transition, running: Graph, wanted: Graph, status: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """The lines about a change. If the operator would refuse the document, only those about the refused queries.

    Args:
        way: what happens to each query.
        running: the stored document.
        wanted: the wanted document.
        status: query -> its entry of the stored status.
    """
    outcomes = consequences(way, running, wanted)
    driver, causes = driver_step(way, running, wanted)
    refused = [(query, each.outcome.refusals) for query, each in outcomes if each.outcome.refusals]
    if refused and driver in (DriverStep.KEEP, DriverStep.REPLACE):
        if causes != way.driver:
            yield f"every query restarts with the document before: {new_driver(causes[-1:])}"
        for query, refusals in refused:
            yield _line(query.query, f"{CANNOT_CONTINUE}; {_REFUSED}", refusals)
        return
    if driver is DriverStep.REPLACE:
        yield f"every query restarts: {new_driver(causes)}"
    elif driver is DriverStep.START:
        when = " at the next time of the schedule" if wanted.spec.schedule else ""
        yield f"a driver starts with the changed document{when}: {', '.join(causes)}"
    elif driver in _WHOLE:
        yield f"{_WHOLE[driver]}: {', '.join(causes)}"
    for query, consequence in outcomes:
        changes = [each for each in consequence.outcome.changes if _is_news(each)]
        if changes or way.steps[query.query] is not Step.KEEP:
            known = estimate(consequence, status.get(query.query), wanted, query.query)
            more = known.words() if known else ""
            yield _line(query.query, f"{consequence.words}: {more}" if more else consequence.words, changes)


def _is_news(change: Change) -> bool:
    """Whether a query needs a line for the change: not if the change stops nothing, or concerns the whole pipeline."""
    return change.effect not in _SILENT and change.path != "spec.suspend"


def _line(query: str, words: str, changes: Sequence[Change]) -> str:
    """The query, the consequence and the worst change, in this order: the API server may cut the end."""
    why = f". {changes[0].path}: {changes[0].text}" if changes else ""
    return f"query {query}: {words}{why}"
