"""An upgrade: another default image, a definition with one field more, another builder of pods. No driver notices.

The release before is today's operator, made older by `release_before`, over a definition that does not know
`driver.template`. It makes the pipelines; then definition and operator are today's, in the order of the chart. What was
seen on the way is kept, and each test has a pipeline of its own to go on with, so that their order is no matter.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from apiserver.operatorbed import PATH, PLURAL, ROOT, SPEC, Bed, Operator, Ours, run, until
from kubernetes.client import ApiException
from mainstem.names import CRD_REVISION, REVISION, SCHEMA
from mainstem.schema import crd


pytestmark = pytest.mark.faults


OLD_IMAGE, NEW_IMAGE = "registry.example/mainstem:1", "registry.example/mainstem:2"
TEMPLATE = {"metadata": {"labels": {"team": "blue"}}, "spec": {"nodeSelector": {"disk": "fast"}}}
OLD = "example.com/old"


# -- the release before ---------------------------------------------------------------------------------------------


def definition_before() -> dict[str, Any]:
    """Today's without `driver.template`, which the default of `driver` names too."""
    definition = crd()
    definition["metadata"]["annotations"][SCHEMA] = str(CRD_REVISION - 1)
    [version] = definition["spec"]["versions"]
    driver = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["driver"]
    del driver["properties"]["template"], driver["default"]["template"]
    return definition


def old_layout(pod: dict[str, Any]) -> dict[str, Any]:
    """A driver's pod as the release before had it: this more than today's, and that less."""
    container = pod["spec"]["containers"][0]
    pod["metadata"]["annotations"][OLD] = "yes"
    pod["spec"]["volumes"].append({"name": "old", "emptyDir": {}})
    container["volumeMounts"].append({"name": "old", "mountPath": "/old"})
    container["env"].append({"name": "OLD", "value": "yes"})
    del container["readinessProbe"]
    return pod


def release_before() -> None:
    """The operator of the release before: it takes an older definition, and builds pods its own way."""
    from mainstem_operator import __main__
    from mainstem_operator.manifests import pods

    todays, todays_template = pods.driver_pod, pods.executor_template

    def driver_pod(*given: Any, **more: Any) -> dict[str, Any]:
        return old_layout(todays(*given, **more))

    def executor_template(*given: Any) -> dict[str, Any] | None:
        template = todays_template(*given)
        return template and {**template, "metadata": {**template["metadata"], "annotations": {OLD: "yes"}}}

    with (
        patch.object(pods, "driver_pod", driver_pod),
        patch.object(pods, "executor_template", executor_template),
        patch.object(__main__, "CRD_REVISION", CRD_REVISION - 1),
    ):
        __main__.main()


def is_old(pod: Any) -> bool:
    """Whether the release before has built it; no pod is a bit of both."""
    container = pod.spec.containers[0]
    signs = {
        OLD in pod.metadata.annotations,
        "old" in [volume.name for volume in pod.spec.volumes],
        "OLD" in [variable.name for variable in container.env],
        container.readiness_probe is None,
    }
    [sign] = signs
    return sign


def executors(ours: Ours, pod: Any) -> dict[str, Any]:
    """The template of executors' pods, as the driver of this pod finds it among its files."""
    template: dict[str, Any] = json.loads(ours.files(pod)["executor.yaml"])
    return template


# -- the upgrade ----------------------------------------------------------------------------------------------------


class Sight(NamedTuple):
    """What is seen of a pipeline from outside; `pods` are the uid and version of each."""

    pods: list[tuple[str, str]]
    status: dict[str, Any]
    version: str
    events: list[str]


@dataclass(frozen=True)
class Upgrade:
    """The pipelines, and what was seen on the way.

    Attributes:
        plain: everything in the driver's pod.
        scaled: with executors.
        asking: made with the field that the definition before did not know.
        resting: has run with executors, and is suspended.
        objection: the API server's words on that field, before.
        dropped: the driver of `asking` as it was stored, before.
        refusal: exit code and output of today's operator, before.
        before, after: each pipeline under the release before, and once today's has looked at all of them.
        writes: requests in between that may have changed something.
    """

    plain: Ours
    scaled: Ours
    asking: Ours
    resting: Ours
    objection: str
    dropped: dict[str, Any]
    refusal: tuple[int, str]
    before: dict[str, Sight]
    after: dict[str, Sight]
    writes: Counter[str]


@pytest.fixture(scope="module")
def upgrade(bed: Bed) -> Iterator[Upgrade]:
    """Done; today's operator runs, and sees no pipelines but these."""
    bed.operator.stop()
    namespace = bed.namespace()
    command = (sys.executable, "-m", "apiserver.test_operator_upgrade")
    only = {"MAINSTEM_NAMESPACES": namespace}
    old = Operator(
        bed.plane,
        bed.operator_kubeconfig,
        argv=command,
        PYTHONPATH=str(ROOT / "tests"),
        MAINSTEM_DRIVER_IMAGE=OLD_IMAGE,
        **only,
    )
    new = Operator(bed.plane, bed.operator_kubeconfig, MAINSTEM_DRIVER_IMAGE=NEW_IMAGE, **only)
    try:
        yield carried_out(bed, namespace, old, new)
    finally:
        old.kill()
        new.kill()
        define(bed, crd())
        until(lambda: objection(bed, namespace) == "")


