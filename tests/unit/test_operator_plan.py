"""The life of a pipeline by tables: an observation -> the plan."""

import math
import re
from typing import Any, Final

import pytest
from mainstem.reasons import REFUSED_CREDENTIALS
from mainstem_operator.decisions.actions import CHANGING_SECONDS, Plan, Start
from mainstem_operator.decisions.driver_deletion import CLEANUP_SECONDS
from mainstem_operator.decisions.starts import SOON_SECONDS
from mainstem_operator.observed.conditions import timestamp
from mainstem_operator.observed.pod_status import PodWarning, newest_warning, starts_silently, vanished
from mainstem_operator.settings import Settings
from unit.operator_steps import (
    BOUNDED,
    NOW,
    SETTINGS,
    SPEC,
    at,
    body,
    condition,
    ended,
    next_step,
    pod,
    reported,
    revision,
    running,
    status,
)


CHANGED = body(SPEC, timeZone="Europe/Zurich", generation=2)
BROKEN = {**SPEC, "queries": [{**SPEC["queries"][0], "from": "nothing"}]}


def phase(plan: Plan) -> Any:
    return plan.status.get("phase")


def reasons(plan: Plan) -> list[str]:
    return [event.reason for event in plan.events]


def after(plan: Plan, pipeline: dict[str, Any], **driver: Any) -> dict[str, Any]:
    """The pipeline once the plan's status is written."""
    return {**pipeline, "status": {**plan.status, **(plan.driver_part or {}), **driver}}


# -- start ----------------------------------------------------------------------------------------------------------


def test_a_new_pipeline_gets_its_first_driver_before_the_status_is_written() -> None:
    plan = next_step(body())
    assert (plan.status, plan.driver_part, plan.stop, plan.events) == ({}, None, False, ())
    assert plan.start == Start(revision(body()), attempt=1, run="generation-1")
    assert plan.requeue == SOON_SECONDS


def test_the_status_is_written_once_the_first_driver_exists() -> None:
    plan = next_step(body(), pod(body()))
    assert (phase(plan), plan.stop, plan.start) == ("Starting", False, None)
    assert plan.status["attempt"] == 1
    assert plan.status["revision"] == revision(body()).name
    assert plan.status["driver"] == {"pod": "ticks-driver"}
    assert plan.status["checkpoint"] == "s3a://checkpoints/ticks"
    assert plan.status["observedGeneration"] == 1
    assert condition(plan, "Ready")[:2] == ("False", "DriverStarting")
    assert condition(plan, "SpecValid")[:2] == ("True", "Accepted")
    assert reasons(plan) == ["DriverStarting"]


def test_a_first_driver_that_vanished_is_known_by_the_status_that_it_wrote() -> None:
    plan = next_step(body(status=reported("Running")))
    assert (phase(plan), plan.status["attempt"]) == ("Starting", 2)
    assert (plan.status["lastTermination"]["attempt"], plan.status["lastTermination"]["reason"]) == (
        1,
        "DriverLost",
    )


def test_a_planned_start_without_a_pod_is_carried_out_and_counted_once() -> None:
    pipeline = body(status=status("Suspended", body(), attempt=1))
    first = next_step(pipeline)
    assert (phase(first), first.status["attempt"]) == ("Starting", 2)
    again = next_step(after(first, pipeline))
    assert again.status == first.status
    assert again.start is not None
    assert again.start.attempt == 2
    assert again.events == ()


@pytest.mark.parametrize(
    ("code", "outcome", "policy", "want"),
    [
        (0, "completed", "OnFailure", "Completed"),
        (0, "completed", "Never", "Completed"),
        (4, "failed", "Never", "Failed"),
        (4, "failed", "OnFailure", "BackingOff"),
        (3, "failed", "OnFailure", "Failed"),
    ],
)
def test_a_first_driver_that_ended_before_the_first_status_is_evaluated_by_its_pod(
    code: int, outcome: str, policy: str, want: str
) -> None:
    """The operator was killed after it had made the pod."""
    pipeline = body(BOUNDED, reported("Completed"), restart={"policy": policy})
    plan = next_step(pipeline, ended(pipeline, code, outcome))
    assert (phase(plan), plan.start, plan.stop) == (want, None, want == "Completed")
    assert (plan.status["attempt"], plan.status["revision"]) == (1, revision(pipeline).name)
    assert plan.status["lastTermination"]["outcome"] == outcome
    rests = next_step(after(plan, pipeline), gone=ended(pipeline, code, outcome))
    assert (phase(rests), rests.start) == (want, None)


def test_a_changed_document_starts_after_a_first_driver_that_ended_before_the_first_status() -> None:
    pipeline = body(BOUNDED)
    over = ended(pipeline, 0, "completed")
    changed = body(BOUNDED, timeZone="Europe/Zurich", generation=2)
    goes = next_step(changed, over)
    assert (goes.stop, goes.start, goes.status["revision"]) == (True, None, revision(pipeline).name)
    starts = next_step(after(goes, changed), gone=over)
    assert starts.start is not None
    assert (starts.start.attempt, starts.start.run) == (2, "generation-2")


WAITING = [
    ({}, "DriverStarting", "the driver pod is starting"),
    (
        {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/1 nodes",
                }
            ]
        },
        "DriverUnschedulable",
        "0/1 nodes",
    ),
    (
        {"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}},
        "ImagePullBackOff",
        "no such image",
    ),
    (
        {"state": {"waiting": {"reason": "ContainerCreating"}}},
        "DriverStarting",
        "the driver pod is starting",
    ),
    ({"state": {"waiting": {"reason": "CreateContainerConfigError"}}}, "CreateContainerConfigError", ""),
]


@pytest.mark.parametrize(("given", "reason", "message"), WAITING)
def test_a_waiting_pod_shows_its_reason(given: dict[str, Any], reason: str, message: str) -> None:
    pipeline = body(status=status("Starting", body()))
    plan = next_step(pipeline, pod(pipeline, **given))
    assert (phase(plan), plan.stop, plan.start) == ("Starting", False, None)
    assert condition(plan, "DriverRunning") == condition(plan, "Ready") == ("False", reason, message)
    assert condition(plan, "QueriesActive")[0] == "-"


NO_SECRET = 'MountVolume.SetUp failed for volume "mainstem-secrets-0" : secret "nope" not found'


def event(version: int, reason: str, message: str = "", kind: str = "Warning") -> dict[str, Any]:
    return {
        "metadata": {"resourceVersion": str(version)},
        "type": kind,
        "reason": reason,
        "message": message,
    }


def test_the_newest_event_of_a_pod_is_its_warning() -> None:
    scheduled, mounts = event(9, "Scheduled", kind="Normal"), event(10, "FailedMount", NO_SECRET)
    assert newest_warning([mounts, scheduled]) == ("FailedMount", NO_SECRET)
    assert newest_warning([mounts, scheduled, event(11, "Pulling", kind="Normal")]) is None
    assert newest_warning([]) is None


def test_a_failed_mount_is_the_reason_of_a_waiting_pod() -> None:
    pipeline = body(status=status("Starting", body()))
    waits = pod(pipeline, state={"waiting": {"reason": "ContainerCreating"}})
    plan = next_step(pipeline, waits, driver_warning=PodWarning("FailedMount", NO_SECRET))
    assert condition(plan, "DriverRunning") == ("False", "FailedMount", NO_SECRET)
    assert (phase(plan), plan.status["reason"]) == ("Starting", "FailedMount")


def test_an_executor_whose_mount_fails_makes_the_pipeline_degraded() -> None:
    pipeline = body(status=status("Running", body()) | reported("Idle", "Idle"))
    plan = next_step(pipeline, running(pipeline), executors_warning=PodWarning("FailedMount", NO_SECRET))
    assert condition(plan, "Degraded") == ("True", "ExecutorsUnschedulable", f"FailedMount: {NO_SECRET}")


