"""The state of a driver pod: whether it runs, what it waits for, how it ended; pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from mainstem import reasons
from mainstem.cluster.container_waits import wait_of
from mainstem.language.model.deployment import larger_memory, memory_text
from mainstem.names import ATTEMPT, DRIVER_CONTAINER, RESTART_NONCE, REVISION, RUN, TEMPLATE_HASH, UPDATE
from mainstem.reasons import Exit

from mainstem_operator.observed.conditions import parsed


Object = Mapping[str, Any]
STARTING: Final = "the driver pod is starting"
OVERDUE_SECONDS: Final = 30.0
"""How long after its grace period a pod may still exist: the kubelet unmounts volumes and reports to the API server."""
_LONGEST: Final = 1024
_LONGEST_REASON: Final = 128
_OUTCOMES: Final = {Exit.SPEC_INVALID: reasons.SPEC_INVALID, Exit.QUERY_FAILED: reasons.QUERY_FAILED, Exit.NOT_READY: reasons.NOT_READY, Exit.DRAIN_INTERRUPTED: reasons.INTERRUPTED, Exit.FENCED: reasons.FENCED}  # fmt: skip
_KILLED: Final = 137
OUTCOMES: Final = ("completed", "drained", "interrupted", "failed")
"""Outcomes that a driver reports."""
_NAME: Final = re.compile(r"[a-z0-9][-a-z0-9]{0,62}")


@dataclass(frozen=True)
class DriverEnd:
    """How a driver ended.

    Attributes:
        attempt: the driver start number.
        outcome: as the driver reported it, None if it could not report.
        exit_code: exit code of its container, None if the container never started.
        reason: one CamelCase word.
        message: for people.
        ran_seconds: how long its container ran, by the node's clock; 0 if it never started.
        finished: when it ended, if known; by the node's clock until the operator has compared it with its own.
        queries: name -> last committed batch.
    """

    attempt: int
    outcome: str | None
    exit_code: int | None
    reason: reasons.Reason
    message: str
    ran_seconds: float = 0.0
    finished: datetime | None = None
    queries: tuple[tuple[str, int | None], ...] = ()

    @property
    def drained(self) -> bool:
        """True if it ended after a drain, at the end of its batches."""
        return self.exit_code == 0 and self.outcome == "drained"

    @property
    def succeeded(self) -> bool:
        """True if it ended after a drain, or because all its queries have ended."""
        return self.drained or self.outcome == "completed"


def revision(pod: Object) -> str:
    """The revision with which the pod starts."""
    return str(pod["metadata"].get("annotations", {}).get(REVISION, ""))


def handed_revision(pod: Object) -> str:
    """The revision that the pod runs or has to take over: the last one that the operator has given it."""
    return str(pod["metadata"].get("annotations", {}).get(UPDATE) or revision(pod))


def attempt(pod: Object) -> int:
    """The driver start number of the pod."""
    return int(pod["metadata"].get("annotations", {}).get(ATTEMPT, 0))


def run(pod: Object) -> str:
    """The run of the pipeline that the driver continues; empty if an older operator created the pod."""
    return str(pod["metadata"].get("annotations", {}).get(RUN, ""))


def restart_nonce(pod: Object) -> str | None:
    """`spec.restartNonce` when the pod was created; None without one."""
    nonce: str | None = pod["metadata"].get("annotations", {}).get(RESTART_NONCE)
    return nonce


def template_hash(pod: Object) -> str:
    """The hash of all inputs of the pod; empty if an older operator created it."""
    return str(pod["metadata"].get("annotations", {}).get(TEMPLATE_HASH, ""))


def leaving(pod: Object) -> bool:
    """True if the pod is being deleted."""
    return bool(pod["metadata"].get("deletionTimestamp"))


def overdue_at(pod: Object) -> datetime:
    """When a pod that is being deleted is overdue, by the API server's clock: its grace period is over by half a minute."""
    return parsed(pod["metadata"]["deletionTimestamp"]) + timedelta(seconds=OVERDUE_SECONDS)


