"""Keeps a document that no driver has checked from a pipeline whose document before works; pure.

Only a driver can check a document against Spark and the checkpoints. If one ends before it has applied or refused a changed
document, its successor starts with the document that ran last, and gets the changed one once a query runs.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from mainstem import reasons
from mainstem.language.model.status.revision_history import RevisionOutcome
from mainstem.language.model.status.states import QueryState

from mainstem_operator.decisions.failure_classes import OF_THE_DOCUMENT, FailureClass, failure_class
from mainstem_operator.decisions.history import DriverHistory, driver_history
from mainstem_operator.observed.conditions import AT_REST
from mainstem_operator.observed.observation import Observation, last_revision, written_status
from mainstem_operator.observed.preflights import Verdict
from mainstem_operator.observed.revision_entries import follows_healthy, is_healthy, last_healthy, newest
from mainstem_operator.validation.documents import Revision


MOST_SECONDS: Final = 600.0
"""How long a changed document waits while the one before it is not healthy yet: it may be the remedy."""


def may_remain(body: Mapping[str, Any], pod: Mapping[str, Any] | None) -> bool:
    """Whether the document that ran last may remain in use; asked before both documents are compared."""
    status, last = written_status(body), last_revision(body, pod)
    return status.get("phase") not in AT_REST and (is_healthy(status, last) or _may_get_healthy(status, last))


def has_time(observation: Observation) -> bool:
    """Whether a changed document waits for the one that ran last: that works, or was not healthy yet and has time left."""
    works = is_healthy(observation.status, observation.last_revision)
    return works or observation.document_age <= MOST_SECONDS


def _may_get_healthy(status: Mapping[str, Any], revision: str) -> bool:
    """Whether the revision has replaced a healthy one, and has not failed itself: its driver may have failed for another reason."""
    has_failed = any(query["state"] == QueryState.FAILED for query in status.get("queries", ()))
    if has_failed or not follows_healthy(status, revision):
        return False
    entry, failure = newest(status) or {}, status.get("lastFailure")
    if failure is None or failure["attempt"] < entry.get("attempt", 0):
        return True
    return FailureClass(failure["class"]) not in OF_THE_DOCUMENT


def driver_has_failed(observation: Observation) -> bool:
    """Whether the document that ran last has replaced a healthy one, and its last driver has failed. The check of a changed document may
    be what ended that, so a pod checks it in place of the next driver; but not the healthy one: that has run.
    """
    status, last = observation.status, observation.last_revision
    if not follows_healthy(status, last) or _returns(observation):
        return False
    failures, entry = driver_history(replace(observation, unchecked=True)).failures, newest(status) or {}
    return failures.last is not None and failures.attempt >= entry.get("attempt", 0)


def is_unchecked(observation: Observation) -> bool:
    """Whether no driver runs, and the next one starts with the document that ran last, because that works, and because no
    driver has checked the changed one.

    The changed document is the remedy, and is started unchecked, where the one before has failed for good, or does not start
    any more, and where the pipeline was at rest. One that only a new driver can apply is checked by a preflight pod meanwhile.
    """
    current = observation.current
    if observation.is_alive or current is None or not _can_be_checked(observation, current):
        return False
    before = driver_history(replace(observation, unchecked=True))
    is_refused = _is_refused(observation.status, observation.wanted_name)
    was_healthy = is_healthy(observation.status, current.name)
    is_remedy = before.failures.last is not None and _returns(observation)
    may_work = was_healthy or is_refused or (has_time(observation) and not is_remedy)
    return before.revision == current.name and may_work and _works(before, current, is_refused=is_refused)


def _can_be_checked(observation: Observation, current: Revision) -> bool:
    """Whether a driver of the document that ran last can check the changed one, or a preflight pod beside it."""
    wanted, preflight = observation.wanted, observation.preflight
    if observation.rolled_back or wanted is None or observation.change is None or current.ends:
        return False
    if preflight is not None and preflight.verdict is Verdict.PASSED:
        return False
    if preflight is None and not current.required <= wanted.required:
        return False  # a Secret may be missing that only the document before needs
    # A driver of an older release reports no revision, and takes no document over: then a preflight pod checks the document.
    has_reported = "revision" in observation.status.get("reported", {})
    return (has_reported or preflight is not None) and may_remain(observation.body, observation.pod)


def _returns(observation: Observation) -> bool:
    """Whether the changed document is the healthy one that the last one has replaced: it has run."""
    return last_healthy(observation.status, observation.last_revision) == observation.wanted_name


def _is_refused(status: Mapping[str, Any], wanted: str | None) -> bool:
    """Whether a driver has refused the changed document for good: it is no remedy then."""
    entry: Mapping[str, Any] = next(iter(status.get("history", ())), {})
    is_rejected = (entry.get("revision"), entry.get("outcome")) == (wanted, RevisionOutcome.REJECTED)
    return is_rejected and entry.get("reason") != reasons.NEVER_ANSWERED


def _works(before: DriverHistory, current: Revision, *, is_refused: bool) -> bool:
    """Whether another driver may run the document that ran last."""
    ended, failures = before.ended, before.failures
    if before.unanswered is not None and before.unanswered.is_remedy and not is_refused:
        return False
    if failures.pause_seconds(current.pipeline.spec.restart, 0.0) is None:
        return False
    if ended is None or ended.drained:
        return True
    return ended.outcome != "completed" and failure_class(ended) not in OF_THE_DOCUMENT
