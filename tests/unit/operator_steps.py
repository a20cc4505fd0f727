"""Pipelines and driver pods as the operator's pure part is given them."""

import copy
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.observed_ages import with_ages
from mainstem_operator.decisions.plan import plan
from mainstem_operator.manifests import pods
from mainstem_operator.observed.ages import Ages, Moment
from mainstem_operator.observed.conditions import parsed, timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.rejections import Refusal
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision, validate


NOW: Final = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SETTINGS: Final = Settings(driver_image="registry.example/mainstem:1")
SPEC: Final[dict[str, Any]] = {
    "sources": [{"name": "ticks", "rate": {}}],
    "queries": [
        {"name": "a", "from": "ticks", "to": [{"name": "out", "console": {}}]},
        {"name": "b", "from": "ticks", "to": [{"name": "out", "console": {}}]},
    ],
    "checkpoints": {"location": "s3a://checkpoints/ticks"},
}
BOUNDED: Final[dict[str, Any]] = {
    "sources": [{"name": "lines", "files": {"path": "s3a://lake/in", "format": "text"}}],
    "queries": [
        {
            "name": "a",
            "from": "lines",
            "to": [{"name": "t", "delta": {"path": "s3a://lake/t"}}],
            "trigger": {"availableNow": True},
        }
    ],
    "checkpoints": {"location": "s3a://checkpoints/lines"},
}


def at(seconds: float) -> datetime:
    """A time, by seconds since `NOW`."""
    return NOW + timedelta(seconds=seconds)


def body(
    spec: Mapping[str, Any] = SPEC, status: Mapping[str, Any] | None = None, generation: int = 1, **more: Any
) -> dict[str, Any]:
    """A pipeline `ticks`; `more` goes into its spec, `deleted=True` deletes it now, a field that is None is left out."""
    deleted = more.pop("deleted", False)
    made: dict[str, Any] = {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {
            "name": "ticks",
            "namespace": "ns",
            "uid": "uid-1",
            "generation": generation,
            "resourceVersion": "1",
            "creationTimestamp": timestamp(NOW - timedelta(hours=1)),
        },
        "spec": {
            key: value for key, value in (copy.deepcopy(dict(spec)) | more).items() if value is not None
        },
    }
    if deleted:
        made["metadata"]["deletionTimestamp"] = timestamp(NOW)
    if status is not None:
        made["status"] = dict(status)
    return made


def revision(pipeline: Mapping[str, Any]) -> Revision:
    """Of a document that holds."""
    current = validate(pipeline).revision
    assert current is not None, validate(pipeline).message
    return current


def pod(
    pipeline: Mapping[str, Any],
    *,
    attempt: int = 1,
    phase: str = "Pending",
    state: Mapping[str, Any] | None = None,
    leaving: bool = False,
    run: str = "generation-1",
    settings: Settings = SETTINGS,
    **status: Any,
) -> dict[str, Any]:
    """The driver's pod of a pipeline, as a cluster has it."""
    made = pods.driver_pod(pipeline, revision(pipeline), settings, attempt=attempt, run=run)
    made["metadata"] |= {"uid": f"pod-{attempt}", "resourceVersion": str(attempt)}
    if leaving:
        made["metadata"]["deletionTimestamp"] = timestamp(NOW)
    containers = {"containerStatuses": [{"name": "driver", "state": dict(state)}]} if state else {}
    made["status"] = {"phase": phase, **containers, **status}
    return made


def running(pipeline: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A pod whose driver runs."""
    return pod(pipeline, phase="Running", state={"running": {"startedAt": timestamp(NOW)}}, **more)


def ended(
    pipeline: Mapping[str, Any],
    code: int,
    outcome: str | None = None,
    reason: str = "",
    *,
    started: float = -60,
    finished: float = 0,
    why: str = "",
    **more: Any,
) -> dict[str, Any]:
    """A pod whose driver has ended; `outcome` and `reason` in its own words, `why` in the kubelet's."""
    words = {"outcome": outcome, "reason": reason or (outcome or "").capitalize(), "message": "because"}
    state = {
        "exitCode": code,
        "startedAt": timestamp(at(started)),
        "finishedAt": timestamp(at(finished)),
        **({"reason": why} if why else {}),
        **({"message": json.dumps(words | {"queries": [{"name": "a", "batch": 7}]})} if outcome else {}),
    }
    return pod(pipeline, phase="Failed" if code else "Succeeded", state={"terminated": state}, **more)


def reported(*states: str, attempt: int = 1, seconds: float = 0, **query: Any) -> dict[str, Any]:
    """The driver's part of a status: one query for each state."""
    queries = [
        {"name": name, "state": state, "batch": 1, "rowsPerSecond": 0, "lag": 5} | query
        for name, state in zip("abcdefgh", states, strict=False)
    ]
    return {
        "queries": queries,
        "summary": {"queries": f"{len(states)}/{len(states)}", "lag": 5},
        "reported": {"attempt": attempt, "time": timestamp(at(seconds))},
    }


def observation(
    pipeline: Mapping[str, Any], its_pod: Mapping[str, Any] | None = None, **more: Any
) -> Observation:
    """One look of an operator that has watched all along; all clocks are in step."""
    given: dict[str, Any] = {"now": NOW, "settings": SETTINGS, "validation": validate(pipeline)} | more
    if isinstance(given.get("refused"), str):  # in the words of the API server
        given["refused"] = Refusal("PodRefused", given["refused"])
    observed = Observation(body=pipeline, pod=its_pod, **given)
    ages = Ages()
    if time := observed.status.get("reported", {}).get("time"):
        ages.notice("report", time, moment(parsed(time)))
    if time := pipeline["metadata"].get("deletionTimestamp"):
        ages.notice("deleting", True, moment(parsed(time)))
    return with_ages(observed, ages, moment(observed.now))


def moment(when: datetime) -> Moment:
    """By both clocks, which agree."""
    return Moment(when, when.timestamp())


def next_step(pipeline: Mapping[str, Any], its_pod: Mapping[str, Any] | None = None, **more: Any) -> Plan:
    """What is to be done."""
    return plan(observation(pipeline, its_pod, **more))


def condition(plan: Plan | Mapping[str, Any], kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition; `-` where there is none."""
    status = plan.status if isinstance(plan, Plan) else plan
    for entry in status.get("conditions", ()):
        if entry["type"] == kind:
            return entry["status"], entry["reason"], entry["message"]
    return "-", "-", "-"


def status(phase: str, pipeline: Mapping[str, Any], *, attempt: int = 1, **more: Any) -> dict[str, Any]:
    """The operator's part of a status, as it was written when this was the phase."""
    return {
        "observedGeneration": pipeline["metadata"]["generation"],
        "phase": phase,
        "conditions": [],
        "revision": revision(pipeline).name,
        "attempt": attempt,
        "restarts": 0,
        **more,
    }
