"""The status of a pipeline in Flux, Helm, Argo CD and kubectl, by their own code, over its life on a real API server."""

import copy
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver.operatorbed import BOUNDED, SPEC, Ours, until, windowed
from apiserver.test_operator_trials import DIFFERS, PASSED, TRIED, ends, gone, healthy
from apiserver.test_operator_updates import wanted
from harness import gitops
from harness.gotools import kubernetes


ROOT = Path(__file__).resolve().parents[2]
ARGO = ROOT / "k8s" / "gitops" / "argocd" / "mainstem.dev" / "StreamingPipeline"
CONFIG_MAP = ROOT / "k8s" / "gitops" / "argocd" / "argocd-cm.yaml"
KUSTOMIZATION = ROOT / "k8s" / "gitops" / "flux" / "kustomization.yaml"
KEY = "mainstem.dev_StreamingPipeline"


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def flux_checks() -> dict[str, str]:
    [entry] = loaded(KUSTOMIZATION)["spec"]["healthCheckExprs"]
    return {key: entry[key] for key in ("current", "failed", "inProgress")}


# -- the files, as Argo CD tests its own ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", loaded(ARGO / "health_test.yaml")["tests"], ids=lambda case: case["inputPath"]
)
def test_the_health_check_of_argo_cd_passes_its_test_data(case: dict[str, Any]) -> None:
    [results] = gitops.lua([loaded(ARGO / case["inputPath"])], (ARGO / "health.lua").read_text())
    assert results == case["healthStatus"]


def test_the_actions_of_argo_cd_pass_their_test_data() -> None:
    cases, at = loaded(ARGO / "actions" / "action_test.yaml"), ARGO / "actions"
    for case in cases["discoveryTests"]:
        [results] = gitops.lua([loaded(at / case["inputPath"])], (at / "discovery.lua").read_text())
        assert [{"name": name, "disabled": results[name]["disabled"]} for name in sorted(results)] == case[
            "result"
        ]
    assert {case["action"] for case in cases["actionTests"]} == {"suspend", "resume", "restart", "promote"}
    for case in cases["actionTests"]:
        [results] = gitops.lua(
            [loaded(at / case["inputPath"])], (at / case["action"] / "action.lua").read_text()
        )
        wanted = loaded(at / case["expectedOutputPath"])
        for made in (results, wanted):
            if nonce := made["spec"].get("restartNonce"):
                assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", nonce)
                made["spec"]["restartNonce"] = "now"
        assert results == wanted, case["action"]


def test_the_snippet_of_argocd_cm_contains_the_files() -> None:
    data = loaded(CONFIG_MAP)["data"]
    assert data.pop(f"resource.customizations.health.{KEY}") == (ARGO / "health.lua").read_text()
    actions = yaml.safe_load(data.pop(f"resource.customizations.actions.{KEY}"))
    assert actions["discovery.lua"] == (ARGO / "actions" / "discovery.lua").read_text()
    assert {entry["name"]: entry["action.lua"] for entry in actions["definitions"]} == {
        path.parent.name: path.read_text() for path in ARGO.glob("actions/*/action.lua")
    }
    assert data == {}


# -- a life ---------------------------------------------------------------------------------------------------------

LIFE = [
    # the moment                              kstatus        Flux's expressions  Argo CD       Ready
    ("not yet seen by the operator",          "InProgress",  "InProgress",       "Progressing", "-"),
    ("created",                               "InProgress",  "InProgress",       "Progressing", "False"),
    ("starting",                              "InProgress",  "InProgress",       "Progressing", "False"),
    ("running",                               "Current",     "Current",          "Healthy",     "True"),
    ("a query restarts",                      "InProgress",  "InProgress",       "Progressing", "False"),
    ("a query has failed",                    "Failed",      "Failed",           "Degraded",    "False"),
    ("suspending",                            "InProgress",  "InProgress",       "Progressing", "False"),
    ("suspended",                             "Current",     "Current",          "Suspended",   "True"),
    ("resumed, not yet seen",                 "InProgress",  "InProgress",       "Progressing", "True"),
    ("resumed",                               "InProgress",  "InProgress",       "Progressing", "False"),
    ("backing off",                           "InProgress",  "Failed",           "Degraded",    "False"),
    ("a restart was asked for",               "InProgress",  "InProgress",       "Progressing", "False"),
    ("running again",                         "Current",     "Current",          "Healthy",     "True"),
    ("an invalid document beside the driver", "Failed",      "Failed",           "Degraded",    "False"),
    ("a document that Spark refuses",         "Failed",      "Failed",           "Degraded",    "False"),
    ("deleted",                               "Terminating", "InProgress",       "Progressing", "False"),
    ("invalid from the start",                "Failed",      "Failed",           "Degraded",    "False"),
    ("completed",                             "Current",     "Current",          "Healthy",     "True"),
    ("failed under restart.policy Never",     "Failed",      "Failed",           "Degraded",    "False"),
    ("a change that a checkpoint forbids",    "Failed",      "Failed",           "Degraded",    "False"),
    ("a change that has failed",              "Failed",      "Failed",           "Degraded",    "False"),
    ("a trial runs",                          "InProgress",  "InProgress",       "Progressing", "False"),
    ("a trial has passed",                    "InProgress",  "InProgress",       "Suspended",   "False"),
    ("promoted",                              "Current",     "Current",          "Healthy",     "True"),
    ("a trial shows a difference",            "Failed",      "Failed",           "Degraded",    "False"),
]  # fmt: skip


