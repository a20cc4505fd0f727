"""A plan: what the operator does next for a pipeline, as plain data; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainstem_operator.decisions.pipeline_status import PipelineEvent
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.preflights import Preflight
from mainstem_operator.observed.trials import Trial
from mainstem_operator.validation.documents import Revision


Object = Mapping[str, Any]
LOOK_SECONDS: Final = 60.0
"""Seconds until the next look at a driver that reports nothing, or until the next request after a rejected pod."""
CHANGING_SECONDS: Final = 30.0
"""How often the operator reads a pod that starts or ends from the API server: an interrupted watch does not report what
happened meanwhile.
"""
REPLACED: Final = "the operator replaces the pod, which has not started"
"""How the message of a drain ends if no user has asked for it."""
STOP_FAILED: Final = (
    "the API server does not delete the pod; the operator tries again, at least once a minute"
)


@dataclass(frozen=True)
class Start:
    """The start of a driver: the operator applies all objects that the driver needs, then creates its pod.

    Attributes:
        revision: the document that it runs.
        attempt: the driver start number.
        run: the run of the pipeline that it begins or continues.
    """

    revision: Revision
    attempt: int
    run: str


@dataclass(frozen=True)
class Plan:
    """What the operator does next.

    Attributes:
        status: the operator's whole part of the status; empty if it stays as it is.
        driver_part: the driver's part, if no driver writes it.
        stop: True if the operator deletes the driver pod.
        grace: the grace period of that deletion in seconds, 0 without the node; None for that of the pod.
        start: the driver to start.
        update: the revision to hand to the running driver.
        start_trial: the trial whose pod the operator creates beside the running driver.
        stop_trial: True if it deletes that pod.
        start_preflight: the preflight whose pod the operator creates.
        stop_preflight: True if it deletes that pod.
        next_attempt: the driver start number that the next driver would have, for that pod.
        events: the Kubernetes events to post.
        requeue: seconds until the next reconcile; None if only an event or the resync causes it.
        finished: True if the operator may release the resource.
    """

    status: Object
    driver_part: dict[str, Any] | None = None
    stop: bool = False
    grace: float | None = None
    start: Start | None = None
    update: Revision | None = None
    start_trial: Trial | None = None
    stop_trial: bool = False
    start_preflight: Preflight | None = None
    stop_preflight: bool = False
    next_attempt: int = 1
    events: tuple[PipelineEvent, ...] = ()
    requeue: float | None = None
    finished: bool = False

    @property
    def force(self) -> bool:
        """True if the operator deletes the pod by force: without a grace period, and without the node."""
        return self.stop and self.grace == 0

    @property
    def is_first_start(self) -> bool:
        """True for the very first start, before which no status is written."""
        return self.start is not None and not self.status


def with_failure(observation: Observation, message: str) -> str:
    """The message of a deletion, with the API server's error if the server has not carried the deletion out."""
    return f"{message}; {STOP_FAILED}: {observation.failure.message}" if observation.failure else message