def carried_out(bed: Bed, namespace: str, old: Operator, new: Operator) -> Upgrade:
    define(bed, definition_before())
    words = until(lambda: unknown_field(bed, namespace), why="the API server still knows the field")
    old.up()
    refusal = run(bed.operator_kubeconfig)
    plain, scaled, asking, resting = made = [
        Ours(bed, namespace, name) for name in ("plain", "scaled", "asking", "resting")
    ]
    start(plain)
    start(scaled, executors={"instances": 2}, driver={"cores": 1})
    start(asking, driver={"template": TEMPLATE})
    start(resting, executors={"instances": 2})
    rest(resting)
    dropped = asking.get()["spec"]["driver"]
    bed.quiet()
    before, writes = sights(made), bed.writes()
    define(bed, crd())
    until(lambda: objection(bed, namespace) == "", why="the API server does not know the field")
    old.stop()
    new.up()
    until(lambda: sum(new.phases().values()) == len(made), why="not all pipelines were looked at")
    bed.quiet()
    after, writes = sights(made), bed.writes() - writes
    return Upgrade(plain, scaled, asking, resting, words, dropped, refusal, before, after, writes)


def define(bed: Bed, definition: dict[str, Any]) -> None:
    """This definition in place of the one that is there, its list of versions as a whole."""
    definitions = bed.dynamic.resources.get(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
    )
    definitions.patch(body=definition, content_type="application/merge-patch+json")


def objection(bed: Bed, namespace: str) -> str:
    """The API server's words on a document with the field where it may drop nothing; empty where it takes it."""
    body = {
        "apiVersion": "/".join(PATH),
        "kind": "StreamingPipeline",
        "metadata": {"name": "asked"},
        "spec": {**SPEC, "driver": {"template": TEMPLATE}},
    }
    at = (*PATH, namespace, PLURAL)
    try:
        bed.objects.create_namespaced_custom_object(*at, body, dry_run="All", field_validation="Strict")
    except ApiException as error:
        return str(error.body)
    return ""


def unknown_field(bed: Bed, namespace: str) -> str:
    words = objection(bed, namespace)
    return str(json.loads(words)["message"]) if "unknown field" in words else ""


def start(ours: Ours, **spec: Any) -> None:
    ours.start_running(**spec)


def rest(ours: Ours) -> None:
    ours.change(suspend=True)
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    ours.phase("Suspended")
    until(lambda: ours.pods() == [])


def sights(pipelines: list[Ours]) -> dict[str, Sight]:
    return {ours.name: sight(ours) for ours in pipelines}


def sight(ours: Ours) -> Sight:
    resource = ours.get()
    pods = [(pod.metadata.uid, pod.metadata.resource_version) for pod in ours.pods()]
    return Sight(pods, resource["status"], resource["metadata"]["resourceVersion"], ours.events())


# -- what is promised -----------------------------------------------------------------------------------------------


def test_the_previous_definition_does_not_know_the_field(upgrade: Upgrade) -> None:
    assert upgrade.objection.endswith('strict decoding error: unknown field "spec.driver.template"')
    assert sorted(upgrade.dropped) == ["cores", "resources"]


def test_the_operator_rejects_the_previous_definition_in_one_line(upgrade: Upgrade) -> None:
    code, output = upgrade.refusal
    [line] = output.strip().splitlines()
    assert code == 5
    assert f"has revision {CRD_REVISION - 1}; this operator needs revision {CRD_REVISION}" in line


def test_an_upgrade_restarts_no_driver_and_writes_nothing(upgrade: Upgrade) -> None:
    assert upgrade.after == upgrade.before
    assert dict(upgrade.writes) == {}
    phases = {name: sight.status["phase"] for name, sight in upgrade.after.items()}
    assert phases == {
        "plain": "Running",
        "scaled": "Running",
        "asking": "Running",
        "resting": "Suspended",
    }
    assert [len(sight.pods) for sight in upgrade.after.values()] == [1, 1, 1, 0]


@pytest.mark.parametrize("name", ["plain", "scaled"])
def test_running_drivers_are_those_of_the_old_release_and_ready(upgrade: Upgrade, name: str) -> None:
    ours: Ours = getattr(upgrade, name)
    pod = ours.pod(1)
    assert is_old(pod)
    assert pod.spec.containers[0].image == OLD_IMAGE
    assert ours.condition("Ready")["status"] == "True"
    assert ours.events() == ["DriverStarting", "Ready"]


def test_the_new_field_replaces_only_the_driver_of_its_pipeline(upgrade: Upgrade) -> None:
    ours, others = upgrade.asking, (upgrade.plain, upgrade.scaled)
    first = ours.pod(1)
    assert "team" not in first.metadata.labels
    ours.change(driver={"template": TEMPLATE})
    ours.passes_preflight()
    ours.await_driver_deletion()
    assert ours.phase("Draining")["attempt"] == 1
    assert (ours.pod().metadata.uid, is_old(ours.pod())) == (first.metadata.uid, True)
    ours.ends(0, "drained")
    second = ours.runs(2)
    ours.reports(attempt=2)
    ours.phase("Running")
    assert (second.metadata.labels["team"], second.spec.node_selector) == ("blue", {"disk": "fast"})
    assert not is_old(second)
    assert second.spec.containers[0].image == NEW_IMAGE
    assert [sight(other).pods for other in others] == [upgrade.before[other.name].pods for other in others]


def test_a_resumed_pipeline_is_built_by_the_new_release(upgrade: Upgrade) -> None:
    ours = upgrade.resting
    ours.change(suspend=False)
    pod = ours.pod(2)
    assert not is_old(pod)
    assert pod.spec.containers[0].image == NEW_IMAGE
    assert pod.metadata.annotations[REVISION] == upgrade.before[ours.name].status["revision"]
    assert OLD not in executors(ours, pod)["metadata"].get("annotations", {})
    assert OLD in executors(upgrade.scaled, upgrade.scaled.pod(1))["metadata"]["annotations"]


if __name__ == "__main__":
    release_before()
