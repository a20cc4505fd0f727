"""What a driver's pod says of itself: whether it lives, what it waits for, how it ended; pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from mainstem.errors import Exit
from mainstem.names import ATTEMPT, DRIVER_CONTAINER, REVISION, RUN, TEMPLATE_HASH

from mainstem_operator.observed.conditions import parsed


Object = Mapping[str, Any]
STARTING: Final = "the driver pod is starting"
OVERDUE_SECONDS: Final = 30.0
"""How long after its grace a pod may still be there: the kubelet unmounts, and tells the API server."""
_LONGEST: Final = 1024
_LONGEST_REASON: Final = 128
_OUTCOMES: Final = {Exit.SPEC_INVALID: "SpecInvalid", Exit.QUERY_FAILED: "QueryFailed", Exit.NOT_READY: "NotReady", Exit.DRAIN_INTERRUPTED: "Interrupted"}  # fmt: skip
_KILLED: Final = 137
OUTCOMES: Final = ("completed", "drained", "interrupted", "failed")
"""What a driver says of its end."""
_NAME: Final = re.compile(r"[a-z0-9][-a-z0-9]{0,62}")


@dataclass(frozen=True)
class DriverEnd:
    """How a driver ended.

    Attributes:
        attempt: which start it was.
        outcome: in its own words, None where it could not say.
        exit_code: of its container, None where the container never ran.
        reason: one CamelCase word.
        message: for people.
        ran_seconds: how long its container ran, by the node's clock; 0 where it never did.
        finished: when it ended, if known; by the node's clock as long as the operator has not compared it with its own.
        queries: name -> last committed batch.
    """

    attempt: int
    outcome: str | None
    exit_code: int | None
    reason: str
    message: str
    ran_seconds: float = 0.0
    finished: datetime | None = None
    queries: tuple[tuple[str, int | None], ...] = ()

    @property
    def drained(self) -> bool:
        """True where it ended because it was told to, at its batches' ends."""
        return self.exit_code == 0 and self.outcome == "drained"


def revision(pod: Object) -> str:
    """The revision that it runs."""
    return str(pod["metadata"].get("annotations", {}).get(REVISION, ""))


def attempt(pod: Object) -> int:
    """Which start it is."""
    return int(pod["metadata"].get("annotations", {}).get(ATTEMPT, 0))


def run(pod: Object) -> str:
    """The run of the pipeline that the driver continues; empty where an operator of before made the pod."""
    return str(pod["metadata"].get("annotations", {}).get(RUN, ""))


def template_hash(pod: Object) -> str:
    """The hash of all that it was made from; empty where an operator of before made it."""
    return str(pod["metadata"].get("annotations", {}).get(TEMPLATE_HASH, ""))


def leaving(pod: Object) -> bool:
    """True where it was told to go."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def overdue(pod: Object, now: datetime) -> bool:
    """True where it was told to go, and its node has not let it go half a minute after its grace: the node is silent."""
    if not leaving(pod):
        return False
    # The API server's time at which the grace is over.
    gone_by = parsed(pod["metadata"]["deletionTimestamp"]) + timedelta(seconds=OVERDUE_SECONDS)
    return now > gone_by and bool(pod["spec"].get("nodeName"))


def changing(pod: Object) -> bool:
    """True where it starts or goes, so that its next state is only a matter of time."""
    return leaving(pod) or not (running(pod) or over(pod))


def over(pod: Object) -> bool:
    """True where its driver does not run any more."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed") or _terminated(pod) is not None


def container_ready(pod: Object) -> bool:
    """True where the driver's container runs and says that it is ready."""
    return bool(_container(pod).get("ready"))


def running(pod: Object) -> bool:
    """True where the driver's container runs."""
    return "running" in _container(pod).get("state", {})


def waits_for(pod: Object) -> tuple[str, str]:
    """Reason and message of a pod whose driver has not started yet, in the scheduler's and the kubelet's words."""
    status = pod.get("status", {})
    for container in (_container(pod), *status.get("initContainerStatuses", ())):
        waiting = container.get("state", {}).get("waiting", {})
        if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
            return str(waiting["reason"]), str(waiting.get("message", ""))
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return f"Driver{condition.get('reason', 'Unschedulable')}", str(condition.get("message", ""))
    return "DriverStarting", STARTING


def starts_silently(pod: Object) -> bool:
    """True where a pod, also an executor's, has a node and no container that runs, and its status does not say why."""
    status = pod.get("status", {})
    containers = [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]
    return (
        status.get("phase") == "Pending"
        and bool(pod["spec"].get("nodeName"))
        and not leaving(pod)
        and waits_for(pod)[0] == "DriverStarting"
        and all(set(container.get("state", {})) <= {"waiting"} for container in containers)
    )


