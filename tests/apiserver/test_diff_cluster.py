"""`mainstem diff FILE --cluster` on a real API server: what runs is read from the resource and its ConfigMap."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver.operatorbed import SPEC, Ours, windowed
from click.testing import CliRunner
from mainstem.cli import main
from mainstem_operator.manifests.rbac import Permission


READS = (
    Permission("mainstem.dev", ("streamingpipelines",), ("get",), "to read the pipeline"),
    Permission("", ("configmaps",), ("get",), "to read the document of its revision"),
)


def document(folder: Path, spec: dict[str, Any], name: str = "ticks") -> Path:
    file = folder / "wanted.yaml"
    body = {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": name},
        "spec": spec,
    }
    file.write_text(yaml.safe_dump(body))
    return file


def run(kubeconfig: Path | str, *arguments: Any) -> tuple[int, str]:
    environment = {"KUBECONFIG": str(kubeconfig), "COLUMNS": "100", "KUBERNETES_SERVICE_HOST": None}
    result = CliRunner().invoke(main, ["diff", *map(str, arguments)], env=environment)
    return result.exit_code, result.output


def compared(ours: Ours, file: Path, *arguments: Any) -> tuple[int, str]:
    return run(ours.bed.plane.kubeconfig, file, "--cluster", "-n", ours.namespace, *arguments)


def test_a_document_is_compared_with_the_running_revision_and_its_queries(ours: Ours, tmp_path: Path) -> None:
    pod = ours.start_running(windowed("1 minute"))
    revision = pod.metadata.annotations["mainstem.dev/revision"]
    code, text = compared(ours, document(tmp_path, windowed("5 minutes")))
    assert code == 5
    lines = text.splitlines()
    assert lines[0] == f"StreamingPipeline {ours.namespace}/ticks: revision {revision}, phase Running"
    assert lines[3].split()[:3] == ["show", ours.status["queries"][0]["state"], "misreads"]
    code, text = compared(
        ours, document(tmp_path, windowed("5 minutes", onChange="keep")), "--output", "json"
    )
    verdict = json.loads(text)
    assert (code, verdict["refused"], verdict["running"]["revision"]) == (0, [], revision)
    assert verdict["queries"][0]["state"] == ours.status["queries"][0]["state"]


@pytest.mark.full(gate="unit/test_estimates.py::test_the_running_revision_is_the_one_that_the_driver_reports")
def test_the_revision_that_the_driver_took_over_is_compared(ours: Ours, tmp_path: Path) -> None:
    ours.start_running()
    ours.reports(reported={"revision": ours.status["revision"]})
    changed = copy.deepcopy(SPEC)
    changed["queries"][0]["trigger"] = {"processingTime": "3 seconds"}
    ours.change(queries=changed["queries"])
    taken = ours.pod(1)
    while (update := taken.metadata.annotations.get("mainstem.dev/update", "-")) == "-":
        taken = ours.pod(1)
    ours.reports(reported={"revision": update})
    code, text = compared(ours, document(tmp_path, changed))
    assert code == 0
    assert f"revision {update}" in text
    assert text.splitlines()[-1] == "Nothing restarts."


@pytest.mark.full(gate="unit/test_estimates.py::test_the_running_revision_is_the_one_that_the_driver_reports")
def test_a_pipeline_without_a_document_that_ran_and_one_that_does_not_exist(
    ours: Ours, tmp_path: Path
) -> None:
    ours.bed.operator.kill()
    ours.create(SPEC, suspend=True)
    code, text = compared(ours, document(tmp_path, SPEC))
    assert code == 5
    assert "[NothingHasRun]" in text
    code, text = compared(ours, document(tmp_path, SPEC), "--name", "other")
    assert code == 5
    assert f"the StreamingPipeline {ours.namespace}/other: not found [PipelineNotFound]" in text
    ours.bed.operator.up()


def test_two_rights_are_enough_and_without_them_the_api_server_is_quoted(ours: Ours, tmp_path: Path) -> None:
    ours.start_running()
    file = document(tmp_path, SPEC)
    nobody = ours.bed.user(f"nobody-{ours.namespace}", ())
    code, text = run(nobody, file, "--cluster", "-n", ours.namespace)
    assert code == 5
    assert "[ApiServerForbids]" in text
    assert "cannot get resource" in text
    reader = ours.bed.user(f"reader-{ours.namespace}", (), {ours.namespace: READS})
    assert run(reader, file, "--cluster", "-n", ours.namespace)[0] == 0


@pytest.mark.parametrize("arguments", [(), ("--context", "elsewhere")])
def test_a_missing_kubeconfig_or_context_is_an_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, text = run(tmp_path / "none", document(tmp_path, SPEC), "--cluster", *arguments)
    assert code == 5
    assert "[KubeconfigUnusable]" in text


def test_an_api_server_that_does_not_answer_is_named(tmp_path: Path) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "gone",
        "clusters": [{"name": "gone", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "gone", "user": {}}],
        "contexts": [{"name": "gone", "context": {"cluster": "gone", "user": "gone", "namespace": "team"}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    code, text = run(tmp_path / "kubeconfig", document(tmp_path, SPEC), "--cluster")
    assert code == 5
    assert "the StreamingPipeline team/ticks: the API server does not answer" in text
    assert "[ApiServerUnreachable]" in text
