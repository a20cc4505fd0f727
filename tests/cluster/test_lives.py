"""Events in the life of a pipeline on a cluster: broken changes, an operator that dies, ends, deleted namespaces.

Each test has a pipeline of its own, small: generated rows, no broker.
"""

import copy
import json
import secrets
from typing import Any

import pytest
import yaml
from cluster.deployment import OPERATOR_NAMESPACE, Pipeline, Servers, allowed, pod_template, within
from cluster.node_processes import silent_node
from harness.cluster.base import TestCluster
from harness.errors import HarnessError


pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]
SMALL = yaml.safe_load("""
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: small}
spec:
  connections:
    - name: store
      s3: {buckets: [mainstem], endpoint: "http://s3:7070", pathStyle: true, secretRef: {name: s3}}
  sources: [{name: ticks, rate: {rowsPerSecond: 5}}]
  queries:
    - {name: show, from: ticks, to: [{name: out, console: {numRows: 1}}], trigger: {processingTime: 1 second}}
  checkpoints: {location: "s3a://mainstem/checkpoints/small"}
  drain: {timeout: 20 seconds}
  driver:
    cores: 1
    resources: {requests: {cpu: 100m, memory: 1Gi}, limits: {memory: 1Gi}}
""")


def small(name: str, **spec: Any) -> dict[str, Any]:
    """A small document, with a checkpoint of its own."""
    document = copy.deepcopy(SMALL)
    document["metadata"]["name"] = name
    document["spec"]["checkpoints"]["location"] += f"-{name}-{secrets.token_hex(3)}"
    document["spec"] |= spec
    return dict(document)


def uid(pipeline: Pipeline) -> str:
    pod = pipeline.driver()
    assert pod is not None
    return str(pod["metadata"]["uid"])


def keeper(pipeline: Pipeline, command: str, *words: str) -> tuple[int, str]:
    """Exit code and output of `kubectl mainstem checkpoint`."""
    return pipeline.plugin("checkpoint", command, pipeline.name, *words)


def command_pods(pipeline: Pipeline) -> str:
    labels = f"mainstem.dev/pipeline={pipeline.name},app.kubernetes.io/component=checkpoint"
    return pipeline.kubectl("get", "pods", "-l", labels, "-o", "name").strip()


@pytest.mark.full
def test_kubectl_mainstem_works_on_checkpoints_that_only_pods_reach(pipeline: Pipeline) -> None:
    pipeline.apply(small(pipeline.name))
    pipeline.wait("Ready", 180)
    within(60, "two batches", lambda: pipeline.status()["queries"][0].get("batch", -1) >= 1)
    code, text = keeper(pipeline, "ls", "--output", "json")
    assert code == 0, text
    assert [each["query"] for each in json.loads(text)] == ["show"]
    code, text = keeper(pipeline, "rewind", "--query", "show", "--to", "0")
    assert (code, "[CheckpointInUse]" in text) == (5, True), text
    code, text = keeper(pipeline, "show", "--query", "nothing")
    assert code == 2, text  # the exit code of the command in the pod
    pipeline.patch(suspend=True)
    pipeline.phase("Suspended", 120)
    within(60, "no driver", lambda: pipeline.driver() is None)
    code, text = keeper(pipeline, "rewind", "--query", "show", "--to", "0", "--output", "json")
    assert code == 0, text
    assert json.loads(text)["to"].endswith("/show/2")
    code, text = keeper(pipeline, "verify", "--query", "show")
    assert (code, "sound" in text) == (0, True), text
    assert command_pods(pipeline) == ""


COUNTED = {
    "views": [
        {"name": "counted", "sql": "SELECT value % 7 AS k, count(*) AS n FROM ticks GROUP BY value % 7"}
    ],
    "queries": [
        {
            "name": "show",
            "from": "counted",
            "outputMode": "update",
            "to": [{"name": "out", "console": {"numRows": 1}}],
            "trigger": {"processingTime": "1 second"},
            "state": {"provider": "rocksdb", "partitions": 2},
        }
    ],
}
"""A query with state that Spark can repartition."""


