"""Protects a running driver from a document with which its queries could not continue from their checkpoints; pure.

Only a query that runs counts. The driver itself compares each query's document with the record beside its checkpoint.
"""

from collections.abc import Mapping
from typing import Any, Final

from mainstem import reasons
from mainstem.changes.consequences import WAYS_OUT, RefusedQuery
from mainstem.language.model.status.revision_history import RevisionOutcome
from mainstem.language.model.status.states import QueryState

from mainstem_operator.decisions import unchecked, updates
from mainstem_operator.observed import pod_status, trials
from mainstem_operator.observed.conditions import CHECKPOINT_COMPATIBLE, FALSE, Condition, find_condition
from mainstem_operator.observed.observation import Observation, report_of, written_status
from mainstem_operator.validation.documents import DocumentChange


_NOT_RUNNING: Final = (QueryState.FAILED, QueryState.WAITING, QueryState.SUSPENDED, QueryState.COMPLETED)
"""States of a query that no change harms: it reads nothing, or its checkpoint may belong to an earlier document."""

_LONGEST: Final = 3500
"""Maximum number of characters about the queries, so that the ways out fit into the condition."""


def has_driver(body: Mapping[str, Any], pod: Mapping[str, Any] | None) -> bool:
    """Whether the pipeline has a driver that a change of the document may stop, or one that starts again after a failure
    with the document that ran before the refused one.
    """
    lives = pod is not None and not pod_status.over(pod)
    return _may_run(body) and (lives or _was_refused(body))


def remains(body: Mapping[str, Any], pod: Mapping[str, Any] | None, wanted: str) -> bool:
    """Whether the document that ran before may remain in use, in place of the revision with this name."""
    works = _may_run(body) and unchecked.may_remain(body, pod)
    return works or has_driver(body, pod) or trials.holds(written_status(body), wanted)


def guarded(observation: Observation) -> bool:
    """Whether a changed document may be refused: a driver of the current revision has reported its queries."""
    if _was_refused(observation.body):
        return True
    pod = observation.pod
    return pod is not None and observation.is_alive and bool(report_of(observation.body, pod))


def in_use(observation: Observation, change: DocumentChange | None) -> tuple[RefusedQuery, ...]:
    """Those refused queries that run, and forbid to stop the driver for the document."""
    refused = change.refused if change else ()
    states = {query["name"]: query["state"] for query in observation.status.get("queries", ())}
    return tuple(each for each in refused if each.query in states and states[each.query] not in _NOT_RUNNING)


def checkpoint_compatible(observation: Observation) -> tuple[Condition, ...]:
    """The condition `CheckpointCompatible`, if the change is refused."""
    if not observation.refused_changes:
        final = updates.final_refusal(observation)
        if final is None or final[0] != reasons.CHECKPOINT_INCOMPATIBLE:
            return ()
        return (Condition("CheckpointCompatible", FALSE, *final),)
    refused = "; ".join(each.message for each in observation.refused_changes)[:_LONGEST]
    message = f"{refused}; the previous document remains in use. To continue, {WAYS_OUT}"
    return (Condition("CheckpointCompatible", FALSE, reasons.CHECKPOINT_INCOMPATIBLE, message),)


def _may_run(body: Mapping[str, Any]) -> bool:
    return not (body["spec"].get("suspend") or body["metadata"].get("deletionTimestamp"))


def _was_refused(body: Mapping[str, Any]) -> bool:
    """Whether this generation of the document was refused: by the operator, by the last driver, which ran another one, or by a
    preflight.
    """
    status = written_status(body)
    refused = status.get("reported", {}).get("refused")
    if refused and not refused["retried"]:
        return bool(status.get("observedGeneration") == body["metadata"]["generation"])
    entry: Mapping[str, Any] = next(iter(status.get("history", ())), {})
    if (entry.get("outcome"), entry.get("generation")) == (
        RevisionOutcome.REJECTED,
        body["metadata"]["generation"],
    ):
        return True
    condition = find_condition(status, CHECKPOINT_COMPATIBLE)
    return condition is not None and condition["observedGeneration"] == body["metadata"]["generation"]
