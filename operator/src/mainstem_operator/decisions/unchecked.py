"""Keeps a document that no driver has checked from a pipeline whose document before works; pure.

Only a driver can check a document against Spark and the checkpoints. If one ends before it has applied or refused a changed
document, its successor starts with the document that ran last, and gets the changed one once it has reported.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mainstem import reasons

from mainstem_operator.decisions.failure_classes import FailureClass
from mainstem_operator.decisions.history import DriverHistory, driver_history
from mainstem_operator.decisions.setbacks import REPEATEDLY
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import AT_REST
from mainstem_operator.observed.observation import Observation, last_revision, written_status
from mainstem_operator.observed.revision_entries import is_healthy
from mainstem_operator.validation.documents import Revision


_OF_THE_DOCUMENT = (FailureClass.DOCUMENT, FailureClass.QUERY)


def may_remain(body: Mapping[str, Any], pod: Mapping[str, Any] | None) -> bool:
    """Whether the document that ran last may remain in use; asked before both documents are compared."""
    status = written_status(body)
    return status.get("phase") not in AT_REST and is_healthy(status, last_revision(body, pod))


def is_unchecked(observation: Observation) -> bool:
    """Whether no driver runs, and the next one starts with the document that ran last, because that works, and because no
    driver has checked the changed one.

    The changed document is the remedy, and is started unchecked, where the one before has failed for good or repeatedly. It also
    is where the running driver could not have applied it, and where the pipeline was at rest.
    """
    wanted, current, change = observation.wanted, observation.current, observation.change
    is_down = observation.pod is None or pod_status.over(observation.pod)
    if not is_down or observation.rolled_back or wanted is None or current is None:
        return False
    if wanted.name == current.name or change is None or change.driver or current.ends:
        return False
    if not may_remain(observation.body, observation.pod) or not _takes_documents(observation):
        return False
    before = driver_history(replace(observation, unchecked=True))
    return before.revision == current.name and _works(before, current)


def _takes_documents(observation: Observation) -> bool:
    """Whether a driver of the document that ran last can take another over: one of an older release reports no revision."""
    refused = observation.refused_update
    needs_driver = refused is not None and refused["reason"] == reasons.NEW_DRIVER_NEEDED
    return "revision" in observation.status.get("reported", {}) and not needs_driver


def _works(before: DriverHistory, current: Revision) -> bool:
    """Whether a driver would run the document: a single failure, or any of the infrastructure, does not count against it, nor
    does a failure with the changed document at hand.
    """
    failures, ended = before.failures, before.ended
    if ended is not None and ended.outcome == "completed":
        return False
    if (
        failures.last in _OF_THE_DOCUMENT
        or failures.pause_seconds(current.pipeline.spec.restart, 0.0) is None
    ):
        return False
    return failures.counted < REPEATEDLY or before.unanswered is not None
