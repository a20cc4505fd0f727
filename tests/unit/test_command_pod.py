"""The pod of `kubectl mainstem checkpoint`: what a driver has to reach the stores, and nothing else of a driver."""

from typing import Any

import pytest
from click.testing import CliRunner
from mainstem.cli_checkpoint import checkpoint
from mainstem.errors import NotReady
from mainstem_operator.kubectl_plugin.command import COMMANDS, main
from mainstem_operator.kubectl_plugin.command_run import (
    RUNNING_SPARK,
    WRITING,
    command_words,
    refuse_running,
)
from mainstem_operator.kubectl_plugin.images import needed, settings_of
from mainstem_operator.manifests.command_pod import LONGEST_SECONDS, command_pod
from mainstem_operator.manifests.pods import driver_pod
from unit.operator_steps import SETTINGS
from unit.test_operator_pods import resource, runs


ARGUMENTS = ["checkpoint", "ls", "-f", "/etc/mainstem/document/pipeline.yaml"]


def both(name: str = "kafka-to-parquet", **spec: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The driver pod and the command pod of a document."""
    pipeline = resource(name)
    pipeline["spec"] |= spec
    revision = runs(pipeline)
    driver = driver_pod(pipeline, revision, SETTINGS, attempt=1, run="generation-1")
    return driver, command_pod(pipeline, revision, SETTINGS, "p-checkpoint-1", ARGUMENTS)


@pytest.mark.parametrize("name", ["kafka-to-parquet", "executors-templates"])
def test_image_account_secrets_volumes_and_security_are_those_of_the_driver(name: str) -> None:
    driver, pod = both(name)
    was, now = driver["spec"], pod["spec"]
    for field in ("serviceAccountName", "securityContext", "tolerations", "nodeSelector", "imagePullSecrets"):
        assert now.get(field) == was.get(field)
    [container] = now["containers"]
    own = was["containers"][0]
    for field in ("image", "imagePullPolicy", "securityContext"):
        assert container[field] == own[field]
    assert [each["name"] for each in container["env"]] == [each["name"] for each in own["env"]]
    gone = {each["mountPath"] for each in own["volumeMounts"]} - {
        each["mountPath"] for each in container["volumeMounts"]
    }
    assert gone == {"/etc/mainstem/update"}
    assert {each["name"] for each in now["volumes"]} >= {each["name"] for each in container["volumeMounts"]}
    assert all(each in was["volumes"] for each in now["volumes"])


def test_the_pod_runs_the_command_once_with_few_resources_and_an_end() -> None:
    _, pod = both()
    spec, [container] = pod["spec"], pod["spec"]["containers"]
    assert container["args"] == ARGUMENTS
    assert (spec["restartPolicy"], spec["activeDeadlineSeconds"]) == ("Never", LONGEST_SECONDS)
    assert spec["automountServiceAccountToken"] is False
    assert container["resources"]["limits"] == {"memory": "1Gi"}
    assert not {"ports", "livenessProbe", "readinessProbe", "startupProbe"} & container.keys()


def test_the_resource_owns_the_pod_and_the_operator_does_not_take_it_for_a_driver() -> None:
    driver, pod = both()
    about = pod["metadata"]
    assert about["ownerReferences"][0]["uid"] == driver["metadata"]["ownerReferences"][0]["uid"]
    # A user who may not change the owner's finalizers must be able to create the pod.
    assert not about["ownerReferences"][0].keys() & {"controller", "blockOwnerDeletion"}
    assert about["labels"]["app.kubernetes.io/managed-by"] == "kubectl-mainstem"
    assert about["labels"]["app.kubernetes.io/component"] == "checkpoint"
    assert "annotations" not in about


def test_sidecars_of_the_template_do_not_keep_the_pod_alive() -> None:
    template = {
        "spec": {"containers": [{"name": "proxy", "image": "proxy:1"}], "nodeSelector": {"disk": "ssd"}}
    }
    driver, pod = both(driver={"template": template})
    assert len(driver["spec"]["containers"]) == 2
    assert [each["name"] for each in pod["spec"]["containers"]] == ["driver"]
    assert pod["spec"]["nodeSelector"] == {"disk": "ssd"}


def test_the_plugin_compares_one_document_with_a_cluster() -> None:
    result = CliRunner().invoke(main, ["diff", "a.yaml", "b.yaml"])
    assert result.exit_code == 2
    assert "give one document with --cluster" in result.output


def deployment() -> dict[str, Any]:
    env = [
        {"name": "MAINSTEM_DRIVER_IMAGE", "value": "operators:1"},
        {"name": "MAINSTEM_IMAGE_PULL_SECRETS", "value": "registry"},
        {"name": "MAINSTEM_POD_NAME", "valueFrom": {}},
    ]
    return {"spec": {"template": {"spec": {"containers": [{"name": "operator", "env": env}]}}}}


def test_the_image_is_the_named_one_then_the_drivers_then_the_operators() -> None:
    driver, _ = both()
    running = driver["spec"]["containers"][0]["image"]
    for image, pod, deployments, expected in (
        ("named:1", driver, [deployment()], "named:1"),
        (None, driver, [deployment()], running),
        (None, None, [deployment()], "operators:1"),
    ):
        settings = settings_of(image, pod, deployments)
        assert settings is not None
        assert settings.driver_image == expected
    settings = settings_of(None, None, [deployment()])
    assert settings is not None
    assert settings.image_pull_secrets == ("registry",)
    with pytest.raises(NotReady) as unknown:
        needed(settings_of(None, None, []), "p")
    assert unknown.value.reason == "ImageUnknown"


def test_a_command_that_writes_is_refused_until_the_driver_has_ended() -> None:
    driver, _ = both()
    with pytest.raises(NotReady) as refused:
        refuse_running("p", driver)
    assert refused.value.reason == "CheckpointInUse"
    refuse_running("p", None)
    refuse_running("p", driver | {"status": {"phase": "Failed"}})


@pytest.mark.parametrize(
    ("driver", "options"),
    [
        ({}, ["--cores", "2", "--heap", "1024m"]),
        (
            {"cores": 3, "resources": {"limits": {"memory": "6Gi"}}},
            ["--cores", "3", "--heap", "3072m"],
        ),
        ({"heap": "600m"}, ["--cores", "2", "--heap", "600m"]),
    ],
)
def test_a_command_that_runs_spark_has_resources_cores_and_heap_of_the_driver(
    driver: dict[str, Any], options: list[str]
) -> None:
    pipeline = resource("kafka-to-parquet")
    pipeline["spec"]["driver"] = driver
    revision = runs(pipeline)
    words = command_words("repartition", revision, ["--partitions", "8", "--heap", "9g"])
    assert words == [
        *("checkpoint", "repartition", "-f", "/etc/mainstem/document/pipeline.yaml"),
        *options,
        *("--partitions", "8", "--heap", "9g"),
    ]
    pod = command_pod(pipeline, revision, SETTINGS, "p-checkpoint-1", words, runs_spark=True)
    own = driver_pod(pipeline, revision, SETTINGS, attempt=1, run="generation-1")
    [container] = pod["spec"]["containers"]
    assert container["args"] == words
    assert container["resources"] == own["spec"]["containers"][0]["resources"]


def test_each_command_of_checkpoint_runs_in_a_pod_and_those_that_write_beside_no_driver() -> None:
    commands = set(checkpoint.commands)
    assert set(COMMANDS) == commands
    assert set(WRITING) == commands - {"ls", "show", "verify"}
    revision = runs(resource("kafka-to-parquet"))
    for command in commands - set(RUNNING_SPARK):
        assert command_words(command, revision, ["x"]) == [*ARGUMENTS[:1], command, *ARGUMENTS[2:], "x"]