@pytest.mark.full(gate="spark/test_repartition.py::test_fewer_partitions_lose_no_state")
def test_kubectl_mainstem_repartitions_state_in_a_pod_and_the_query_starts_on_it(pipeline: Pipeline) -> None:
    pipeline.apply(small(pipeline.name, **COUNTED))
    pipeline.wait("Ready", 240)
    code, text = keeper(pipeline, "repartition", "--query", "show", "--partitions", "3")
    assert (code, "[CheckpointInUse]" in text) == (5, True), text
    pipeline.patch(suspend=True)
    pipeline.phase("Suspended", 120)
    within(60, "no driver", lambda: pipeline.driver() is None)
    code, text = keeper(pipeline, "repartition", "--query", "show", "--partitions", "3")
    assert (code, "/show/2" in text) == (0, True), text
    assert command_pods(pipeline) == ""
    [query] = copy.deepcopy(COUNTED["queries"])
    query["state"]["partitions"] = 3  # type: ignore[index]
    before = pipeline.status()["queries"][0]["batch"]
    pipeline.patch(suspend=False, queries=[query | {"checkpoint": {"generation": 2}}])

    def continues() -> bool:
        show = pipeline.status()["queries"][0]
        return bool(show["checkpoint"].endswith("/show/2")) and show.get("batch", -1) > before + 1

    within(240, "batches after the repartitioning", continues)


@pytest.mark.full
@pytest.mark.bare
@pytest.mark.timeout(900)
def test_the_driver_of_a_silent_node_is_followed_by_the_next_without_a_person(pipeline: Pipeline) -> None:
    """There is one node: the next driver starts once the kubelet runs again."""
    pipeline.apply(small(pipeline.name))
    pipeline.wait("Ready", 240)
    before = uid(pipeline)
    name = f"{pipeline.name}-driver"
    with silent_node():
        pipeline.kubectl("delete", "pod", name, "--grace-period=1", "--wait=false")
        within(120, "the next driver is created", lambda: uid_or_none(pipeline) not in (None, before))
        assert pipeline.status()["attempt"] == 2
    pipeline.wait("Ready", 240)
    assert pipeline.status()["restarts"] == 0


def uid_or_none(pipeline: Pipeline) -> str | None:
    pod = pipeline.driver()
    return str(pod["metadata"]["uid"]) if pod else None


@pytest.mark.full(gate="apiserver/test_operator_life.py::test_a_broken_change_keeps_the_running_driver")
def test_a_broken_change_leaves_the_running_driver_running(pipeline: Pipeline) -> None:
    pipeline.apply(small(pipeline.name))
    pipeline.wait("Ready", 240)
    before = uid(pipeline)
    pipeline.patch(
        queries=[
            {
                "name": "show",
                "from": "ticks",
                "outputMode": "complete",
                "to": [{"name": "out", "console": {}}],
            }
        ]
    )
    within(60, "SpecValid=False", lambda: pipeline.condition("SpecValid").get("status") == "False")
    assert pipeline.condition("SpecValid")["reason"] == "AggregationNeeded"
    # What the rules take and the API server refuses, when it is asked before the driver is stopped.
    good = small(pipeline.name)["spec"]["queries"]
    pipeline.patch(
        queries=good,
        driver={
            "template": {"spec": {"containers": [{"name": "driver", "securityContext": {"runAsUser": 0}}]}}
        },
    )
    message = within(
        60, "PodRefused", lambda: (c := pipeline.condition("SpecValid")).get("reason") == "PodRefused" and c
    )
    assert "violates PodSecurity" in message["message"]
    pipeline.reports_again()
    assert uid(pipeline) == before
    assert pipeline.condition("DriverRunning")["status"] == "True"
    assert pipeline.status()["phase"] == "Running"


def runs(pipeline: Pipeline) -> dict[str, str]:
    """Query -> Spark's id of its run, which a restart changes."""
    return {query["name"]: query.get("runId", "") for query in pipeline.status()["queries"]}


