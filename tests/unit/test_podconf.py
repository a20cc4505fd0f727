"""The driver's pod: what it reads from its environment, and the Spark properties that follow from it."""

import re
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from mainstem import names
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.errors import NotReady
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.runtime.driver.pod import Pod
from mainstem.runtime.driver.pod_conf import pod_environment, preflight_environment
from mainstem.runtime.spark.conf import LOG4J, Machine, spark_conf


ENVIRONMENT = {
    names.ENV_NAMESPACE: "team",
    names.ENV_POD: "flights-driver",
    names.ENV_POD_UID: "0b7e",
    names.ENV_POD_IP: "10.244.0.7",
    names.ENV_ATTEMPT: "3",
    names.ENV_IMAGE: "registry/mainstem-app:1",
}
POD = Pod.from_environment(ENVIRONMENT)


def pipeline(**spec: Any) -> StreamingPipeline:
    plain = {
        "sources": [{"name": "ticks", "rate": {}}],
        "queries": [{"name": "show", "from": "ticks", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": "s3a://c/flights"},
    }
    return StreamingPipeline.model_validate(
        {
            **pipeline_head("flights"),
            "spec": plain | spec,
        }
    )


def conf(pod: Pod = POD, **spec: Any) -> dict[str, str]:
    """All properties of a run in a pod, as the session has them."""
    document = pipeline(**spec)
    environment = pod_environment(document, pod)
    files = Path("/f")
    machine = Machine(
        environment.cores,
        environment.heap,
        (),
        LOG4J,
        files,
        files,
        environment.defaults,
        environment.owned,
    )
    return spark_conf(document, machine)


def test_a_preflight_has_the_cores_of_the_executors_and_starts_none() -> None:
    pod = Pod.from_environment(ENVIRONMENT | {names.ENV_CLUSTER: "c1", names.ENV_PIPELINE_UID: "u1"})
    document = pipeline(executors={"instances": 3, "cores": 2, "resources": resources("2Gi")})
    environment = preflight_environment(document, pod)
    assert environment.cores == 6
    assert environment.heap == pod_environment(document, pod).heap
    assert environment.driver("flights") == DriverIdentity("team/flights", "c1", "u1", 3)
    assert sorted(environment.owned) == [
        "spark.eventLog.enabled",
        "spark.local.dir",
        "spark.redaction.regex",
        "spark.ui.enabled",
    ]
    assert environment.defaults == {}


def resources(memory: str, **more: Any) -> dict[str, Any]:
    return {"limits": {"memory": memory}, "requests": {}, **more}


def test_a_pod_is_read_from_its_environment() -> None:
    assert (POD.namespace, POD.name, POD.uid, POD.ip) == ("team", "flights-driver", "0b7e", "10.244.0.7")
    assert (POD.attempt, POD.image, POD.pull_policy) == (3, "registry/mainstem-app:1", "IfNotPresent")
    assert Pod.from_environment(ENVIRONMENT | {names.ENV_PULL_POLICY: "Never"}).pull_policy == "Never"


def test_every_missing_variable_is_named() -> None:
    with pytest.raises(NotReady) as refused:
        Pod.from_environment({names.ENV_ATTEMPT: "1", names.ENV_POD: ""})
    assert refused.value.reason == "NotADriverPod"
    for name in set(ENVIRONMENT) - {names.ENV_ATTEMPT}:
        assert name in refused.value.message
    assert names.ENV_ATTEMPT not in refused.value.message


def test_an_attempt_must_be_a_number() -> None:
    with pytest.raises(NotReady, match="MAINSTEM_ATTEMPT is not a whole number: 'x'"):
        Pod.from_environment(ENVIRONMENT | {names.ENV_ATTEMPT: "x"})


def test_without_executors_the_driver_runs_all_tasks() -> None:
    properties = conf(driver={"cores": 3})
    assert properties["spark.master"] == "local[3, 4]"
    assert properties["spark.driver.host"] == "127.0.0.1"
    assert [
        key for key in properties if "kubernetes" in key or "authenticate" in key or "executor" in key
    ] == ["spark.executorEnv.TZ"]


def test_the_spark_ui_is_read_only_with_and_without_executors() -> None:
    for spec in ({}, {"executors": {"instances": 1}}):
        properties = conf(**spec)
        assert (properties["spark.ui.enabled"], properties["spark.ui.port"]) == ("true", "4040")
        assert properties["spark.ui.killEnabled"] == "false"
        assert pod_environment(pipeline(**spec), POD).address is None  # every address of the pod


def test_executors_are_pods_owned_by_the_driver() -> None:
    properties = conf(executors={"instances": 2, "cores": 2})
    assert properties["spark.master"] == "k8s://https://kubernetes.default.svc"
    assert properties["spark.kubernetes.namespace"] == "team"
    assert properties["spark.kubernetes.driver.pod.name"] == "flights-driver"
    assert properties["spark.driver.host"] == "10.244.0.7"
    assert (properties["spark.driver.port"], properties["spark.driver.blockManager.port"]) == ("7078", "7079")
    assert (properties["spark.executor.instances"], properties["spark.executor.cores"]) == ("2", "2")
    assert properties["spark.kubernetes.container.image"] == "registry/mainstem-app:1"
    assert properties["spark.kubernetes.executor.podTemplateFile"] == "/etc/mainstem/document/executor.yaml"
    assert properties["spark.kubernetes.executor.podNamePrefix"] == "flights-3"
    assert properties["spark.databricks.delta.snapshotPartitions"] == "4"  # as many as there are cores


def test_an_ipv6_address_is_in_brackets() -> None:
    pod = Pod.from_environment(ENVIRONMENT | {names.ENV_POD_IP: "fd00::7"})
    assert conf(pod, executors={"instances": 1})["spark.driver.host"] == "[fd00::7]"


def test_no_property_holds_a_token_or_a_secret() -> None:
    """Spark reads a configured token file only once, and passes a configured secret to every executor pod."""
    properties = conf(executors={"instances": 1})
    assert [key for key in properties if key.startswith("spark.kubernetes.authenticate")] == []
    assert properties["spark.authenticate"] == "true"
    assert properties["spark.authenticate.secret.file"] == "/etc/mainstem/spark-secret/secret"
    assert "spark.authenticate.secret" not in properties


def test_no_call_to_the_api_server_needs_another_right() -> None:
    properties = conf(executors={"instances": 1})
    assert properties["spark.kubernetes.executor.disableConfigMap"] == "true"
    for key in ("service.deleteOnTermination", "ownPersistentVolumeClaim", "reusePersistentVolumeClaim"):
        assert properties[f"spark.kubernetes.driver.{key}"] == "false"


@pytest.mark.parametrize(
    ("memory", "heap", "java", "beside"),
    [
        ("2Gi", None, "1228m", "820m"),
        ("1Gi", None, "614m", "410m"),
        ("2Gi", "1g", "1024m", "1024m"),
        ("3Gi", "1536m", "1536m", "1536m"),
        ("2G", None, "1144m", "763m"),  # 1,907 whole MiB
    ],
)
def test_heap_and_overhead_of_an_executor_add_up_to_its_limit(
    memory: str, heap: str | None, java: str, beside: str
) -> None:
    executors = {"instances": 1, "resources": resources(memory)} | ({"heap": heap} if heap else {})
    properties = conf(executors=executors)
    assert (properties["spark.executor.memory"], properties["spark.executor.memoryOverhead"]) == (
        java,
        beside,
    )


@pytest.mark.parametrize(
    ("given", "request_", "limit"),
    [
        ({"requests": {"cpu": "250m"}}, "250m", None),
        ({"requests": {"cpu": "250m"}, "limits": {"memory": "2Gi", "cpu": "1"}}, "250m", "1"),
        ({"limits": {"memory": "2Gi", "cpu": "1500m"}}, "1500m", "1500m"),
        ({}, "2", None),
    ],
)
def test_cpu_comes_from_the_resources(given: dict[str, Any], request_: str, limit: str | None) -> None:
    properties = conf(executors={"instances": 1, "cores": 2, "resources": resources("2Gi") | given})
    assert properties["spark.kubernetes.executor.request.cores"] == request_
    assert properties.get("spark.kubernetes.executor.limit.cores") == limit


@pytest.mark.parametrize(
    ("driver", "heap"),
    [({}, "1024m"), ({"resources": resources("3Gi")}, "1536m"), ({"heap": "700m"}, "700m"), ({"heap": "1g"}, "1024m"), ({"heap": "9k"}, "1m")],
)  # fmt: skip
def test_the_heap_of_the_driver_is_half_of_its_memory_by_default(driver: dict[str, Any], heap: str) -> None:
    assert conf(driver=driver)["spark.driver.memory"] == heap
    assert conf(driver=driver, executors={"instances": 1})["spark.driver.memory"] == heap


def test_batches_do_not_wait_for_executors_that_they_do_not_need() -> None:
    properties = conf(executors={"instances": 8})
    assert properties["spark.scheduler.minRegisteredResourcesRatio"] == "0"
    assert properties["spark.dynamicAllocation.enabled"] == "false"


@pytest.mark.parametrize(("instances", "batch"), [(1, "10"), (40, "40"), (1000, "100")])
def test_all_executors_are_requested_at_once(instances: int, batch: str) -> None:
    assert conf(executors={"instances": instances})["spark.kubernetes.allocation.batch.size"] == batch


def test_a_driver_survives_occasional_failures_of_executors() -> None:
    """Spark 4.2 ends the driver's JVM after a few failures since its start, unless an interval is set."""
    properties = conf(executors={"instances": 2})
    assert properties["spark.executor.failuresValidityInterval"] == "10m"
    assert int(properties["spark.executor.maxNumFailures"]) >= 20


def test_dynamic_allocation_is_passed_on() -> None:
    properties = conf(executors={"instances": 0, "dynamicAllocation": {"minExecutors": 0, "maxExecutors": 5}})
    assert properties["spark.master"].startswith("k8s://")
    bounds = {"minExecutors": "0", "maxExecutors": "5", "initialExecutors": "0", "enabled": "true"}
    for key, value in bounds.items():
        assert properties[f"spark.dynamicAllocation.{key}"] == value
    assert properties["spark.dynamicAllocation.shuffleTracking.enabled"] == "true"
    assert properties["spark.decommission.enabled"] == "true"
    assert properties["spark.kubernetes.decommission.script"] == names.DECOMMISSION


def test_a_document_can_change_timeouts_and_no_owned_property() -> None:
    given = {"spark.network.timeout": "300s", "spark.executor.memory": "9g", "spark.ui.killEnabled": "true"}
    properties = conf(executors={"instances": 1}, spark={"conf": given})
    assert properties["spark.network.timeout"] == "300s"
    assert properties["spark.executor.memory"] == "1228m"
    assert properties["spark.ui.killEnabled"] == "false"


def test_both_jvms_have_the_same_options() -> None:
    properties = conf(executors={"instances": 1})
    assert properties["spark.executor.extraJavaOptions"] == properties["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize(
    "key",
    ["spark.hadoop.fs.s3a.secret.key", "kafka.ssl.keystore.password", "oauth.token", "sasl.jaas.config", "access-key", "AccessKey", "private_key"],
)  # fmt: skip
def test_credentials_are_redacted_in_the_spark_ui(key: str) -> None:
    assert re.search(conf()["spark.redaction.regex"], key)


def test_memory_that_spark_adds_beside_the_heap_counts_within_the_limit() -> None:
    """Spark asks for heap, overhead and what is off the heap together; the container's limit holds all three."""
    given = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": "256m"}
    properties = conf(executors={"instances": 1, "resources": resources("2Gi")}, spark={"conf": given})
    assert (properties["spark.executor.memory"], properties["spark.executor.memoryOverhead"]) == (
        "1228m",
        "564m",
    )