def lived(ours: Ours, bounded: Ours, invalid: Ours, stateful: Ours, tried: Ours) -> dict[str, dict[str, Any]]:
    """The resource at each moment of its life, as the API server has it."""
    moments: dict[str, dict[str, Any]] = {}

    def ready(reason: str, status: str, pipeline: Ours = ours) -> None:
        generation = pipeline.get()["metadata"]["generation"]
        until(
            lambda: (
                (pipeline.condition("Ready")["reason"], pipeline.condition("Ready")["status"])
                == (reason, status)
                and pipeline.status["observedGeneration"] == generation
            ),
            why=f"Ready {status} {reason}, but {pipeline.condition('Ready')}",
        )

    def keep(moment: str, pipeline: Ours = ours) -> None:
        moments[moment] = pipeline.get()

    ours.bed.operator.kill()
    ours.create(restart={"backoff": "300 seconds", "maxBackoff": "300 seconds"})
    keep("not yet seen by the operator")
    ours.bed.operator.up()
    ready("DriverStarting", "False")
    keep("created")
    ours.runs()
    ours.reports("Starting")
    ready("QueriesStarting", "False")
    keep("starting")
    ours.reports("Running")
    ready("Running", "True")
    keep("running")
    ours.reports("Restarting", reason="BrokerUnreachable", message="no broker")
    ready("QueryRestarting", "False")
    keep("a query restarts")
    ours.reports("Failed", reason="SinkRefused", message="no such table")
    ready("SinkRefused", "False")
    keep("a query has failed")
    ours.change(suspend=True)
    ours.await_driver_deletion()
    ready("Suspending", "False")
    keep("suspending")
    ours.ends(0, "drained")
    ready("Suspended", "True")
    keep("suspended")
    resumed = copy.deepcopy(moments["suspended"])
    resumed["metadata"]["generation"] += 1
    moments["resumed, not yet seen"] = resumed
    ours.change(suspend=False)
    ready("DriverStarting", "False")
    keep("resumed")
    ours.runs(2)
    ours.ends(4, "failed", "SinkRefused")
    ours.phase("BackingOff")
    keep("backing off")
    _acts(ours, "restart")
    ours.pod(3)
    ready("DriverStarting", "False")
    keep("a restart was asked for")
    ours.runs(3)
    ours.reports("Idle", attempt=3)
    ready("Running", "True")
    keep("running again")
    ours.change(checkpoints={"location": "/lost/with/the/pod"})
    ready("CheckpointNotDurable", "False")
    keep("an invalid document beside the driver")
    ours.change(checkpoints={"location": "s3a://checkpoints/ticks"})
    ready("Running", "True")
    ours.ends(3, "failed", "SpecInvalid")
    ours.phase("Failed")
    keep("a document that Spark refuses")
    ours.change(timeZone="Europe/Zurich")
    ours.runs(4)
    ours.delete()
    ours.await_driver_deletion()
    ours.phase("Deleting")
    keep("deleted")
    ours.ends(0, "drained")

    invalid.create(checkpoints={"location": "/lost/with/the/pod"})
    invalid.phase("Invalid")
    keep("invalid from the start", invalid)
    bounded.create(BOUNDED, restart={"policy": "Never"})
    bounded.runs()
    bounded.reports("Completed")
    bounded.ends(0, "completed")
    bounded.phase("Completed")
    keep("completed", bounded)
    _acts(bounded, "restart")
    bounded.runs(2)
    bounded.ends(4, "failed", "SinkRefused")
    bounded.phase("Failed")
    keep("failed under restart.policy Never", bounded)
    stateful.start_running(windowed("1 minute"))
    stateful.change(**windowed("5 minutes"))
    ready("CheckpointIncompatible", "False", stateful)
    keep("a change that a checkpoint forbids", stateful)
    stateful.change(**windowed("1 minute"))
    ready("Running", "True", stateful)
    stateful.change(image="registry.example/other:2")
    stateful.passes_preflight()
    stateful.await_driver_deletion()
    stateful.ends(0, "drained")
    stateful.runs(2)
    stateful.ends(4, "failed", "SinkRefused")
    ready("RolledBack", "False", stateful)
    stateful.runs(3)
    keep("a change that has failed", stateful)

    healthy(tried)
    tried.change(**TRIED)
    ready("TrialRunning", "False", tried)
    keep("a trial runs", tried)
    ends(tried, 0, PASSED)
    ready("TrialPassed", "False", tried)
    keep("a trial has passed", tried)
    _acts(tried, "promote")
    promoted = tried.status["trial"]["revision"]
    until(lambda: wanted(tried) == promoted, why="not handed over")
    tried.reports(reported={"revision": promoted})
    ready("Running", "True", tried)
    keep("promoted", tried)
    until(lambda: tried.status["history"][0]["outcome"] == "Healthy", why="not healthy")
    gone(tried)
    tried.change(queries=SPEC["queries"])
    ends(tried, 9, DIFFERS)
    ready("TrialDiffers", "False", tried)
    keep("a trial shows a difference", tried)
    return moments