@pytest.mark.full(gate="cluster/test_story.py::test_the_running_driver_takes_a_changed_query_over")
def test_a_change_reaches_the_running_driver_and_restarts_only_what_it_concerns(pipeline: Pipeline) -> None:
    def queries(weight: int, seconds: int, source: str = "ticks") -> dict[str, Any]:
        sink = [{"name": "out", "console": {"numRows": 1}}]
        trigger = {"processingTime": f"{seconds} seconds"}
        steady = {"name": "steady", "from": "ticks", "to": sink, "trigger": {"processingTime": "1 second"}}
        show = {"name": "show", "from": source, "to": sink, "trigger": trigger, "pool": {"weight": weight}}
        view = {"name": "parts", "sql": "SELECT value, explode(value) AS part FROM ticks"}
        return {"queries": [steady, show], "views": [view] if source == "parts" else []}

    pipeline.apply(small(pipeline.name, **queries(1, 1)))
    pipeline.wait("Ready", 240)
    before, pod, first = runs(pipeline), uid(pipeline), pipeline.status()["revision"]
    pipeline.patch(**queries(5, 1))
    within(60, "the new revision", lambda: pipeline.status()["revision"] != first)
    pipeline.wait("Ready", 60)
    assert runs(pipeline) == before
    pipeline.patch(**queries(5, 2))
    within(60, "another run of the changed query", lambda: runs(pipeline)["show"] != before["show"])
    assert runs(pipeline)["steady"] == before["steady"]
    pipeline.wait("Ready", 60)
    pipeline.patch(**queries(5, 2, "parts"))
    refused = within(
        90, "SpecValid=False", lambda: (c := pipeline.condition("SpecValid")).get("status") == "False" and c
    )
    assert "the previous document remains in use" in refused["message"]
    after = pipeline.status()
    assert (after["phase"], after["attempt"], uid(pipeline)) == ("Running", 1, pod)
    assert {query["state"] for query in after["queries"]} <= {"Running", "Idle"}


def rolled_back(pipeline: Pipeline, reason: str) -> dict[str, Any]:
    """The status, once the last healthy revision runs again with all its queries."""
    within(240, "RolledBack", lambda: pipeline.condition("Ready").get("reason") == "RolledBack")
    rollback = pipeline.status()["rollback"]
    assert rollback["reason"] == reason, rollback
    within(
        240,
        "the healthy revision",
        lambda: (
            pipeline.status()["revision"] == rollback["target"]
            and pipeline.condition("QueriesActive").get("status") == "True"
        ),
    )
    assert pipeline.condition("Stalled")["reason"] == "RolledBack"
    return pipeline.status()


def committed(pipeline: Pipeline) -> int:
    """The last committed batch of the query `show`."""
    return int(
        next(query.get("batch", -1) for query in pipeline.status()["queries"] if query["name"] == "show")
    )


@pytest.mark.full(
    gate="unit/test_operator_rollback.py::test_the_healthy_revision_starts_and_starts_again_after_a_failure_and_a_restart_of_the_operator"
)
def test_a_change_that_fails_is_rolled_back_and_rows_continue(pipeline: Pipeline) -> None:
    """First an image that does not exist, whose preflight never starts; then a query that fails in the running driver."""
    document = small(pipeline.name, restart={"maxRetries": 0}, rollback={"progressDeadline": "30 seconds"})
    [show] = document["spec"]["queries"]
    steady = {**show, "name": "steady"}  # a driver whose queries have all failed ends
    document["spec"]["queries"] = [show, steady]
    pipeline.apply(document)
    pipeline.wait("Ready", 240)
    first, before = pipeline.status()["revision"], committed(pipeline)
    pod = uid(pipeline)
    pipeline.patch(image="localhost/mainstem-missing:0", imagePullPolicy="Never")
    shown = "ErrImageNeverPull"
    within(120, shown, lambda: pipeline.condition("DocumentApplied").get("reason") == shown)
    assert (pipeline.status()["revision"], uid(pipeline)) == (first, pod), "the driver runs on"
    within(60, "rows continue", lambda: committed(pipeline) > before)
    pipeline.patch(image=None, imagePullPolicy=None)
    pipeline.wait("Ready", 60)

    before = committed(pipeline)
    view = {"name": "checked", "sql": "SELECT value FROM ticks WHERE assert_true(value < 0) IS NULL"}
    pipeline.patch(views=[view], queries=[{**show, "from": "checked"}, steady])
    status = rolled_back(pipeline, "USER_RAISED_EXCEPTION")
    assert (status["revision"], uid(pipeline)) == (first, pod)
    within(60, "rows continue", lambda: committed(pipeline) > before)
    entries = [(entry["outcome"], entry.get("changes")) for entry in status["history"]]
    assert entries[:2] == [
        ("Healthy", ["views[checked]", "queries[show].from"]),
        ("RolledBack", ["views[checked]", "queries[show].from"]),
    ]


