"""Counts the documents that the operator hands to a running driver, and those that it has answered; pure.

A revision alone does not show whether a driver knows that an edit is undone: the wanted revision is then the one that runs.
"""

from collections.abc import Mapping
from typing import Any

from mainstem.names import UPDATE_NUMBER

from mainstem_operator.observed import pod_status
from mainstem_operator.observed.observation import report_of
from mainstem_operator.observed.pod_status import Object


def next_number(body: Mapping[str, Any], pod: Object) -> int:
    """The number of the next document for the driver: above each that it has got, also from an operator that died meanwhile."""
    return max(handed_number(pod), _answered(body, pod) or 0) + 1


def may_apply_another(body: Mapping[str, Any], pod: Object, revision: str) -> bool:
    """Whether the driver of the pod, which runs the revision, may still apply another document that it has got. A driver of an
    older release, which counts none, may do that unseen.
    """
    if pod_status.over(pod) or pod_status.leaving(pod):
        return False
    number = _answered(body, pod)
    is_open = number is not None and number < handed_number(pod)
    return is_open or pod_status.handed_revision(pod) != revision


def was_cut_off(body: Mapping[str, Any], pod: Object) -> bool:
    """Whether the driver has answered a document that the pod does not name: an operator died between its two writes."""
    return (_answered(body, pod) or 0) > handed_number(pod)


def handed_number(pod: Object) -> int:
    """How many documents the operator has handed to the driver; 0 also if an older operator has handed some."""
    return int(pod["metadata"].get("annotations", {}).get(UPDATE_NUMBER, 0))


def _answered(body: Mapping[str, Any], pod: Object) -> int | None:
    """The number of the last document that the driver has applied or refused; None if it counts none."""
    number: int | None = report_of(body, pod).get("answered")
    return number
