"""What is to be done for a pipeline, as plain data, and what every part of the decision says alike; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainstem_operator.decisions.pipeline_status import PipelineEvent
from mainstem_operator.observed.observation import Observation
from mainstem_operator.validation.documents import Revision


Object = Mapping[str, Any]
LOOK_SECONDS: Final = 60.0
"""How often a driver is looked at that says nothing, and an API server asked again that refused its pod."""
CHANGING_SECONDS: Final = 30.0
"""How often a driver that starts or goes is read from the server: a watch that was broken off does not tell of what
happened meanwhile.
"""
STOP_FAILED: Final = (
    "the API server does not delete the pod; the operator tries again, at least once a minute"
)


@dataclass(frozen=True)
class Start:
    """A driver to be started: all it needs is applied, then its pod is made.

    Attributes:
        revision: what it runs.
        attempt: which start of the pipeline it is.
        run: the run of the pipeline that it begins or continues.
    """

    revision: Revision
    attempt: int
    run: str


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes:
        status: the operator's part of the status, whole; empty where it stays.
        driver_part: the driver's part, where there is no driver that writes it.
        stop: True where the driver's pod is told to go, or, being over, is removed.
        start: a driver to be started.
        events: what to tell.
        requeue: seconds until the next look; None where only an event or the resync asks for one.
        finished: True where the resource may go.
    """

    status: Object
    driver_part: dict[str, Any] | None = None
    stop: bool = False
    start: Start | None = None
    events: tuple[PipelineEvent, ...] = ()
    requeue: float | None = None
    finished: bool = False


def with_failure(observation: Observation, message: str) -> str:
    """The message of a driver's end, with the reason why the API server has not carried that out, where it has not."""
    return f"{message}; {STOP_FAILED}: {observation.failure.message}" if observation.failure else message