HALF = """
views:
  - name: parts
    sql: |
      SELECT value,
             explode(value) AS part
      FROM ticks
queries:
  - {name: first, from: ticks, to: [{name: out, console: {numRows: 1}}], trigger: {processingTime: 1 second}}
  - {name: wrong, from: parts, to: [{name: out, console: {numRows: 1}}], trigger: {processingTime: 1 second}}
  - {name: third, from: ticks, to: [{name: out, console: {numRows: 1}}], trigger: {processingTime: 1 second}}
"""
"""Three queries. The rules take all of them, Spark's analysis does not take the view of one."""


@pytest.mark.full(gate="spark/test_unready.py::test_the_other_queries_run")
def test_a_query_that_spark_rejects_is_in_the_status_beside_two_that_run(pipeline: Pipeline) -> None:
    pipeline.apply(small(pipeline.name, **yaml.safe_load(HALF)))
    within(
        180, "two run", lambda: pipeline.status().get("summary", {}).get("queries") == "2 active, 1 failed"
    )
    status = pipeline.phase("Degraded", 30)
    queries = {query["name"]: query for query in status["queries"]}
    # A query is idle while its source has no new row.
    active = {name for name, query in queries.items() if query["state"] in ("Running", "Idle")}
    assert active == {"first", "third"}
    reason = "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"
    assert (queries["wrong"]["state"], queries["wrong"]["reason"]) == ("Failed", reason)
    message = queries["wrong"]["message"]
    assert message.startswith("spec.views[0].sql, line 2, column 8: Spark refuses it: "), message
    conditions = {condition["type"]: condition for condition in status["conditions"]}
    assert conditions["SpecValid"]["status"] == "True"
    assert (conditions["Ready"]["status"], conditions["Ready"]["reason"]) == ("False", reason)
    assert (conditions["Degraded"]["status"], conditions["Degraded"]["reason"]) == ("True", "QueryFailed")
    assert conditions["Stalled"]["message"] == f"wrong: {message}"
    columns = pipeline.kubectl("get", "streamingpipeline", pipeline.name, "--no-headers")
    assert columns.startswith(f"{pipeline.name}   False   Degraded   {reason}   2 active, 1 failed "), columns


@pytest.mark.full(gate="services/test_bad_input.py::test_missing_jars_are_reported")
def test_an_image_without_the_jars_is_rejected_with_the_lines_that_build_another(pipeline: Pipeline) -> None:
    """`test_derived_image.py` runs such an image."""
    artifact = "org.mariadb.jdbc:mariadb-java-client:3.5.6"
    pipeline.apply(small(pipeline.name, packages={"maven": [artifact], "jars": ["jars/connectors.jar"]}))
    within(120, "PackagesMissing", lambda: pipeline.condition("Ready").get("reason") == "PackagesMissing")
    message = pipeline.condition("Ready")["message"]
    assert message.startswith("the image has no mariadb-java-client-3.5.6.jar, connectors.jar; "), message
    assert (
        f"RUN mainstem packages install {artifact} | COPY connectors.jar /opt/mainstem/packages/" in message
    )
    assert pipeline.status()["lastTermination"]["exitCode"] == 5