def _acts(on: Ours, action: str) -> None:
    """Argo CD's action, applied as Argo CD does: the object that the script returns."""
    [made] = gitops.lua([on.get()], (ARGO / "actions" / action / "action.lua").read_text())
    on.change(**made["spec"])


@pytest.fixture(scope="module")
def life(bed: Any) -> dict[str, dict[str, Any]]:
    namespace = bed.namespace()
    bed.operator.up()
    return lived(
        *(Ours(bed, namespace, name) for name in ("ticks", "bounded", "invalid", "stateful", "tried"))
    )


@pytest.fixture(scope="module")
def readings(life: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """What kstatus, Flux and Argo CD read at each moment; each tool is asked once."""
    pipelines = [life[row[0]] for row in LIFE]
    health = gitops.lua(pipelines, (ARGO / "health.lua").read_text())
    each = zip(gitops.kstatus(pipelines), gitops.flux(pipelines, flux_checks()), health, strict=True)
    return dict(zip((row[0] for row in LIFE), each, strict=True))


@pytest.mark.parametrize(("moment", "kstatus", "flux", "argo", "ready"), LIFE, ids=[row[0] for row in LIFE])
def test_every_tool_reads_each_moment_as_its_user_expects(
    life: dict[str, dict[str, Any]],
    readings: dict[str, tuple[str, str, dict[str, Any]]],
    moment: str,
    kstatus: str,
    flux: str,
    argo: str,
    ready: str,
) -> None:
    pipeline = life[moment]
    health = readings[moment][2]
    assert readings[moment][:2] == (kstatus, flux)
    assert health["status"] == argo, health
    conditions = {entry["type"]: entry for entry in pipeline["status"].get("conditions", ())}
    assert conditions.get("Ready", {"status": "-"})["status"] == ready
    assert not {"Reconciling", "Stalled"} <= conditions.keys()
    assert all(
        entry["observedGeneration"] == pipeline["status"]["observedGeneration"]
        for entry in conditions.values()
    )


def test_every_moment_has_an_expectation(life: dict[str, dict[str, Any]]) -> None:
    assert list(life) == [row[0] for row in LIFE]


@pytest.mark.full(gate="apiserver/test_gitops.py::test_every_tool_reads_each_moment_as_its_user_expects")
def test_kubectl_wait_ends_as_its_user_expects(ours: Ours) -> None:
    """A suspended pipeline is ready at once; one that was just resumed is not, although its condition is still True."""
    kubectl = kubernetes().build().path / "kubectl"

    def waits(condition: str, seconds: int) -> bool:
        argv = [kubectl, "--kubeconfig", ours.bed.plane.kubeconfig, "--namespace", ours.namespace, "wait"]
        argv += [f"--for=condition={condition}", f"sp/{ours.name}", f"--timeout={seconds}s"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0 or "timed out" in done.stderr, done.stderr
        return done.returncode == 0

    ours.create(suspend=True)
    assert waits("Ready", 60)
    ours.bed.operator.kill()
    ours.change(suspend=False)
    assert ours.condition("Ready")["status"] == "True", "of the generation before"
    assert not waits("Ready", 1)
    ours.bed.operator.up()
    ours.runs()
    ours.reports("Failed", reason="SinkRefused", message="no such table")
    assert waits("Stalled", 60)
    assert not waits("Ready", 1)
