"""`kubectl mainstem checkpoint` on a real API server. There is no node: the test plays the kubelet's part of the API."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from apiserver.operatorbed import ROOT, Ours, until
from apiserver.test_operator_trials import TRIED, healthy, trial
from harness.sampling import only
from mainstem_operator.manifests.rbac import Permission


COMMAND = ROOT / ".venv" / "bin" / "kubectl-mainstem"
RIGHTS = (
    Permission("mainstem.dev", ("streamingpipelines",), ("get",), "to read the pipeline"),
    Permission("", ("configmaps",), ("get",), "to read the document of its revision"),
    Permission("", ("pods",), ("get", "create", "delete"), "to run the command"),
    Permission("", ("pods/log",), ("get",), "to read its output"),
)


# As in a terminal: a process that a shell has started in the background ignores Ctrl-C, and so do its children.
FOREGROUND = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"


def started(ours: Ours, kubeconfig: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FOREGROUND, COMMAND, "checkpoint", "-n", ours.namespace, *words],
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(ours: Ours, kubeconfig: Path, *words: str) -> tuple[int, str]:
    process = started(ours, kubeconfig, *words)
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


@pytest.fixture
def keeper(ours: Ours) -> Path:
    """The kubeconfig of a user with the permissions that the page names, and no other."""
    return ours.bed.user(f"keeper-{ours.namespace}", (), {ours.namespace: RIGHTS})


def command_pods(ours: Ours) -> list[Any]:
    return [each for each in ours.pods() if each.metadata.name != f"{ours.name}-driver"]


@pytest.mark.full(gate="apiserver/test_kubectl_plugin.py::test_an_interrupt_deletes_the_pod")
def test_a_pod_that_does_not_start_is_named_with_its_cause_and_deleted(ours: Ours, keeper: Path) -> None:
    ours.start_running()
    process = started(ours, keeper, "--timeout", "4", "ls", ours.name)
    [pod] = until(lambda: command_pods(ours))
    assert pod.spec.containers[0].args[:3] == ["checkpoint", "ls", "-f"]
    assert pod.spec.containers[0].image == "registry.example/mainstem:1"
    assert pod.metadata.owner_references[0].uid == ours.get()["metadata"]["uid"]
    unschedulable = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
    }
    ours.bed.core.patch_namespaced_pod_status(
        pod.metadata.name, ours.namespace, {"status": {"conditions": [unschedulable]}}
    )
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 5
    assert "did not start within 4 seconds: no room" in output
    assert "[CommandPodNotStarted]" in output
    assert command_pods(ours) == []
    assert ours.status["phase"] == "Running"


@pytest.mark.full(
    gate="unit/test_command_pod.py::test_a_command_that_writes_is_refused_until_the_driver_has_ended"
)
def test_commands_that_write_are_refused_while_the_driver_runs(ours: Ours, keeper: Path) -> None:
    ours.start_running()
    for words in (("rewind", ours.name, "--to", "1"), ("fork", ours.name, "/x"), ("rm", ours.name, "--yes")):
        code, output = ended(ours, keeper, *words)
        assert code == 5
        assert "[CheckpointInUse]" in output
    assert command_pods(ours) == []


@pytest.mark.parametrize("number", only([signal.SIGINT, signal.SIGTERM], [signal.SIGINT]))
def test_an_interrupt_deletes_the_pod(ours: Ours, keeper: Path, number: signal.Signals) -> None:
    ours.start_running()
    process = started(ours, keeper, "show", ours.name)
    until(lambda: command_pods(ours))
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert command_pods(ours) == []


@pytest.mark.full(
    gate="apiserver/test_diff_cluster.py::test_two_rights_are_enough_and_without_them_the_api_server_is_quoted"
)
def test_without_the_permission_to_create_pods_the_api_server_is_quoted(ours: Ours) -> None:
    ours.start_running()
    reader = ours.bed.user(f"reader-{ours.namespace}", (), {ours.namespace: (RIGHTS[0], RIGHTS[1])})
    code, output = ended(ours, reader, "ls", ours.name)
    assert code == 5
    assert "[ApiServerForbids]" in output


def test_promote_names_the_revision_on_trial_and_nothing_else(ours: Ours) -> None:
    healthy(ours)
    rights = (Permission("mainstem.dev", ("streamingpipelines",), ("get", "patch"), "to promote"),)
    person = ours.bed.user(f"promoter-{ours.namespace}", (), {ours.namespace: rights})
    code, output = promoted(ours, person)
    assert (code, "it has no trial" in output, "[NothingOnTrial]" in output) == (5, True, True), output
    ours.change(**TRIED)
    revision = trial(ours, "Running")["revision"]
    code, output = promoted(ours, person)
    assert (code, revision in output) == (0, True), output
    assert ours.get()["spec"]["trial"]["promote"] == revision
    assert ours.get()["spec"]["trial"]["batches"] == 2
    trial(ours, "Promoted")
    code, output = promoted(ours, person)
    assert (code, "is Promoted" in output) == (5, True), output


def promoted(ours: Ours, kubeconfig: Path) -> tuple[int, str]:
    done = subprocess.run(
        [COMMAND, "promote", "-n", ours.namespace, ours.name],
        env=os.environ | {"KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