@pytest.mark.full(
    gate="apiserver/test_operator_process.py::test_a_restarted_operator_adopts_drivers_without_a_write"
)
def test_a_killed_operator_is_replaced_without_an_effect_on_drivers(
    cluster: TestCluster, pipeline: Pipeline
) -> None:
    pipeline.apply(small(pipeline.name))
    pipeline.wait("Ready", 240)
    before, status = uid(pipeline), pipeline.status()
    here = ("-n", OPERATOR_NAMESPACE)
    cluster.kubectl(*here, "delete", "pods", "--all", "--grace-period=0", "--force")
    cluster.kubectl(*here, "rollout", "status", "deployment/mainstem", "--timeout=110s")
    pipeline.reports_again()
    assert uid(pipeline) == before
    assert pipeline.status()["attempt"] == status["attempt"]
    assert pipeline.condition("Ready")["status"] == "True"
    pipeline.patch(suspend=True)
    assert pipeline.phase("Suspended", 120)["lastTermination"]["outcome"] == "drained"


@pytest.mark.full(
    gate="unit/test_operator_plan.py::test_a_finished_bounded_pipeline_is_complete_and_its_pod_deleted"
)
def test_a_finished_pipeline_is_complete(pipeline: Pipeline, servers: Servers) -> None:
    servers.create_topic(pipeline.name, 1)
    document = small(
        pipeline.name,
        sources=[
            {
                "name": "events",
                "kafka": {
                    "connection": "broker",
                    "subscribe": [pipeline.name],
                    "startingOffsets": "earliest",
                },
            }
        ],
        queries=[
            {
                "name": "show",
                "from": "events",
                "to": [{"name": "out", "console": {}}],
                "trigger": {"availableNow": True},
            }
        ],
    )
    document["spec"]["connections"].append({"name": "broker", "kafka": {"bootstrapServers": "kafka:9092"}})
    pipeline.apply(document)
    pipeline.wait("Complete", 240)
    status = pipeline.status()
    assert status["phase"] == "Completed"
    assert status["summary"]["queries"] == "1 completed"
    within(60, "the driver is removed", lambda: pipeline.driver() is None)


@pytest.mark.full(gate="unit/test_cluster_status.py::test_a_driver_is_ready_when_every_query_is_active")
def test_an_empty_topic_is_ready(pipeline: Pipeline, servers: Servers) -> None:
    servers.create_topic(pipeline.name, 1)
    document = small(
        pipeline.name,
        sources=[{"name": "events", "kafka": {"connection": "broker", "subscribe": [pipeline.name]}}],
        queries=[{"name": "show", "from": "events", "to": [{"name": "out", "console": {}}]}],
    )
    document["spec"]["connections"].append({"name": "broker", "kafka": {"bootstrapServers": "kafka:9092"}})
    pipeline.apply(document)
    pipeline.wait("Ready", 240)
    assert pipeline.condition("DataFlowing")["status"] == "Unknown"


@pytest.mark.full(gate="unit/test_operator_plan.py::test_numbers_of_the_previous_driver_are_removed")
def test_a_dead_driver_leaves_no_stale_number(pipeline: Pipeline) -> None:
    pipeline.apply(small(pipeline.name, restart={"backoff": "60 seconds"}))
    pipeline.wait("Ready", 240)
    within(120, "rows move", lambda: pipeline.status()["summary"].get("rowsPerSecond"))
    pipeline.kubectl("exec", f"{pipeline.name}-driver", "--", "python", "-c", KILL)
    pipeline.phase("BackingOff", 120)
    # Of two writers one may have to write again: the phase may be there a moment before the numbers go.
    within(30, "no number", lambda: pipeline.status()["summary"].keys() == {"queries", "lastCommitTime"})
    assert pipeline.status()["summary"]["queries"] == "1 stopped"
    status = pipeline.status()
    assert status["restarts"] == 1
    assert status["lastTermination"]["reason"] in ("JvmLost", "Killed", "Error")
    assert status["phase"] == "BackingOff"
    assert all(query["state"] == "Stopped" and "rowsPerSecond" not in query for query in status["queries"])
    conditions = {condition["type"]: condition["status"] for condition in status["conditions"]}
    assert conditions["Ready"] == conditions["DriverRunning"] == "False"
    assert "DataFlowing" not in conditions
    assert pipeline.log(), "the log of a driver that failed is there to be read"


KILL = """
import os, signal
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if file.read().split(b"\\0")[0].endswith(b"java"):
                os.kill(int(pid), signal.SIGKILL)
    except OSError:
        pass
"""
"""Ends the JVM below the driver."""