def forced(pod: Object) -> bool:
    """True if the pod was deleted by force: only finalizers keep it."""
    return leaving(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0


def changing(pod: Object) -> bool:
    """True if the pod starts or ends, so that its state will change soon."""
    return leaving(pod) or not (running(pod) or over(pod))


def over(pod: Object) -> bool:
    """True if its driver has ended."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed") or _terminated(pod) is not None


def container_ready(pod: Object) -> bool:
    """True if the driver container runs and is ready."""
    return bool(_container(pod).get("ready"))


def running(pod: Object) -> bool:
    """True if the driver container runs."""
    return "running" in _container(pod).get("state", {})


def waits_for(pod: Object) -> tuple[reasons.Reason, str]:
    """Why a driver has not started yet: reason and message of the scheduler or the kubelet."""
    status = pod.get("status", {})
    for container in (_container(pod), *status.get("initContainerStatuses", ())):
        waiting = container.get("state", {}).get("waiting", {})
        if wait := wait_of(waiting.get("reason"), waiting.get("message")):
            return wait
    for condition in status.get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            reason = reasons.named(f"Driver{condition.get('reason', 'Unschedulable')}")
            return reason, str(condition.get("message", ""))
    return reasons.DRIVER_STARTING, STARTING


def starts_silently(pod: Object) -> bool:
    """True if a pod, also of an executor, has a node but no running container, and its status has no reason."""
    status = pod.get("status", {})
    containers = [*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())]
    return (
        status.get("phase") == "Pending"
        and bool(pod["spec"].get("nodeName"))
        and not leaving(pod)
        and waits_for(pod)[0] == reasons.DRIVER_STARTING
        and all(set(container.get("state", {})) <= {"waiting"} for container in containers)
    )


class PodWarning(NamedTuple):
    """The newest event of a pod, if it is a warning: its reason, such as `FailedMount`, and its message."""

    reason: reasons.Reason
    message: str


def newest_warning(events: Iterable[Object]) -> PodWarning | None:
    """The newest event, if it is a warning; None if the kubelet has continued since, for example to pull the image.

    Args:
        events: the events of one pod, as the API server lists them.
    """
    newest = max(events, key=lambda event: int(event["metadata"]["resourceVersion"]), default=None)
    if newest is None or newest.get("type") != "Warning":
        return None
    reason, message = str(newest.get("reason") or "Warning"), str(newest.get("message") or "")
    return PodWarning(reasons.named(reason[:_LONGEST_REASON]), message[:_LONGEST])


def ended(pod: Object, memory_peak: int | None = None) -> DriverEnd:
    """How the driver of an ended pod ended: from its own report, else from the kubelet.

    Args:
        pod: the pod.
        memory_peak: the largest working set in bytes that this driver has reported; None if it reported none.
    """
    state = _terminated(pod) or {}
    report = _words(termination_report(pod))
    code = state.get("exitCode")
    reason, message = _why(pod, state, report, memory_peak)
    started, finished = _time(state.get("startedAt")), _time(state.get("finishedAt"))
    return DriverEnd(
        attempt=attempt(pod),
        outcome=report.get("outcome"),
        exit_code=code,
        reason=reasons.named(reason[:_LONGEST_REASON]),
        message=message[:_LONGEST],
        ran_seconds=(finished - started).total_seconds() if started and finished else 0.0,
        finished=finished,
        queries=tuple(_queries(report.get("queries"))),
    )


def termination_report(pod: Object) -> Object:
    """What the driver container wrote before it ended, if that is a JSON object; else empty. User code in the container can write
    it too, so each field must be checked.
    """
    try:
        report = json.loads(str((_terminated(pod) or {}).get("message") or ""))
    except (ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}


def vanished(number: int, now: datetime) -> DriverEnd:
    """The end of a driver whose pod is gone without a final status: a lost node, or `kubectl delete --force`."""
    return DriverEnd(
        number, None, None, reasons.DRIVER_LOST, "the driver pod is gone without a final status", finished=now
    )


def _limit_advice(pod: Object, peak: int | None) -> str:
    """The driver's memory limit, its peak and the next limit to try, as the end of a message."""
    driver: Object = next(
        (each for each in pod["spec"].get("containers", ()) if each["name"] == DRIVER_CONTAINER), {}
    )
    limit = driver.get("resources", {}).get("limits", {}).get("memory")
    if limit is None:
        return "; it has none of its own, so the node had too little memory"
    most = "it reported no peak" if peak is None else f"the last peak that it reported is {memory_text(peak)}"
    return f" of {limit}; {most}. Set driver.resources.limits.memory to {larger_memory(str(limit))}"


def _why(pod: Object, state: Object, report: Object, peak: int | None) -> tuple[str, str]:
    status = pod.get("status", {})
    killed = state.get("reason") in (
        reasons.OOM_KILLED,
        reasons.CONTAINER_CANNOT_RUN,
        reasons.START_ERROR,
    ) or status.get("reason")
    if report.get("reason") and not killed:
        full = report["reason"] == reasons.OUT_OF_MEMORY
        advice = (
            f"; the container {DRIVER_CONTAINER!r} has a memory limit{_limit_advice(pod, peak)}"
            if full
            else ""
        )
        return str(report["reason"]), f"{report.get('message', '')}{advice}"
    if status.get("reason"):  # Evicted, Preempting, NodeShutdown, DeadlineExceeded
        return str(status["reason"]), str(status.get("message", ""))
    code = state.get("exitCode")
    if state.get("reason") == reasons.OOM_KILLED:
        return (
            reasons.OOM_KILLED,
            f"the container {DRIVER_CONTAINER!r} exceeded its memory limit{_limit_advice(pod, peak)}",
        )
    if code == 0:
        return str(report.get("outcome", reasons.COMPLETED)).capitalize(), str(report.get("message", ""))
    if code == _KILLED:
        return reasons.KILLED, "the container was killed with SIGKILL and reported no reason"
    reason = _OUTCOMES.get(code, state.get("reason") or reasons.ERROR) if code is not None else reasons.ERROR
    return str(reason), f"exit code {code}" if code is not None else "the container never started"


def _container(pod: Object) -> Object:
    for status in pod.get("status", {}).get("containerStatuses", ()):
        if status["name"] == DRIVER_CONTAINER:
            return dict(status)
    return {}


def _terminated(pod: Object) -> Object | None:
    terminated: Object | None = _container(pod).get("state", {}).get("terminated")
    return terminated


def _words(report: Object) -> Object:
    """The driver's report of its end; empty if it is none."""
    if report.get("outcome") not in OUTCOMES:
        return {}
    return {key: value for key, value in report.items() if key == "queries" or isinstance(value, str)}


def _queries(queries: Any) -> Iterator[tuple[str, int | None]]:
    for query in queries if isinstance(queries, list) else ():
        name, batch = (query.get("name"), query.get("batch")) if isinstance(query, dict) else (None, None)
        if isinstance(name, str) and _NAME.fullmatch(name):
            yield name, batch if type(batch) is int and batch >= -1 else None


def _time(text: str | None) -> datetime | None:
    return parsed(text) if text else None


def grace_seconds(pod: Mapping[str, Any]) -> float:
    """Seconds that the pod may drain: the grace period of its deletion, else that of its spec."""
    deletion = pod["metadata"].get("deletionGracePeriodSeconds")
    return float(pod["spec"].get("terminationGracePeriodSeconds", 0) if deletion is None else deletion)