class PodWarning(NamedTuple):
    """The newest event of a pod, where that is a warning: its reason, such as `FailedMount`, and its message."""

    reason: str
    message: str


def newest_warning(events: Iterable[Object]) -> PodWarning | None:
    """The newest event, where it is a warning; None where the kubelet has gone on since, for example pulls the image.

    Args:
        events: of one pod, as the API server lists them.
    """
    newest = max(events, key=lambda event: int(event["metadata"]["resourceVersion"]), default=None)
    if newest is None or newest.get("type") != "Warning":
        return None
    reason, message = str(newest.get("reason") or "Warning"), str(newest.get("message") or "")
    return PodWarning(reason[:_LONGEST_REASON], message[:_LONGEST])


def ended(pod: Object) -> DriverEnd:
    """How the driver of a pod that is over ended: its own words first, else the kubelet's."""
    status = pod.get("status", {})
    state = _terminated(pod) or {}
    report = _termination_report(state.get("message", ""))
    code = state.get("exitCode")
    reason, message = _why(status, state, report)
    started, finished = _time(state.get("startedAt")), _time(state.get("finishedAt"))
    return DriverEnd(
        attempt=attempt(pod),
        outcome=report.get("outcome"),
        exit_code=code,
        reason=reason[:_LONGEST_REASON],
        message=message[:_LONGEST],
        ran_seconds=(finished - started).total_seconds() if started and finished else 0.0,
        finished=finished,
        queries=tuple(_queries(report.get("queries"))),
    )


def vanished(number: int, now: datetime) -> DriverEnd:
    """A driver whose pod is gone without a word: a node that died, or somebody's `kubectl delete --force`."""
    return DriverEnd(
        number, None, None, "DriverLost", "the driver pod is gone without a final status", finished=now
    )


def _why(status: Object, state: Object, report: Object) -> tuple[str, str]:
    killed = state.get("reason") in ("OOMKilled", "ContainerCannotRun", "StartError") or status.get("reason")
    if report.get("reason") and not killed:
        return str(report["reason"]), str(report.get("message", ""))
    if status.get("reason"):  # Evicted, Preempting, NodeShutdown, DeadlineExceeded
        return str(status["reason"]), str(status.get("message", ""))
    code = state.get("exitCode")
    if state.get("reason") == "OOMKilled":
        return "OOMKilled", "the container exceeded its memory limit; raise driver.resources.limits.memory"
    if code == 0:
        return str(report.get("outcome", "Completed")).capitalize(), str(report.get("message", ""))
    if code == _KILLED:
        return "Killed", "the container was killed with SIGKILL and reported no reason"
    reason = _OUTCOMES.get(code, state.get("reason") or "Error") if code is not None else "Error"
    return str(reason), f"exit code {code}" if code is not None else "the container never started"


def _container(pod: Object) -> Object:
    for status in pod.get("status", {}).get("containerStatuses", ()):
        if status["name"] == DRIVER_CONTAINER:
            return dict(status)
    return {}


def _terminated(pod: Object) -> Object | None:
    terminated: Object | None = _container(pod).get("state", {}).get("terminated")
    return terminated


def _termination_report(message: str) -> dict[str, Any]:
    """The driver's own words; whatever runs in its container can write there, so nothing is taken on trust."""
    try:
        report = json.loads(message)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(report, dict) or report.get("outcome") not in OUTCOMES:
        return {}
    words = {key: report[key] for key in ("outcome", "reason", "message") if isinstance(report.get(key), str)}
    return {**words, "queries": report.get("queries")}


def _queries(queries: Any) -> Iterator[tuple[str, int | None]]:
    for query in queries if isinstance(queries, list) else ():
        name, batch = (query.get("name"), query.get("batch")) if isinstance(query, dict) else (None, None)
        if isinstance(name, str) and _NAME.fullmatch(name):
            yield name, batch if type(batch) is int and batch >= -1 else None


def _time(text: str | None) -> datetime | None:
    return parsed(text) if text else None


def grace_seconds(pod: Mapping[str, Any]) -> float:
    """How long the pod may drain: as it was told to go, else as it was made; in seconds."""
    deletion = pod["metadata"].get("deletionGracePeriodSeconds")
    return float(pod["spec"].get("terminationGracePeriodSeconds", 0) if deletion is None else deletion)
