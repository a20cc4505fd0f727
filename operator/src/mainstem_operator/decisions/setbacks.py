"""What keeps the newest revision from being healthy, and which fields of a change can have caused it; pure."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mainstem import reasons
from mainstem.language.model.status.states import OUTAGES, QueryState, is_active

from mainstem_operator.decisions.failure_classes import (
    NEVER_RAN,
    OF_THE_DOCUMENT,
    FailureClass,
    failure_class,
)
from mainstem_operator.decisions.health import queries_active, reported, updated
from mainstem_operator.decisions.history import DriverHistory
from mainstem_operator.decisions.start_deadlines import deadline
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import Condition
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.revision_entries import newest
from mainstem_operator.observed.unanswered import REPEATEDLY
from mainstem_operator.validation.documents import Revision


_ANY: Final = ()
_DRIVER: Final = ("spec.",)
_IMAGE: Final = ("spec.image", "spec.driver")
_POD: Final = ("spec.driver",)
_EXECUTORS: Final = ("spec.executors", "spec.image")
_CONNECTIONS: Final = ("spec.connections", "the connection")
_PULL: Final = (
    reasons.IMAGE_PULL_BACK_OFF,
    reasons.ERR_IMAGE_NEVER_PULL,
    reasons.INVALID_IMAGE_NAME,
)


class Setback(NamedTuple):
    """What keeps the newest revision from being healthy.

    Attributes:
        reason: why, in one word.
        message: why, for people.
        causes: beginnings of the changes that can have caused it, as `DocumentChange.driver` has them; empty if any can.
        at_once: True if waiting does not help.
        queries: the queries that have failed permanently.
        pauses: True while the deadline of the revision does not pass, unless the change has caused it.
    """

    reason: reasons.Reason
    message: str
    causes: tuple[str, ...] = _ANY
    at_once: bool = False
    queries: frozenset[str] = frozenset()
    pauses: bool = False

    def is_caused_by(self, changes: tuple[str, ...]) -> bool:
        """Whether a change of these fields can have caused it."""
        return not self.causes or any(change.startswith(self.causes) for change in changes)


def setback(observation: Observation, before: DriverHistory, revision: Revision) -> Setback | None:
    """What keeps this revision, which runs or ran last, from being healthy; None if nothing does, or if it is not known."""
    pod = observation.pod
    if pod is None or pod_status.over(pod):
        return _ended(observation, before, revision)
    if pod_status.leaving(pod) or observation.running_revision != revision.name:
        return None
    return (
        _running(observation, before)
        if pod_status.running(pod)
        else _unstarted(observation, pod, reported(observation.status, before.attempt))
    )


def _ended(observation: Observation, before: DriverHistory, revision: Revision) -> Setback | None:
    """The setback after the end of a driver of the revision."""
    ended = before.ended
    if ended is None or ended.drained or ended.outcome == "completed" or before.revision != revision.name:
        return None
    kind, failures = failure_class(ended), before.failures
    if ended.reason in NEVER_RAN:
        return Setback(ended.reason, ended.message, at_once=failures.infrastructure >= REPEATEDLY)
    if kind is FailureClass.INFRASTRUCTURE:
        is_outage = ended.reason in OUTAGES
        return Setback(ended.reason, ended.message, _CONNECTIONS, pauses=True) if is_outage else None
    is_last = failures.pause_seconds(revision.pipeline.spec.restart, 0.0) is None
    entry = newest(observation.status) or {}
    # If a running driver took the revision over, failures before that are not the revision's.
    again = failures.counted >= REPEATEDLY and before.attempt > entry.get("attempt", 0)
    return Setback(ended.reason, ended.message, at_once=kind in OF_THE_DOCUMENT or again or is_last)


def _unstarted(observation: Observation, pod: pod_status.Object, has_reported: bool) -> Setback | None:
    """The setback of a pod whose driver does not start."""
    if has_reported:
        return None  # the driver may report before the kubelet reports its container
    reason, message = observation.driver_warning or pod_status.waits_for(pod)
    has_node = bool(pod["spec"].get("nodeName"))
    late = observation.start_age > deadline(reason, has_node=has_node).seconds
    if reason in _PULL:
        return Setback(reason, message, _IMAGE, at_once=late)
    if not has_node:
        return Setback(reason, message, _POD, at_once=late, pauses=True)
    return Setback(reason, message, at_once=late)


def _running(observation: Observation, before: DriverHistory) -> Setback | None:
    """The setback of a running driver, from its report."""
    status = observation.status
    active = queries_active(status, before.attempt)
    if not reported(status, before.attempt):
        return Setback(active.reason, active.message, _DRIVER)
    queries = updated(status)
    failed = [each for each in queries if each["state"] == QueryState.FAILED]
    if any(each.get("reason") == reasons.FENCED for each in failed):
        return None  # a newer driver has taken a checkpoint over
    if failed:
        names = frozenset(each["name"] for each in failed)
        return Setback(active.reason, active.message, at_once=True, queries=names)
    blocked = [each for each in queries if not is_active(each["state"], each.get("reason"))]
    return _blocked(observation, active, blocked) if blocked else None


def _blocked(observation: Observation, active: Condition, blocked: list[Mapping[str, Any]]) -> Setback:
    """The setback of queries that are not active yet."""
    if cut_off := [each for each in blocked if each.get("reason") in OUTAGES]:
        return Setback(reasons.named(cut_off[0]["reason"]), active.message, _CONNECTIONS, pauses=True)
    missing = observation.status.get("summary", {}).get("executorsMessage")
    if missing or observation.executors_warning:
        message = missing or str(observation.executors_warning and observation.executors_warning.message)
        return Setback(reasons.EXECUTORS_UNSCHEDULABLE, message, _EXECUTORS, pauses=True)
    return Setback(active.reason, active.message)