SILENT = [
    ({"state": {"waiting": {"reason": "ContainerCreating"}}}, True),
    ({}, True),
    ({"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "PodInitializing"}}}]}, True),
    ({"initContainerStatuses": [{"name": "i", "state": {"running": {}}}]}, False),
    ({"state": {"waiting": {"reason": "ErrImagePull"}}}, False),
    ({"phase": "Running", "state": {"running": {}}}, False),
    ({"leaving": True}, False),
    ({"node": None}, False),
]


@pytest.mark.parametrize(("given", "silent"), SILENT)
def test_events_are_read_only_of_pods_that_wait_without_a_reason(given: dict[str, Any], silent: bool) -> None:
    node = given.pop("node", "node-1")
    waits = pod(body(), **given)
    if node:
        waits["spec"]["nodeName"] = node
    assert starts_silently(waits) is silent


def test_a_failed_init_container_shows_its_reason() -> None:
    pipeline = body(status=status("Starting", body()))
    given = {"name": "fetch", "state": {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}}
    waits = pod(pipeline, state={"waiting": {"reason": "PodInitializing"}}, initContainerStatuses=[given])
    assert condition(next_step(pipeline, waits), "Ready") == ("False", "ImagePullBackOff", "no such image")


def test_a_long_message_of_the_scheduler_is_truncated() -> None:
    pipeline = body(status=status("Starting", body()))
    words = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "U" * 300,
        "message": "0/5000 nodes; " * 1000,
    }
    _, reason, message = condition(next_step(pipeline, pod(pipeline, conditions=[words])), "DriverRunning")
    assert (len(reason), len(message)) == (128, 4096)


# -- running --------------------------------------------------------------------------------------------------------

RUNNING = [
    # the driver's report -> phase, Ready, its reason, DataFlowing, Degraded, DataStalled
    ({}, "Starting", "Unknown", "NotYetReported", "Unknown", "Unknown", "Unknown"),
    (reported("Running", "Running", attempt=9), "Starting", "Unknown", "NotYetReported", "Unknown", "Unknown", "Unknown"),
    (reported("Starting", "Running"), "Starting", "False", "QueriesStarting", "Unknown", "False", "False"),
    (reported("Starting", "Waiting"), "Starting", "False", "QueriesStarting", "Unknown", "False", "False"),
    (reported("Waiting", "Running"), "Starting", "False", "QueryWaiting", "Unknown", "False", "False"),
    (
        reported("Waiting", "Running", reason="WriterNotEnded"),
        "Running", "True", "Running", "Unknown", "False", "False",
    ),
    (reported("Waiting", "Failed"), "Degraded", "False", "QueryFailed", "Unknown", "True", "False"),
    (reported("Idle", "Idle"), "Running", "True", "Running", "Unknown", "False", "False"),
    (reported("Running", "Idle", rowsPerSecond=9), "Running", "True", "Running", "True", "False", "False"),
    (reported("Completed", "Running"), "Running", "True", "Running", "Unknown", "False", "False"),
    (
        reported("Failed", "Running", reason="SinkRefused", message="no"),
        "Degraded", "False", "SinkRefused", "Unknown", "True", "False",
    ),
    (reported("Restarting", "Running"), "Degraded", "False", "QueryRestarting", "Unknown", "True", "False"),
    (reported("Running", "Running", seconds=-181), "Degraded", "True", "Running", "Unknown", "True", "False"),
    (
        reported("Running", "Idle", lastProgressTime="2026-03-01T11:49:59Z"),
        "Running", "True", "Running", "Unknown", "False", "True",
    ),
    (  # batches of five minutes, as real-time ones are: this one began at 11:54:59
        reported("Running", "Idle", lastProgressTime="2026-03-01T11:49:59Z", batchDurationMs=300_000),
        "Running", "True", "Running", "Unknown", "False", "False",
    ),
    (
        reported("Running", "Idle", lastProgressTime="2026-03-01T11:39:59Z", batchDurationMs=300_000),
        "Running", "True", "Running", "Unknown", "False", "True",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("driver", "want", "ready", "reason", "flowing", "degraded", "stalled"), RUNNING)
def test_a_running_driver_is_evaluated_by_its_report(
    driver: dict[str, Any], want: str, ready: str, reason: str, flowing: str, degraded: str, stalled: str
) -> None:
    pipeline = body(status=status("Starting", body()) | driver)
    plan = next_step(pipeline, running(pipeline))
    assert (phase(plan), plan.stop, plan.start) == (want, False, None)
    assert condition(plan, "Ready")[:2] == (ready, reason)
    assert condition(plan, "DriverRunning")[0] == "True"
    assert [condition(plan, name)[0] for name in ("DataFlowing", "Degraded", "DataStalled")] == [
        flowing,
        degraded,
        stalled,
    ]
    assert plan.requeue is not None


@pytest.mark.parametrize(
    ("driver", "reason", "message"),
    [
        (reported("Idle", "Completed", lag=0), "Idle", "no query has new data to read"),
        (reported("Waiting", "Failed", lag=0), "Idle", "no query has new data to read"),
        (reported("Idle", lag=7612), "RowsPending", "a is Idle; 7,612 records are not read yet"),
        (
            reported(
                "Running", lag=7612, behindSince="2026-03-01T11:50:00Z", lastCommitTime="2026-03-01T11:50:02Z"
            ),
            "RowsPending",
            "7,612 records are not read yet; behind since 2026-03-01T11:50:00Z; last commit at 2026-03-01T11:50:02Z",
        ),
        (reported("Running", "Starting", lag=1, behindSince=""), "RowsPending", "2 records are not read yet"),
        (reported("Running", "Idle", lag=0), "RowsPending", "lately: a is Running"),
        (reported("Starting", "Idle", lag=0), "RowsPending", "lately: a is Starting"),
        (reported("Running", "Idle", lag=7612, rowsPerSecond=3), "RowsRead", "at least one query reads rows"),
    ],
)
def test_data_is_idle_only_without_lag_and_without_a_batch(
    driver: dict[str, Any], reason: str, message: str
) -> None:
    pipeline = body(status=status("Starting", body()) | driver)
    shown = condition(next_step(pipeline, running(pipeline)), "DataFlowing")
    assert shown[1] == reason
    assert shown[2].endswith(message)


@pytest.mark.parametrize(
    ("driver", "reason", "message"),
    [
        (
            reported("Running", seconds=-181),
            "DriverNotReporting",
            "has not reported since 2026-03-01T11:56:59Z",
        ),
        (reported("Failed", reason="SinkRefused", message="no"), "QueryFailed", "a: no"),
        (reported("Restarting"), "QueryRestarting", "a: Restarting"),
        (reported("Restarting", reason="PythonFailed", message="no"), "QueryRestarting", "a: no"),
        *(
            (reported("Restarting", "Restarting", reason=refused, message="no"), refused, "a: no; b: no")
            for refused in REFUSED_CREDENTIALS
        ),
        *(
            (
                reported(state, reason="BrokerUnreachable", message="no answer"),
                "BrokerUnreachable",
                "a: no answer",
            )
            for state in ("Running", "Waiting", "Restarting", "Starting")
        ),
        (
            reported("Running")
            | {"summary": {"queries": "1/1", "executorsMessage": "0/3 nodes are available"}},
            "ExecutorsUnschedulable",
            "0/3 nodes are available",
        ),
        (
            reported("Running")
            | {"summary": {"executorsReason": "ExecutorOOMKilled", "executorsMessage": "limit of 2Gi"}},
            "ExecutorOOMKilled",
            "limit of 2Gi",
        ),
    ],
)
def test_degraded_has_a_reason(driver: dict[str, Any], reason: str, message: str) -> None:
    pipeline = body(status=status("Running", body()) | driver)
    plan = next_step(pipeline, running(pipeline))
    assert condition(plan, "Degraded")[:2] == ("True", reason)
    assert message in condition(plan, "Degraded")[2]
    assert reason in reasons(plan)
    if reason in REFUSED_CREDENTIALS:
        assert condition(plan, "QueriesActive") == ("False", reason, message)
        assert (phase(plan), plan.status["reason"]) == ("Degraded", reason)


def test_a_failed_query_beside_healthy_ones_does_not_look_like_a_start() -> None:
    driver = reported("Failed", "Running", "Running", reason="SinkRefused", message="no")
    pipeline = body(status=status("Starting", body()) | driver)
    plan = next_step(pipeline, running(pipeline))
    assert (phase(plan), plan.status["reason"]) == ("Degraded", "SinkRefused")
    assert condition(plan, "Stalled") == ("True", "SinkRefused", "a: no")
    assert [(event.type, event.reason) for event in plan.events] == [("Warning", "QueryFailed")]


def test_a_restarting_query_is_degraded_and_running_again_after_it() -> None:
    pipeline = body(status=status("Running", body()) | reported("Restarting", "Running"))
    plan = next_step(pipeline, running(pipeline))
    assert (phase(plan), plan.status["reason"]) == ("Degraded", "QueryRestarting")
    assert condition(plan, "Ready")[:2] == ("False", "QueryRestarting")
    assert condition(plan, "Reconciling")[:2] == ("True", "QueryRestarting")
    starts = next_step(after(plan, pipeline, **reported("Starting", "Running")), running(pipeline))
    assert (phase(starts), starts.status["reason"]) == ("Running", "QueriesStarting")


@pytest.mark.parametrize(
    ("driver", "reason"),
    [
        (reported("Running", seconds=-181), "DriverNotReporting"),
        (reported("Running", lastProgressTime="2026-03-01T11:00:00Z"), "NoProgress"),
        (reported("Running"), "Running"),
    ],
)
def test_a_ready_pipeline_that_is_impaired_has_the_reason_in_its_status(
    driver: dict[str, Any], reason: str
) -> None:
    pipeline = body(status=status("Running", body()) | driver)
    plan = next_step(pipeline, running(pipeline))
    assert condition(plan, "Ready")[0] == "True"
    assert plan.status["reason"] == reason


def test_numbers_of_the_previous_driver_are_removed() -> None:
    pipeline = body(status=status("Starting", body(), attempt=2) | reported("Running", "Failed", attempt=1))
    plan = next_step(pipeline, running(pipeline, attempt=2))
    assert plan.driver_part is not None
    assert plan.driver_part["summary"] == {"queries": "1 failed, 1 stopped"}
    assert [(query["name"], query["state"]) for query in plan.driver_part["queries"]] == [
        ("a", "Stopped"),
        ("b", "Failed"),
    ]
    assert all("lag" not in query and "rowsPerSecond" not in query for query in plan.driver_part["queries"])


# -- a driver that has never run --------------------------------------------------------------------------------------

MENDED = SETTINGS.model_copy(update={"driver_image": "registry.example/mainstem:2"})
NEVER_RAN = [
    {},
    {"state": {"waiting": {"reason": "ImagePullBackOff"}}},
    {"state": {"waiting": {"reason": "CreateContainerConfigError"}}},
    {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
]


@pytest.mark.parametrize("given", NEVER_RAN)
@pytest.mark.parametrize(
    "settings",
    [
        MENDED,
        SETTINGS.model_copy(update={"image_pull_policy": "Never"}),
        SETTINGS.model_copy(update={"image_pull_secrets": ("s",)}),
    ],
)
def test_a_driver_that_never_ran_is_replaced_when_settings_change(
    given: dict[str, Any], settings: Settings
) -> None:
    pipeline = body(status=status("Starting", body()))
    waiting = pod(pipeline, **given)
    assert next_step(pipeline, waiting).stop is False
    goes = next_step(pipeline, waiting, settings=settings)
    assert (phase(goes), goes.stop) == ("Draining", True)
    assert condition(goes, "DriverRunning")[1] == "Restarting"
    pipeline = after(goes, pipeline)
    starts = next_step(pipeline, settings=settings)
    assert starts.start is not None
    assert (starts.start.attempt, starts.start.run, starts.status["restarts"]) == (2, "generation-1", 0)
    again = next_step(
        after(starts, pipeline), pod(pipeline, attempt=2, settings=settings, **given), settings=settings
    )
    assert (phase(again), again.stop) == ("Starting", False), "replaced once"


def test_a_running_or_reporting_driver_is_not_replaced_when_settings_change() -> None:
    pipeline = body(status=status("Starting", body()))
    assert not next_step(pipeline, running(pipeline), settings=MENDED).stop
    pipeline = body(status=status("Starting", body()) | reported("Starting"))
    assert not next_step(pipeline, pod(pipeline), settings=MENDED).stop, (
        "its driver reported before its container"
    )


def test_a_waiting_driver_is_not_replaced_for_admission_or_for_an_edit_without_effect() -> None:
    pipeline = body(status=status("Starting", body()))
    waiting = pod(pipeline)
    waiting["spec"]["containers"].append({"name": "istio-proxy", "image": "proxy"})
    waiting["spec"]["containers"][0]["image"] = "mirror.example/mainstem:1"
    waiting["metadata"]["labels"]["injected"] = "yes"
    edited = {**pipeline, "metadata": {**pipeline["metadata"], "generation": 7}}
    assert not next_step(edited, waiting).stop
    del waiting["metadata"]["annotations"]["mainstem.dev/template-hash"]  # an operator of before made it
    assert not next_step(pipeline, waiting, settings=MENDED).stop


# -- what hangs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "stalled"),
    [
        ({"startedAt": "2026-03-01T11:49:59Z"}, "True"),
        ({"startedAt": "2026-03-01T11:50:01Z"}, "False"),
        ({"startedAt": "2026-03-01T11:49:59Z", "lastProgressTime": "2026-03-01T11:00:00Z"}, "True"),
        ({}, "False"),
    ],
)
@pytest.mark.parametrize("state", ["Starting", "Restarting"])
def test_a_first_batch_that_never_ends_is_stalled(state: str, query: dict[str, Any], stalled: str) -> None:
    pipeline = body(status=status("Starting", body()) | reported(state, **query))
    plan = next_step(pipeline, running(pipeline))
    assert condition(plan, "DataStalled")[0] == stalled
    if stalled == "True":
        assert condition(plan, "DataStalled")[1:] == (
            "NoProgress",
            "no batch within 10 minutes after the start: a",
        )
        assert "NoProgress" in reasons(plan)
        assert plan.status["reason"] == ("NoProgress" if state == "Starting" else "QueryRestarting")


@pytest.mark.parametrize("state", ["Waiting", "Idle", "Completed", "Failed"])
def test_a_query_without_a_first_batch_is_not_stalled(state: str) -> None:
    pipeline = body(status=status("Running", body()) | reported(state, startedAt="2026-03-01T11:00:00Z"))
    assert condition(next_step(pipeline, running(pipeline)), "DataStalled")[0] == "False"


GRACE: Final = 90
"""Seconds of a driver's drain, by the default of the document."""


def leaves(pipeline: dict[str, Any], node: str = "node-1", grace: int = GRACE) -> dict[str, Any]:
    """A driver's pod that is being deleted since `NOW`."""
    leaving_pod = running(pipeline, leaving=True)
    leaving_pod["metadata"] |= {
        "namespace": "ns",
        "deletionTimestamp": timestamp(at(grace)),
        "deletionGracePeriodSeconds": grace,
    }
    leaving_pod["spec"]["nodeName"] = node
    return leaving_pod


def drained_by_a_lost_node(**spec: Any) -> dict[str, Any]:
    """A pipeline whose driver pod Kubernetes has deleted at `NOW`."""
    pipeline = body(status=status("Running", body()) | reported("Running", "Running"), **spec)
    drains = next_step(pipeline, leaves(pipeline))
    assert condition(drains, "DriverRunning")[1] == "Draining"
    return after(drains, pipeline)


LOCAL: Final[dict[str, Any]] = {
    "checkpoints": {"location": "/checkpoints"},
    "driver": {
        "template": {
            "spec": {
                "containers": [
                    {"name": "driver", "volumeMounts": [{"name": "c", "mountPath": "/checkpoints"}]}
                ],
                "volumes": [{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}],
            }
        }
    },
}
UNCONDITIONAL: Final[dict[str, Any]] = {
    "checkpoints": {"location": "s3a://checkpoints/ticks", "requireConditionalWrites": False}
}


def test_the_pod_of_a_silent_node_is_deleted_by_force_and_the_next_driver_starts() -> None:
    pipeline = drained_by_a_lost_node()
    waits = next_step(pipeline, leaves(pipeline), now=at(GRACE + 29))
    assert (condition(waits, "DriverRunning")[1], waits.stop, waits.requeue) == ("Draining", False, 1)
    silent = next_step(pipeline, leaves(pipeline), now=at(GRACE + 30))
    assert (phase(silent), silent.start, silent.stop, silent.force) == ("Draining", None, True, True)
    assert condition(silent, "Ready")[:2] == ("False", "NodeSilent")
    assert "The operator deletes the pod by force" in condition(silent, "Ready")[2]
    assert "node-1" in condition(silent, "Ready")[2]
    assert [(event.type, event.reason) for event in silent.events] == [("Warning", "NodeSilent")]
    pipeline = after(silent, pipeline, **reported("Running", "Running"))
    following = next_step(pipeline, None, now=at(GRACE + 31))
    assert following.start is not None
    assert following.start.attempt == 2
    assert following.status["restarts"] == 0, "a lost node is no failure of the pipeline"
    assert following.status["lastTermination"]["reason"] == "DriverLost"


def test_a_pod_that_finalizers_keep_is_deleted_by_force_only_once() -> None:
    pipeline = drained_by_a_lost_node()
    pipeline = after(next_step(pipeline, leaves(pipeline), now=at(GRACE + 30)), pipeline)
    kept = leaves(pipeline, grace=0)
    kept["metadata"]["finalizers"] = ["example.org/log"]
    again = next_step(pipeline, kept, now=at(GRACE + 300))
    assert (again.stop, again.start) == (False, None)
    assert "its finalizers keep it: example.org/log" in condition(again, "Ready")[2]


@pytest.mark.parametrize("spec", [LOCAL, UNCONDITIONAL], ids=["volume", "unconditional"])
def test_without_a_fence_in_the_store_a_silent_node_waits_for_a_person(spec: dict[str, Any]) -> None:
    pipeline = drained_by_a_lost_node(**spec)
    silent = next_step(pipeline, leaves(pipeline), now=at(GRACE + 31))
    assert (phase(silent), silent.start, silent.stop, silent.force) == ("Draining", None, False, False)
    assert condition(silent, "Ready")[:2] == ("False", "NodeSilent")
    assert "kubectl delete pod ticks-driver --namespace ns --force" in condition(silent, "Ready")[2]
    pipeline = after(silent, pipeline)
    again = next_step(pipeline, leaves(pipeline), now=at(GRACE + 60))
    assert (again.status, again.events) == (silent.status, ())


@pytest.mark.parametrize("ahead", [3600, -3600])
def test_a_clock_ahead_or_behind_ends_no_drain_early(ahead: int) -> None:
    """The grace is the API server's time: the operator waits by its own clock as well."""
    pipeline = body(status=status("Running", body()) | reported("Running", "Running"))
    draining = next_step(pipeline, leaves(pipeline), now=at(ahead))
    assert condition(draining, "DriverRunning")[1] == "Draining"
    pipeline = after(draining, pipeline)
    early = next_step(pipeline, leaves(pipeline), now=at(ahead + GRACE + 29))
    assert (condition(early, "DriverRunning")[1], early.stop) == ("Draining", False)
    late = next_step(pipeline, leaves(pipeline), now=at(ahead + GRACE + 31))
    assert late.force == (ahead > 0)


def test_a_fenced_driver_is_no_failure() -> None:
    pipeline = body(status=status("Running", body(), restarts=3) | reported("Running", "Running"))
    fenced = next_step(pipeline, ended(pipeline, 8, "failed", "Fenced"), now=at(1))
    assert fenced.status["restarts"] == 3
    assert condition(fenced, "DriverRunning")[1] == "Fenced"


def test_a_fenced_driver_is_followed_after_a_pause() -> None:
    pipeline = body(status=status("Running", body()) | reported("Running", "Running"))
    fenced = next_step(pipeline, ended(pipeline, 8, "failed", "Fenced"), now=at(1))
    assert (phase(fenced), fenced.start, fenced.status["restarts"]) == ("BackingOff", None, 0)
    assert fenced.status["lastFailure"]["class"] == "Infrastructure"
    assert 0 < (fenced.requeue or 0) <= 5


# -- restart ------------------------------------------------------------------------------------------------------


def restarted(pipeline: dict[str, Any], nonce: int | str = 7) -> dict[str, Any]:
    """The pipeline once somebody asks for a new driver."""
    return {**pipeline, "spec": {**pipeline["spec"], "restartNonce": nonce}}


def test_a_restart_request_drains_then_starts_once() -> None:
    old = body(status=status("Running", body()) | reported("Idle", "Idle"))
    new = restarted(old)
    drains = next_step(new, running(old))
    assert (phase(drains), drains.stop) == ("Draining", True)
    assert condition(drains, "Ready")[:2] == ("False", "Restarting")
    over = ended(old, 0, "drained")
    new = after(next_step(new, over), new)
    starts = next_step(new, gone=over)
    assert starts.start == Start(revision(new), attempt=2, run="generation-1")
    assert starts.status["restartNonce"] == "7"
    new = after(starts, new, **reported("Idle", "Idle", attempt=2))
    assert phase(next_step(new, running(new, attempt=2))) == "Running", "that request is answered"
    assert phase(next_step(restarted(new, "later"), running(new, attempt=2))) == "Draining"
    same = restarted(new, "7")
    assert phase(next_step(same, running(new, attempt=2))) == "Running", (
        "the API server has numbers and texts"
    )
    assert phase(next_step(restarted(new, 0), running(new, attempt=2))) == "Draining", "also a lower number"
    without = {**new, "spec": old["spec"]}
    assert phase(next_step(without, running(new, attempt=2))) == "Running", "to take it back asks for nothing"


def test_a_restart_nonce_is_no_part_of_the_revision() -> None:
    assert revision(restarted(body())).name == revision(body()).name
    assert "restartNonce" not in revision(restarted(body())).text


def test_a_restart_of_a_suspended_pipeline_starts_nothing_until_it_is_resumed() -> None:
    pipeline = body(status=status("Suspended", body(), restartNonce="6"), suspend=True)
    rests = next_step(restarted(pipeline))
    assert (phase(rests), rests.start) == ("Suspended", None)
    assert rests.status["restartNonce"] == "6", "no driver has the new one yet"
    resumed = after(rests, restarted(body(generation=2)))
    starts = next_step(resumed)
    assert starts.start is not None
    resumed = after(starts, resumed, **reported("Idle", "Idle", attempt=2))
    assert phase(next_step(resumed, running(resumed, attempt=2))) == "Running", "one start answers both"


def test_a_restart_between_two_runs_of_a_schedule_waits_for_the_next_run() -> None:
    pipeline = restarted(scheduled("2026-03-01T03:00:00Z", "Scheduled"))
    waits = next_step(pipeline, gone=ended(pipeline, 0, "completed"))
    assert (phase(waits), waits.start) == ("Scheduled", None)


def test_a_restart_beside_an_invalid_document_starts_the_document_that_ran() -> None:
    old = body(status=status("Running", body()) | reported("Idle", "Idle"))
    broken = restarted({**body(BROKEN, generation=2), "status": old["status"]})
    drains = next_step(broken, running(old), current=revision(old))
    assert (phase(drains), drains.stop) == ("Draining", True)
    starts = next_step(after(drains, broken), gone=ended(old, 0, "drained"), current=revision(old))
    assert starts.start is not None
    assert starts.start.revision.name == revision(old).name


@pytest.mark.parametrize("kind", ["failed for good", "backing off", "completed", "failed query"])
def test_a_restart_request_starts_a_finished_pipeline(kind: str) -> None:
    if kind == "failed query":
        pipeline = body(status=status("Degraded", body()) | reported("Failed", "Idle"))
        assert next_step(restarted(pipeline), running(pipeline)).stop
        return
    bounded = kind == "completed"
    pipeline = body(BOUNDED if bounded else SPEC, status=None)
    pipeline["status"] = status("Running", pipeline)
    over = (
        ended(pipeline, 0, "completed")
        if bounded
        else ended(pipeline, 3 if kind == "failed for good" else 4, "failed")
    )
    rests = after(next_step(pipeline, over), pipeline)
    assert next_step(rests, gone=over, now=at(1)).start is None
    starts = next_step(restarted(rests), gone=over, now=at(1))
    assert starts.start is not None
    assert (starts.start.revision, starts.start.attempt) == (revision(restarted(rests)), 2)
    assert starts.status["restarts"] == 0


def test_a_pipeline_with_a_nonce_from_the_start_is_started_once() -> None:
    pipeline = restarted(body())
    assert next_step(pipeline).start == Start(revision(pipeline), attempt=1, run="generation-1")
    starting = next_step(pipeline, pod(pipeline))
    assert (phase(starting), starting.status["restartNonce"]) == ("Starting", "7")


# -- change ---------------------------------------------------------------------------------------------------------


def test_a_change_drains_then_removes_then_starts() -> None:
    old = body(status=status("Running", body(), restarts=3) | reported("Running", "Running"))
    its_pod = running(old)
    new = {**CHANGED, "status": old["status"]}

    drains = next_step(new, its_pod)
    assert (phase(drains), drains.stop, drains.start) == ("Draining", True, None)
    assert condition(drains, "Ready")[:2] == ("False", "Updating")
    assert drains.status["revision"] == revision(old).name, "what runs is the old one"
    assert reasons(drains) == ["Draining"]

    new = after(drains, new, **reported("Running", "Running"))
    draining = next_step(new, running(old, leaving=True))
    assert (phase(draining), draining.stop) == ("Draining", False)
    assert condition(draining, "DriverRunning")[1] == "Updating"
    assert draining.status == drains.status
    assert draining.events == ()

    new = after(draining, new, **reported("Running", "Running"))
    over = ended(old, 0, "drained")
    removed = next_step(new, over)
    assert (phase(removed), removed.stop, removed.start) == ("Draining", True, None)
    assert removed.status["lastTermination"] == {
        "attempt": 1,
        "outcome": "drained",
        "exitCode": 0,
        "reason": "Drained",
        "message": "because",
        "finishedAt": "2026-03-01T12:00:00Z",
        "queries": [{"name": "a", "batch": 7}],
    }
    assert removed.driver_part is not None
    assert removed.driver_part["summary"] == {"queries": "2 stopped"}

    new = after(removed, new)
    starts = next_step(new, gone=over)
    assert (phase(starts), starts.stop) == ("Starting", False)
    assert starts.start is not None
    assert (starts.start.attempt, starts.start.revision.name) == (2, revision(CHANGED).name)
    assert (starts.status["restarts"], starts.status["revision"]) == (0, revision(CHANGED).name)
    assert starts.status["observedGeneration"] == 2


def test_suspend_and_schedule_edits_restart_no_driver() -> None:
    pipeline = body(status=status("Running", body()) | reported("Idle", "Idle"))
    assert (
        phase(next_step({**pipeline, "spec": {**pipeline["spec"], "suspend": False}}, running(pipeline)))
        == "Running"
    )
    bounded = body(BOUNDED, status=status("Running", body(BOUNDED)) | reported("Running"))
    scheduled = {**bounded, "spec": {**bounded["spec"], "schedule": {"cron": "0 3 * * *"}}}
    assert phase(next_step(scheduled, running(bounded))) == "Running"


@pytest.mark.parametrize("kind", ["refused by the rules", "refused by the server"])
def test_a_broken_change_leaves_the_running_driver_alone(kind: str) -> None:
    old = body(status=status("Running", body()) | reported("Idle", "Idle"))
    broken = kind == "refused by the rules"
    new = body(BROKEN if broken else CHANGED["spec"], old["status"], generation=2)
    plan = next_step(new, running(old), current=revision(old), refused=None if broken else "quota exceeded")
    assert (phase(plan), plan.stop, plan.start) == ("Running", False, None)
    assert condition(plan, "SpecValid")[:2] == ("False", "UnknownRelation" if broken else "PodRefused")
    assert condition(plan, "Ready")[:2] == condition(plan, "SpecValid")[:2]
    assert condition(plan, "QueriesActive")[0] == "True"
    assert plan.status["observedGeneration"] == 2
    assert plan.status["revision"] == revision(old).name
    assert len([event for event in plan.events if event.type == "Warning"]) == 1
    again = next_step(
        after(plan, new, **reported("Idle", "Idle")),
        running(old),
        current=revision(old),
        refused=None if broken else "quota exceeded",
    )
    assert again.status == plan.status
    assert again.events == ()


def test_the_running_revision_restarts_under_an_invalid_document() -> None:
    old = body(status=status("Running", body()) | reported("Idle", "Idle"))
    new = body(BROKEN, old["status"], generation=2)
    dead = ended(old, 4, "failed", "SinkRefused")
    waits = next_step(new, dead, current=revision(old))
    assert (phase(waits), waits.requeue) == ("BackingOff", 5.0)
    assert condition(waits, "SpecValid")[0] == "False"
    new = after(waits, new)
    assert next_step(new, dead, current=revision(old), now=at(5)).stop
    starts = next_step(new, gone=dead, current=revision(old), now=at(5))
    assert starts.start is not None
    assert (starts.start.revision.name, starts.start.attempt) == (revision(old).name, 2)


def test_an_invalid_document_that_never_ran_is_rejected_and_not_retried() -> None:
    plan = next_step(body(BROKEN))
    assert (phase(plan), plan.start, plan.requeue) == ("Invalid", None, None)
    assert condition(plan, "SpecValid")[:2] == ("False", "UnknownRelation")
    assert "spec.queries[0].from" in condition(plan, "Ready")[2]
    assert {(event.type, event.reason) for event in plan.events} == {
        ("Warning", "Invalid"),
        ("Warning", "UnknownRelation"),
    }


def test_a_rejected_pod_is_retried() -> None:
    plan = next_step(body(), refused="exceeded quota: pods")
    assert (phase(plan), plan.start, plan.requeue) == ("Failed", None, 60.0)
    assert condition(plan, "Ready") == ("False", "PodRefused", "exceeded quota: pods")
    starts = next_step(after(plan, body()))
    assert starts.start is not None


# -- suspend, resume ------------------------------------------------------------------------------------------------


def test_suspend_drains_and_resume_resets_the_restarts() -> None:
    pipeline = body(
        status=status("Running", body(), restarts=2) | reported("Running", "Running"), suspend=True
    )
    drains = next_step(pipeline, running(body()))
    assert (phase(drains), drains.stop) == ("Draining", True)
    assert condition(drains, "Ready")[1] == "Suspending"
    pipeline = after(drains, pipeline, **reported("Running", "Running"))
    over = ended(body(), 0, "drained", leaving=True)
    rests = next_step(pipeline, over)
    assert (phase(rests), rests.stop, rests.start) == ("Suspended", False, None), "deleted already"
    assert rests.status["lastTermination"]["outcome"] == "drained"
    pipeline = after(rests, pipeline)
    rests = next_step(pipeline, gone=over)
    assert (phase(rests), rests.events) == ("Suspended", ())
    assert "driver" not in rests.status
    pipeline = after(rests, pipeline)
    pipeline["spec"]["suspend"] = False
    starts = next_step(pipeline)
    assert starts.start is not None
    assert (starts.start.attempt, starts.status["restarts"]) == (2, 0)


@pytest.mark.parametrize("code", [0, 6, 137])
@pytest.mark.parametrize("policy", ["OnFailure", "Never"])
def test_a_resume_while_draining_waits_for_no_backoff(code: int, policy: str) -> None:
    spec = {**SPEC, "restart": {"policy": policy}}
    pipeline = body(spec, status("Draining", body(spec)))
    over = ended(pipeline, code, {0: "drained", 6: "interrupted"}.get(code))
    goes = next_step(pipeline, over)
    assert (goes.stop, goes.start) == (True, None)
    starts = next_step(after(goes, pipeline), gone=over)
    assert starts.start is not None
    assert starts.status["restarts"] == 0


def test_a_pipeline_suspended_before_its_first_run_starts_nothing() -> None:
    plan = next_step(body(suspend=True))
    assert (phase(plan), plan.start, plan.stop) == ("Suspended", None, False)
    assert "attempt" not in plan.status


def test_resume_after_a_failure_starts_at_once() -> None:
    pipeline = body(status=status("BackingOff", body(), restarts=4), suspend=True)
    over = ended(pipeline, 4, "failed")
    rests = next_step(pipeline, over)
    assert (phase(rests), rests.stop) == ("Suspended", True)
    pipeline = after(rests, pipeline)
    pipeline["spec"]["suspend"] = False
    starts = next_step(pipeline, gone=over)
    assert starts.start is not None
    assert starts.status["restarts"] == 0


# -- ends -----------------------------------------------------------------------------------------------------------

ENDS = [
    # exit code, outcome, the driver's reason, the kubelet's -> phase, reason
    (0, None, "", "Completed", "BackingOff", "Completed"),
    (
        0,
        "completed",
        "",
        "",
        "BackingOff",
        "Completed",
    ),  # an unbounded pipeline that is done is a mistake somewhere
    (1, None, "", "Error", "BackingOff", "Error"),
    (1, "failed", "JavaVirtualMachineDied", "Error", "BackingOff", "JavaVirtualMachineDied"),
    (2, None, "", "Error", "BackingOff", "Error"),
    (3, "failed", "SchemaMismatch", "Error", "Failed", "SchemaMismatch"),
    (3, None, "", "Error", "Failed", "SpecInvalid"),
    (4, "failed", "QueryFailed", "Error", "BackingOff", "QueryFailed"),
    (5, "failed", "StoreUnreachable", "Error", "BackingOff", "StoreUnreachable"),
    (6, "interrupted", "Interrupted", "Error", "BackingOff", "Interrupted"),
    (137, None, "", "OOMKilled", "BackingOff", "OOMKilled"),
    (137, None, "", "Error", "BackingOff", "Killed"),
    (137, "failed", "QueryFailed", "OOMKilled", "BackingOff", "OOMKilled"),
    (128, None, "", "StartError", "BackingOff", "StartError"),
]


@pytest.mark.parametrize(("code", "outcome", "reason", "why", "want", "message"), ENDS)
def test_the_exit_of_a_driver_decides_the_next_phase(
    code: int, outcome: str | None, reason: str, why: str, want: str, message: str
) -> None:
    pipeline = body(status=status("Running", body()) | reported("Running", "Idle"))
    plan = next_step(pipeline, ended(pipeline, code, outcome, reason, why=why))
    assert (phase(plan), plan.start, plan.stop) == (want, None, False), "the pod stays, for its log"
    assert condition(plan, "DriverRunning")[:2] == ("False", message)
    assert plan.status["lastTermination"]["reason"] == message
    assert plan.status["lastTermination"]["exitCode"] == code
    kind = plan.status["lastFailure"]["class"]
    assert plan.status["restarts"] == (0 if kind == "Infrastructure" else 1)
    assert plan.driver_part is not None
    assert plan.requeue == (5.0 if want == "BackingOff" else None)
    assert condition(plan, "SpecValid")[0] == ("False" if code == 3 else "True")
    assert ("Warning", want) in {(event.type, event.reason) for event in plan.events}


@pytest.mark.parametrize("code", [1, 4, 5, 6, 137])
def test_policy_never_restarts_no_failed_driver(code: int) -> None:
    spec = {**SPEC, "restart": {"policy": "Never"}}
    pipeline = body(spec, status("Running", body(spec)))
    plan = next_step(pipeline, ended(pipeline, code, "failed"), now=at(86400))
    assert (phase(plan), plan.start, plan.requeue) == ("Failed", None, None)
    assert "restart.policy is Never" in condition(plan, "Ready")[2]


def test_a_document_that_spark_rejects_runs_again_after_a_change() -> None:
    old = body(status=status("Failed", body()))
    dead = ended(old, 3, "failed", "SchemaMismatch")
    assert phase(next_step(old, dead, now=at(86400))) == "Failed"
    new = {**CHANGED, "status": next_step(old, dead).status}
    assert condition(next_step(new, dead), "SpecValid")[0] == "True"
    assert next_step(new, dead).stop
    starts = next_step(new, gone=dead)
    assert starts.start is not None
    assert starts.start.attempt == 2


def test_an_eviction_before_the_first_run_counts_from_its_observation() -> None:
    pipeline = body(status=status("Starting", body()))
    evicted = pod(pipeline, phase="Failed", reason="Evicted", message="The node was low on memory")
    plan = next_step(pipeline, evicted)
    assert (phase(plan), plan.requeue) == ("BackingOff", 5.0)
    assert condition(plan, "Ready")[1] == "Evicted"
    pipeline = after(plan, pipeline)
    later = next_step(pipeline, evicted, now=at(4))
    assert (later.status, later.requeue) == (plan.status, 1.0)
    assert next_step(pipeline, evicted, now=at(5)).stop
    assert next_step(pipeline, gone=evicted, now=at(5)).start is not None


def test_a_driver_that_vanished_after_a_report_is_lost() -> None:
    pipeline = body(status=status("Running", body()) | reported("Running", "Running"))
    plan = next_step(pipeline)
    assert (phase(plan), plan.requeue) == ("BackingOff", 5.0)
    assert condition(plan, "Ready")[1] == "DriverLost"
    assert "exitCode" not in plan.status["lastTermination"]
    pipeline = after(plan, pipeline)
    assert next_step(pipeline, now=at(4)).status == plan.status
    starts = next_step(pipeline, now=at(5))
    assert starts.start is not None
    assert starts.start.attempt == 2
    assert vanished(1, NOW).ran_seconds == 0


def test_a_vanished_pod_that_never_ran_is_created_again() -> None:
    pipeline = body(status=status("Starting", body()))
    starts = next_step(pipeline, gone=pod(pipeline))
    assert starts.start is not None
    assert starts.start.attempt == 1


def test_a_driver_that_others_drained_restarts_at_once() -> None:
    pipeline = body(status=status("Running", body()) | reported("Running", "Running"))
    draining = next_step(pipeline, running(pipeline, leaving=True))
    assert (phase(draining), draining.stop) == ("Draining", False)
    assert condition(draining, "DriverRunning")[1] == "Draining"
    over = ended(pipeline, 0, "drained", leaving=True)
    pipeline = after(draining, pipeline, **reported("Running", "Running"))
    assert next_step(pipeline, over).start is None
    starts = next_step(pipeline, gone=over)
    assert starts.start is not None
    assert starts.status["restarts"] == 0


def test_an_image_that_exits_at_once_without_error_backs_off() -> None:
    pipeline = body(status=status("Starting", body()))
    plan = next_step(pipeline, ended(pipeline, 0, None))
    assert (phase(plan), plan.requeue) == ("BackingOff", 5.0)


def test_an_invalid_termination_message_is_ignored() -> None:
    pipeline = body(status=status("Running", body()))
    for garbage in ('{"outcome": 5}', "[1]", '"x"', '{"outcome": "failed", "reason": {}, "queries": [1, {"name": 2}, {"name": "a", "batch": "x"}]}', '{"outcome"', "[" * 5000):  # fmt: skip
        its_pod = ended(pipeline, 4)
        its_pod["status"]["containerStatuses"][0]["state"]["terminated"]["message"] = garbage
        plan = next_step(pipeline, its_pod)
        assert phase(plan) == "BackingOff"
        assert plan.status["lastTermination"]["reason"] == "QueryFailed"


def test_backoff_doubles_to_its_maximum_and_resets() -> None:
    pipeline = body(restart={"backoff": "5 seconds", "maxBackoff": "60s", "resetAfter": "10 minutes"})
    waits, now = [], 0.0
    pipeline["status"] = status("Running", pipeline)
    for attempt in range(1, 8):
        dead = ended(pipeline, 4, "failed", attempt=attempt, started=now, finished=now + 1)
        plan = next_step(pipeline, dead, now=at(now + 1))
        assert plan.requeue is not None
        waits.append(plan.requeue)
        pipeline = after(plan, pipeline)
        due = now + 1 + plan.requeue
        assert next_step(pipeline, dead, now=at(due - 0.5)).status == plan.status
        now = math.ceil(due + 0.001)
        starts = next_step(pipeline, gone=dead, now=at(now))
        assert starts.start is not None
        assert starts.start.attempt == attempt + 1
        pipeline = after(starts, pipeline)
    for wait, longest in zip(waits, [5, 10, 20, 40, 60, 60, 60], strict=True):
        assert 0.79 * longest <= wait <= longest
    long_run = ended(pipeline, 4, "failed", attempt=8, started=now, finished=now + 600)
    plan = next_step(pipeline, long_run, now=at(now + 600))
    assert (plan.requeue, plan.status["restarts"]) == (5.0, 1)


# -- bounded, scheduled ---------------------------------------------------------------------------------------------


def test_a_finished_bounded_pipeline_is_complete_and_its_pod_deleted() -> None:
    pipeline = body(BOUNDED, status("Running", body(BOUNDED)) | reported("Completed"))
    over = ended(pipeline, 0, "completed")
    plan = next_step(pipeline, over)
    assert (phase(plan), plan.stop, plan.requeue) == ("Completed", True, None)
    assert condition(plan, "Complete")[0] == "True"
    assert condition(plan, "Ready")[:2] == ("True", "Completed")
    assert plan.driver_part is not None
    assert plan.driver_part["summary"] == {"queries": "1 completed"}
    pipeline = after(plan, pipeline)
    rests = next_step(pipeline, gone=over)
    assert {**rests.status, "driver": None} == {**plan.status, "driver": None}
    pipeline = after(rests, pipeline)
    assert next_step(pipeline).status == rests.status, "after an operator's restart"
    changed = next_step({**pipeline, "spec": {**pipeline["spec"], "timeZone": "Europe/Zurich"}})
    assert changed.start is not None
    assert changed.start.attempt == 2
    assert condition(changed, "Complete")[0] == "-"


def test_a_run_that_completes_while_its_node_drains_is_complete() -> None:
    pipeline = body(BOUNDED, status("Draining", body(BOUNDED)) | reported("Completed"))
    over = ended(pipeline, 0, "completed", leaving=True)
    plan = next_step(pipeline, over)
    assert (phase(plan), plan.stop, plan.start) == ("Completed", False, None)
    rests = next_step(after(plan, pipeline), gone=over)
    assert (phase(rests), rests.start) == ("Completed", None)
    assert next_step(pipeline, gone=over).status == {**rests.status}


def test_a_completed_first_run_has_no_restarts_and_a_retried_run_keeps_its_count() -> None:
    pipeline = body(BOUNDED, status("Running", body(BOUNDED)))
    assert next_step(pipeline, ended(pipeline, 0, "completed")).status["restarts"] == 0
    pipeline = body(BOUNDED, status("Running", body(BOUNDED), attempt=3, restarts=2))
    assert next_step(pipeline, ended(pipeline, 0, "completed", attempt=3)).status["restarts"] == 2


def test_a_suspended_query_does_not_prevent_completion() -> None:
    [query] = BOUNDED["queries"]
    to = [{"name": "t", "delta": {"path": "s3a://lake/other"}}]
    endless = {key: value for key, value in query.items() if key != "trigger"} | {"name": "b", "to": to}
    for suspend in (True, False):
        spec = {**BOUNDED, "queries": [query, {**endless, "suspend": suspend}]}
        pipeline = body(spec, status("Running", body(spec)) | reported("Completed", "Suspended"))
        plan = next_step(pipeline, ended(pipeline, 0, "completed"))
        assert (phase(plan) == "Completed") == suspend


SCHEDULED = body(BOUNDED, schedule={"cron": "0 3 * * *"})


def scheduled(last: str | None = None, phase: str = "Scheduled", **more: Any) -> dict[str, Any]:
    times = {"schedule": {"lastTime": last, "nextTime": "2026-03-02T03:00:00Z"}} if last else {}
    return {**SCHEDULED, "status": status(phase, SCHEDULED) | times | more}


def test_a_schedule_waits_for_its_slot() -> None:
    plan = next_step(SCHEDULED)
    assert (phase(plan), plan.start, plan.requeue) == ("Scheduled", None, 15 * 3600.0)
    assert plan.status["schedule"] == {"nextTime": "2026-03-02T03:00:00Z"}
    assert condition(plan, "Ready")[1] == "Scheduled"
    assert next_step(after(plan, SCHEDULED), now=at(60)).status == plan.status


def test_a_due_slot_starts_a_run_and_missed_slots_start_one_run() -> None:
    pipeline = scheduled("2026-02-20T03:00:00Z")
    starts = next_step(pipeline)
    assert starts.start is not None
    assert starts.start.attempt == 2
    assert starts.status["schedule"] == {
        "lastTime": "2026-03-01T03:00:00Z",
        "nextTime": "2026-03-02T03:00:00Z",
    }
    again = next_step(after(starts, pipeline))
    assert again.status == starts.status, "the intent is written once"
    assert again.start is not None


def test_a_finished_run_waits_for_the_next_slot() -> None:
    pipeline = scheduled("2026-03-01T03:00:00Z", "Running")
    over = ended(pipeline, 0, "completed")
    plan = next_step(pipeline, over)
    assert (phase(plan), plan.stop, plan.requeue) == ("Scheduled", True, 15 * 3600.0)
    assert condition(plan, "Complete")[0] == "True"
    assert plan.status["schedule"]["lastTime"] == "2026-03-01T03:00:00Z"


def test_a_run_beyond_the_next_slot_continues_and_the_slot_runs_afterwards() -> None:
    pipeline = scheduled("2026-02-28T03:00:00Z", "Running") | {}
    pipeline["status"] |= reported("Running")
    assert phase(next_step(pipeline, running(pipeline))) == "Running"
    over = ended(pipeline, 0, "completed")
    assert next_step(pipeline, over).stop
    starts = next_step(pipeline, gone=over)
    assert starts.start is not None
    assert starts.status["schedule"]["lastTime"] == "2026-03-01T03:00:00Z"


def test_a_failed_run_is_retried_and_the_next_slot_is_not_missed() -> None:
    pipeline = scheduled("2026-03-01T03:00:00Z", "Running")
    dead = ended(pipeline, 4, "failed")
    plan = next_step(pipeline, dead)
    assert (phase(plan), plan.requeue) == ("BackingOff", 5.0)
    refused = next_step(pipeline, ended(pipeline, 3, "failed"))
    assert (phase(refused), refused.requeue) == ("Failed", 15 * 3600.0)
    pipeline = after(refused, pipeline)
    due = next_step(pipeline, gone=ended(pipeline, 3, "failed"), now=at(15 * 3600))
    assert due.start is not None


def test_a_failed_run_is_retried_with_the_changed_document() -> None:
    pipeline = scheduled("2026-03-01T03:00:00Z", "Failed")
    dead = ended(pipeline, 3, "failed")
    new = {**pipeline, "spec": {**pipeline["spec"], "timeZone": "Europe/Zurich"}}
    starts = next_step(new, gone=dead)
    assert starts.start is not None
    assert starts.status["schedule"]["lastTime"] == "2026-03-01T03:00:00Z"


def test_a_suspended_run_continues_when_it_is_resumed() -> None:
    pipeline = scheduled("2026-03-01T03:00:00Z", "Suspended")
    assert next_step(pipeline, gone=ended(pipeline, 6, "interrupted")).start is not None


@pytest.mark.parametrize("is_gone", [False, True], ids=["over", "gone"])
@pytest.mark.parametrize(
    "phase_before", ["Starting", "Running", "Degraded", "Draining", "Suspended", "BackingOff", "Failed"]
)
@pytest.mark.parametrize(
    ("code", "outcome"),
    [(0, "drained"), (0, None), (3, "failed"), (4, "failed"), (5, "failed"), (6, "interrupted"), (137, None)],
)
def test_a_scheduled_run_restarts_like_any_other_run(
    code: int, outcome: str | None, phase_before: str, is_gone: bool
) -> None:
    """Two differences: it is retried until the next slot is due, and the status has the schedule."""
    pipeline = scheduled("2026-03-01T03:00:00Z", phase_before, restarts=3)
    plain = body(BOUNDED, status(phase_before, body(BOUNDED), restarts=3))
    plans = []
    for each in (pipeline, plain):
        over = ended(each, code, outcome)
        plans.append(next_step(each, gone=over) if is_gone else next_step(each, over))
    keys = ("phase", "attempt", "restarts", "driver", "lastTermination")
    statuses = [{key: plan.status.get(key) for key in keys} for plan in plans]
    assert statuses[0] == statuses[1]
    assert condition(plans[0], "DriverRunning") == condition(plans[1], "DriverRunning")
    starts = [plan.start and plan.start.attempt for plan in plans]
    assert (plans[0].stop, starts[0]) == (plans[1].stop, starts[1])


# -- which run a start belongs to --------------------------------------------------------------------------------------


def run_of_next(pipeline: dict[str, Any], over: Any = None, **more: Any) -> str:
    """The run of the start that comes next, once the pod of the driver before is gone."""
    starts = next_step(pipeline, gone=over, **more)
    assert starts.start is not None
    assert starts.status.get("run", starts.start.run) == starts.start.run
    return starts.start.run


def test_a_start_after_a_failure_belongs_to_the_same_run() -> None:
    assert run_of_next(body(BOUNDED, generation=3)) == "generation-3"
    pipeline = body(BOUNDED, status("BackingOff", body(BOUNDED), run="generation-3"), generation=5)
    assert run_of_next(pipeline, ended(pipeline, 137, run=""), now=at(60)) == "generation-3", "by the status"
    pipeline = body(BOUNDED, reported("Running"), generation=5)
    lost = ended(body(BOUNDED, generation=3), 137, run="generation-3")
    assert run_of_next(after(next_step(pipeline, lost), pipeline), now=at(60)) == "generation-3", "by the pod"


@pytest.mark.parametrize("before", ["Suspended", "Draining"])
def test_a_start_after_an_interruption_belongs_to_the_same_run(before: str) -> None:
    pipeline = body(BOUNDED, status(before, body(BOUNDED), run="generation-1"), generation=3)
    assert run_of_next(pipeline, ended(pipeline, 0, "drained")) == "generation-1"
    assert run_of_next(pipeline, ended(pipeline, 6, "interrupted")) == "generation-1"


def test_a_changed_document_and_a_resumed_completed_pipeline_start_another_run() -> None:
    pipeline = body(BOUNDED, status("Running", body(BOUNDED), run="generation-1"), generation=3)
    changed = {**pipeline, "spec": {**pipeline["spec"], "timeZone": "Europe/Zurich"}}
    assert run_of_next(changed, ended(pipeline, 0, "drained")) == "generation-3"
    resumed = body(BOUNDED, status("Suspended", body(BOUNDED), run="generation-1"), generation=3)
    assert run_of_next(resumed, ended(pipeline, 0, "completed")) == "generation-3"


def test_a_requested_restart_begins_a_new_run_only_after_a_finished_run() -> None:
    pipeline = body(BOUNDED, status("Completed", body(BOUNDED), run="generation-1"))
    pipeline["spec"]["restartNonce"] = "now:1/2"
    assert re.fullmatch(
        "generation-1-restart-[0-9a-f]{8}", run_of_next(pipeline, ended(body(BOUNDED), 0, "completed"))
    )
    assert run_of_next(pipeline, ended(body(BOUNDED), 0, "drained")) == "generation-1"


def test_each_slot_of_a_schedule_is_a_run() -> None:
    slot = "2026-03-01T03:00:00Z"
    assert run_of_next(scheduled("2026-02-20T03:00:00Z")) == slot
    pipeline = scheduled(slot, "BackingOff", run=slot)
    assert run_of_next(pipeline, ended(pipeline, 4, "failed"), now=at(60)) == slot
    assert run_of_next(pipeline, ended(pipeline, 4, "failed"), now=at(15 * 3600)) == "2026-03-02T03:00:00Z"


# -- deletion -------------------------------------------------------------------------------------------------------


def test_deletion_drains_first_and_leaves_no_pod_behind() -> None:
    pipeline = body(status=status("Running", body()) | reported("Running", "Running"), deleted=True)
    drains = next_step(pipeline, running(body()))
    assert (phase(drains), drains.stop, drains.finished) == ("Deleting", True, False)
    assert drains.requeue == CHANGING_SECONDS
    pipeline = after(drains, pipeline, **reported("Running", "Running"))
    draining = next_step(pipeline, running(body(), leaving=True), now=at(10))
    assert (draining.stop, draining.finished, draining.status) == (False, False, drains.status)
    over = next_step(pipeline, ended(body(), 0, "drained"), now=at(11))
    assert (over.stop, over.finished) == (True, False)
    assert next_step(pipeline, now=at(12)).finished
    assert next_step(pipeline, now=at(12)).start is None


def test_deletion_waits_no_longer_than_its_deadline() -> None:
    pipeline = body(deleted=True, drain={"timeout": "10 seconds"})
    silent = running(pipeline, leaving=True)
    last_look = next_step(pipeline, silent, now=at(10 + 30 + CLEANUP_SECONDS - 1))
    assert (last_look.finished, last_look.requeue) == (False, 1)
    assert next_step(pipeline, silent, now=at(10 + 30 + CLEANUP_SECONDS)).finished


def test_deletion_leaves_no_pod_of_a_silent_node_in_the_way_of_a_new_pipeline() -> None:
    pipeline = body(deleted=True, drain={"timeout": "10 seconds"})
    late = at(10 + 30 + CLEANUP_SECONDS)
    silent = next_step(pipeline, leaves(pipeline, grace=40), now=late)
    assert (silent.stop, silent.force, silent.finished) == (True, True, False)
    assert next_step(pipeline, leaves(pipeline, grace=0), now=late).finished
    assert next_step(pipeline, now=late).finished


WAITS = {"timeout": "10 seconds", "onTimeout": "wait"}


def test_a_pod_that_waits_for_its_batches_has_six_hours_and_a_deletion_shortens_them() -> None:
    pipeline = body(status=status("Running", body(drain=WAITS)) | reported("Running", "Running"), drain=WAITS)
    runs = running(pipeline)
    assert runs["spec"]["terminationGracePeriodSeconds"] == 6 * 3600
    drains = next_step({**pipeline, "spec": pipeline["spec"] | {"suspend": True}}, runs)
    assert (phase(drains), drains.stop, drains.grace) == ("Draining", True, None), "the pod's own"

    deleted = {**pipeline, "metadata": {**pipeline["metadata"], "deletionTimestamp": "2026-03-01T12:00:00Z"}}
    assert (next_step(deleted, runs).stop, next_step(deleted, runs).grace) == (True, 40)
    leaves_late = running(pipeline, leaving=True)
    leaves_late["metadata"]["deletionGracePeriodSeconds"] = 6 * 3600
    shortens = next_step(deleted, leaves_late)
    assert (phase(shortens), shortens.stop, shortens.grace) == ("Deleting", True, 40), "it drained before"
    leaves_soon = running(pipeline, leaving=True)
    leaves_soon["metadata"]["deletionGracePeriodSeconds"] = 40
    assert next_step(after(shortens, deleted), leaves_soon, now=at(1)).stop is False
    assert next_step(deleted, leaves_soon, now=at(40 + CLEANUP_SECONDS)).finished


def test_deletion_without_a_driver_finishes_at_once() -> None:
    assert next_step(body(deleted=True)).finished
    assert next_step(body(BROKEN, deleted=True)).finished


# -- adoption -------------------------------------------------------------------------------------------------------


def test_a_pod_newer_than_the_status_is_adopted() -> None:
    pipeline = body(
        status=status("BackingOff", body(), attempt=2, restarts=2) | reported("Running", "Running", attempt=3)
    )
    plan = next_step(pipeline, running(pipeline, attempt=3))
    assert (phase(plan), plan.status["attempt"], plan.start, plan.stop) == ("Running", 3, None, False)


def test_a_pod_without_any_status_is_adopted() -> None:
    pipeline = body(status=reported("Idle", "Idle"))
    plan = next_step(pipeline, running(pipeline))
    assert (phase(plan), plan.status["attempt"], plan.start) == ("Running", 1, None)
    assert plan.status["revision"] == revision(pipeline).name


def test_an_early_report_of_the_new_driver_is_kept() -> None:
    pipeline = body(status=status("Starting", body(), attempt=2) | reported("Running", attempt=2))
    assert next_step(pipeline, pod(pipeline, attempt=2)).driver_part is None
    old = body(status=status("Starting", body(), attempt=2) | reported("Running", attempt=1))
    assert next_step(old, pod(old, attempt=2)).driver_part is not None