@pytest.mark.full(gate="apiserver/test_operator_life.py::test_a_driver_may_write_only_its_own_status")
def test_driver_a_cannot_write_the_status_of_b(cluster: TestCluster, pipeline: Pipeline) -> None:
    pipeline.apply(small(pipeline.name))
    within(
        60, "the role", lambda: f"{pipeline.name}-driver" in pipeline.kubectl("get", "roles", "-o", "name")
    )
    account = f"system:serviceaccount:{pipeline.namespace}:{pipeline.name}-driver"

    def may(*words: str) -> bool:
        return allowed(cluster, pipeline.namespace, account, *words)

    assert within(
        60, "its own", lambda: may("patch", f"streamingpipelines/{pipeline.name}", "--subresource=status")
    )
    assert not may("patch", "streamingpipelines/other", "--subresource=status")
    assert not may("patch", f"streamingpipelines/{pipeline.name}")
    for words in (("get", "secrets"), ("list", "pods"), ("create", "pods"), ("get", "configmaps")):
        assert not may(*words), words


@pytest.mark.full
def test_a_deleted_namespace_ends(cluster: TestCluster, release: None, stage_servers: Any) -> None:
    servers = stage_servers("short-lived-pipelines")
    pipelines = [Pipeline(cluster, servers.namespace, f"p{index}") for index in range(2)]
    for pipeline in pipelines:
        pipeline.apply(small(pipeline.name))
    for pipeline in pipelines:
        pipeline.wait("Ready", 180)
    cluster.kubectl("delete", "namespace", servers.namespace, "--timeout=240s", timeout=250)


@pytest.mark.full(
    gate="cluster/test_story.py::test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3"
)
def test_the_class_archive_is_used(pipeline: Pipeline) -> None:
    """As the pod's user, on a root that cannot be written, after the image was exported and imported."""
    document = small(pipeline.name)
    log = {"JDK_JAVA_OPTIONS": "-Xlog:class+load:file=/tmp/class-load.log"}
    document["spec"]["driver"]["template"] = pod_template("driver", log)
    pipeline.apply(document)
    pipeline.wait("Ready", 240)
    inside = ("exec", f"{pipeline.name}-driver", "--")
    assert pipeline.kubectl(*inside, "id", "-u").strip() == "10001"
    with pytest.raises(HarnessError, match="Read-only file system"):
        pipeline.kubectl(*inside, "touch", "/opt/mainstem/new")
    archived = int(
        pipeline.kubectl(*inside, "grep", "-c", "shared objects file (top)", "/tmp/class-load.log")
    )
    assert archived > 8_000


@pytest.mark.full(gate="unit/test_operator_conditions.py::test_no_event_without_a_transition")
def test_events_report_only_transitions(pipeline: Pipeline) -> None:
    pipeline.apply(small(pipeline.name))
    pipeline.wait("Ready", 240)
    pipeline.reports_again()  # which is none of an event's business
    recorded = json.loads(pipeline.kubectl("get", "events", "-o", "json"))["items"]
    mine = [event["reason"] for event in recorded if event["involvedObject"]["name"] == pipeline.name]
    assert mine.count("DriverStarting") == 1
    assert mine.count("Ready") == 1
    assert len(mine) <= 3, mine


@pytest.mark.full(
    gate="apiserver/test_pod_warnings.py::test_a_reason_that_only_an_event_of_the_driver_pod_has_is_in_the_condition"
)
def test_a_missing_secret_is_named_in_the_condition(pipeline: Pipeline) -> None:
    """Only the events of the pod show it: the kubelet writes no other message."""
    document = small(pipeline.name)
    document["spec"]["connections"][0]["s3"]["secretRef"]["name"] = "nope"
    pipeline.apply(document)
    within(60, "the pod has a node", lambda: (pipeline.driver() or {"spec": {}})["spec"].get("nodeName"))
    within(90, "FailedMount", lambda: pipeline.condition("Ready").get("reason") == "FailedMount")
    assert 'secret "nope" not found' in pipeline.condition("Ready")["message"]
