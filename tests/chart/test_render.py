"""The manifests that the chart renders from its values; no server is needed."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart.rendering import CHART, PLAIN, ROOT, HelmRefused, helm, objects, parse, plain_manifests, text
from mainstem import names
from mainstem.language.yaml.yamltext import parse as read
from mainstem.schema import crd, crd_yaml


SHIPPED = CHART / "crd" / "streamingpipelines.yaml"


def kinds(manifests: list[dict]) -> set[str]:
    return {each["kind"] for each in manifests}


def the(kind: str, values: dict | None = None, suffix: str = "") -> dict:
    [manifest] = [
        each
        for each in objects(values)
        if each["kind"] == kind and each["metadata"]["name"] == f"mainstem{suffix}"
    ]
    return manifest


def pod(values: dict | None = None) -> dict:
    return the("Deployment", values)["spec"]["template"]


def selected(labels: dict[str, str], by: dict[str, str]) -> bool:
    return by.items() <= labels.items()


def test_helm_lint_has_no_warning() -> None:
    message = helm("lint", "--strict", CHART)
    assert set(re.findall(r"\[(\w+)\] (.*)", message)) <= {("INFO", "Chart.yaml: icon is recommended")}


def test_plain_manifests_are_the_defaults_of_the_chart() -> None:
    assert PLAIN.read_text(encoding="utf-8") == plain_manifests(), "run make manifests"


def test_plain_manifests_hold_the_objects_of_the_chart() -> None:
    plain = parse(PLAIN.read_text(encoding="utf-8"))
    assert plain.pop(0)["kind"] == "Namespace"
    chart = objects({"crd": {"install": False}}, "--skip-tests")
    for each in chart:
        del each["metadata"]["labels"]["helm.sh/chart"]
        del each["metadata"]["labels"]["app.kubernetes.io/managed-by"]
    assert plain == chart
    assert "Helm" not in yaml.safe_dump_all(plain)


def test_the_definition_of_the_chart_is_the_generated_one() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == crd_yaml(), "run make generate"


def test_the_rendered_definition_is_the_generated_one_with_helm_annotations() -> None:
    manifest = the_definition()
    annotations = manifest["metadata"].pop("annotations")
    assert annotations.pop("helm.sh/resource-policy") == "keep"
    wanted = crd()
    assert annotations == wanted["metadata"].pop("annotations", {})
    assert manifest["metadata"].pop("labels")["app.kubernetes.io/managed-by"] == "Helm"
    assert manifest == wanted


def test_the_text_of_the_definition_is_copied_exactly() -> None:
    """Read and written again by Helm, long numbers lose their digits."""
    assert SHIPPED.read_text(encoding="utf-8").partition("\nspec:\n")[2].strip() in text()


def the_definition() -> dict:
    [manifest] = [each for each in objects() if each["kind"] == "CustomResourceDefinition"]
    return manifest


def test_the_definition_can_be_left_out() -> None:
    assert "CustomResourceDefinition" not in kinds(objects({"crd": {"install": False}}))


def test_versions_are_those_of_the_operator() -> None:
    version = tomllib.loads((ROOT / "operator" / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (version, version)


def test_the_new_operator_is_on_standby_before_the_old_one_ends() -> None:
    spec = the("Deployment")["spec"]
    assert spec["replicas"] == 1
    rolling = {"maxSurge": 1, "maxUnavailable": 0}
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert the("Deployment", {"replicas": 2})["spec"]["replicas"] == 2


def test_the_operator_gets_its_pod_its_release_and_the_namespace_of_its_lease() -> None:
    [container] = pod({"lease": {"namespace": "leases"}})["spec"]["containers"]
    env = {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}
    assert env["MAINSTEM_POD_NAME"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    assert env["MAINSTEM_RELEASE"] == "mainstem/mainstem"
    assert env["MAINSTEM_LEASE_NAMESPACE"] == "leases"


@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
def test_pods_meet_the_restricted_level(kind: str) -> None:
    """The API server is asked too, in test_server.py; here every field that it looks at, and what we add."""
    spec = pod()["spec"] if kind == "Deployment" else the("Pod", suffix="-test")["spec"]
    context = spec["securityContext"]
    assert context["runAsNonRoot"] is True
    assert (context["runAsUser"], context["runAsGroup"]) == (names.UID, names.UID)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert {next(iter(set(volume) - {"name"})) for volume in spec.get("volumes", [])} <= {"emptyDir"}
    [container] = spec["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert container["resources"]["requests"]["cpu"]
    assert container["resources"]["requests"]["memory"]
    assert container["resources"]["limits"]["memory"]
    assert spec["enableServiceLinks"] is False


def test_the_operator_can_write_only_to_tmp() -> None:
    spec = pod()["spec"]
    [container] = spec["containers"]
    assert container["volumeMounts"] == [{"name": "tmp", "mountPath": "/tmp"}]
    assert [volume["name"] for volume in spec["volumes"]] == ["tmp"]


@pytest.mark.parametrize("probe", ["startupProbe", "livenessProbe", "readinessProbe"])
def test_probes_call_the_operator(probe: str) -> None:
    [container] = pod({"ports": {"health": 8081}})["spec"]["containers"]
    path = "/readyz" if probe == "readinessProbe" else "/healthz"
    assert container[probe]["httpGet"] == {"path": path, "port": "health"}
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {
        "health": 8081,
        "metrics": 9090,
    }


def test_the_deployment_selects_its_pods_and_no_driver() -> None:
    deployment = the("Deployment")
    by = deployment["spec"]["selector"]["matchLabels"]
    assert selected(deployment["spec"]["template"]["metadata"]["labels"], by)
    driver = {
        names.NAME_LABEL: "mainstem",
        names.MANAGED_LABEL: names.OPERATOR,
        names.COMPONENT_LABEL: "driver",
        names.PIPELINE_LABEL: "flights",
    }
    assert not selected(driver, by)
    assert not selected(the("Pod", suffix="-test")["metadata"]["labels"], by)


def test_an_upgrade_leaves_the_selector_alone() -> None:
    changed = {"image": {"tag": "9"}, "commonLabels": {"a": "b"}, "podLabels": {"c": "d"}}
    assert the("Deployment", changed)["spec"]["selector"] == the("Deployment")["spec"]["selector"]


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({}, "localhost/mainstem-operator:0.1.0"),
        ({"tag": "9"}, "localhost/mainstem-operator:9"),
        ({"repository": "r.example:5000/x/o"}, "r.example:5000/x/o:0.1.0"),
        ({"tag": "9", "digest": "sha256:" + "0" * 64}, "localhost/mainstem-operator@sha256:" + "0" * 64),
    ],
)
def test_the_image_comes_from_the_values(image: dict, expected: str) -> None:
    values = {"image": image | {"pullPolicy": "Never"}}
    [container] = pod(values)["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == (expected, "Never")
    [container] = the("Pod", values, "-test")["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == (expected, "Never")


PLACED = {
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    "priorityClassName": "high",
    "terminationGracePeriodSeconds": 7,
    "imagePullSecrets": [{"name": "registry"}],
}


def test_the_placement_comes_from_the_values() -> None:
    spec = pod(PLACED)["spec"]
    assert {key: spec[key] for key in PLACED} == PLACED
    assert set(PLACED) - set(pod()["spec"]) == set(PLACED) - {"terminationGracePeriodSeconds"}


def test_labels_annotations_variables_and_resources_come_from_the_values() -> None:
    values = {
        "commonLabels": {"team": "data", "both": "common"},
        "podLabels": {"both": "pod"},
        "podAnnotations": {"note": "x"},
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "resources": {"limits": {"cpu": 1}},
        "serviceAccount": {"name": "me", "annotations": {"role": "r"}},
    }
    manifest = pod(values)
    assert manifest["metadata"]["labels"].items() >= {"team": "data", "both": "pod"}.items()
    assert manifest["metadata"]["annotations"]["note"] == "x"
    assert manifest["spec"]["serviceAccountName"] == "me"
    [container] = manifest["spec"]["containers"]
    assert container["env"][-1] == {"name": "HTTPS_PROXY", "value": "http://proxy:3128"}
    assert container["resources"]["limits"] == {"cpu": 1, "memory": "1Gi"}
    for each in objects(values):
        assert each["metadata"]["labels"]["team"] == "data"
        if each["kind"] == "ServiceAccount" and each["metadata"]["name"] == "me":
            assert each["metadata"]["annotations"] == {"role": "r"}


def test_a_service_account_of_the_user_is_used() -> None:
    made = objects({"serviceAccount": {"create": False, "name": "mine"}}, "--skip-tests")
    assert "ServiceAccount" not in kinds(made)
    [binding] = [each for each in made if each["kind"] == "ClusterRoleBinding"]
    assert binding["subjects"][0]["name"] == "mine"
    assert pod({"serviceAccount": {"create": False}})["spec"]["serviceAccountName"] == "default"


def test_names_follow_the_release() -> None:
    def named(release: str, values: dict) -> str:
        [manifest] = [each for each in objects(values, release=release) if each["kind"] == "Deployment"]
        return manifest["metadata"]["name"]

    assert named("streams", {}) == "streams-mainstem"
    assert named("my-mainstem", {}) == "my-mainstem"
    assert named("streams", {"fullnameOverride": "x"}) == "x"
    assert named("a" * 53, {"nameOverride": "b"}) == "a" * 50


def test_user_roles_give_no_write_access_to_the_status() -> None:
    view, edit = the("ClusterRole", suffix="-view"), the("ClusterRole", suffix="-edit")
    into = "rbac.authorization.k8s.io/aggregate-to-"
    assert {label for label in view["metadata"]["labels"] if label.startswith(into)} == {
        f"{into}view",
        f"{into}edit",
        f"{into}admin",
    }
    assert {label for label in edit["metadata"]["labels"] if label.startswith(into)} == {
        f"{into}edit",
        f"{into}admin",
    }
    assert {verb for rule in view["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert [rule["resources"] for rule in edit["rules"]] == [["streamingpipelines"]]


def test_user_roles_can_be_left_out() -> None:
    made = [each["metadata"]["name"] for each in objects({"rbac": {"aggregate": False}})]
    assert not {"mainstem-view", "mainstem-edit"} & set(made)


def test_monitors_and_policies_are_off_by_default() -> None:
    assert not {"PodMonitor", "NetworkPolicy", "Service"} & kinds(objects())


def test_monitors_select_operator_and_drivers() -> None:
    values = {"podMonitor": {"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}}}
    operator, drivers = the("PodMonitor", values), the("PodMonitor", values, "-drivers")
    assert selected(pod()["metadata"]["labels"], operator["spec"]["selector"]["matchLabels"])
    [container] = pod()["spec"]["containers"]
    [asked] = operator["spec"]["podMetricsEndpoints"]
    assert asked == {"port": "metrics", "path": "/metrics", "interval": "15s"}
    assert asked["port"] in {port["name"] for port in container["ports"]}
    assert drivers["spec"]["selector"]["matchLabels"] == OURS | {names.COMPONENT_LABEL: "driver"}
    assert drivers["spec"]["namespaceSelector"] == {"any": True}
    assert drivers["spec"]["podTargetLabels"] == [names.PIPELINE_LABEL]
    for monitor in (operator, drivers):
        assert monitor["metadata"]["labels"]["release"] == "prometheus"
    some = the("PodMonitor", values | {"watchNamespaces": ["a"]}, "-drivers")
    assert some["spec"]["namespaceSelector"] == {"matchNames": ["a"]}


OURS = {names.NAME_LABEL: "mainstem", names.MANAGED_LABEL: names.OPERATOR}


def test_network_policies_allow_only_the_configured_peers() -> None:
    values = {
        "networkPolicy": {
            "enabled": True,
            "metricsFrom": {"name": "monitoring"},
            "apiServerPorts": [6443],
            "pipelineNamespaces": ["a"],
        }
    }
    monitoring = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]
    operator = the("NetworkPolicy", values)["spec"]
    assert selected(pod()["metadata"]["labels"], operator["podSelector"]["matchLabels"])
    assert operator["ingress"] == [
        {"ports": [{"port": "health"}]},
        {"ports": [{"port": "metrics"}], "from": monitoring},
    ]
    assert operator["egress"][1] == {"ports": [{"port": 6443}]}
    drivers = the("NetworkPolicy", values, "-drivers")
    executors = the("NetworkPolicy", values, "-executors")
    assert drivers["metadata"]["namespace"] == executors["metadata"]["namespace"] == "a"
    executor = [{"podSelector": {"matchLabels": OURS | {names.COMPONENT_LABEL: "executor"}}}]
    assert drivers["spec"]["ingress"] == [
        {"ports": [{"port": names.HTTP_PORT}], "from": monitoring},
        {"ports": [{"port": names.DRIVER_PORT}, {"port": names.BLOCK_MANAGER_PORT}], "from": executor},
    ]
    assert executors["spec"]["ingress"] == [{"from": [{"podSelector": {"matchLabels": OURS}}]}]


def test_without_peers_network_policies_allow_every_client() -> None:
    values = {"networkPolicy": {"enabled": True, "pipelineNamespaces": ["a"]}}
    assert the("NetworkPolicy", values)["spec"]["ingress"][1] == {"ports": [{"port": "metrics"}]}
    assert the("NetworkPolicy", values, "-drivers")["spec"]["ingress"][0] == {
        "ports": [{"port": names.HTTP_PORT}]
    }


def test_the_self_test_is_deleted_after_it_passes() -> None:
    hooks = [each for each in objects() if "helm.sh/hook" in each["metadata"].get("annotations", {})]
    assert kinds(hooks) == {"Pod", "ServiceAccount", "Role", "RoleBinding"}
    for hook in hooks:
        annotations = hook["metadata"]["annotations"]
        assert annotations["helm.sh/hook"] == "test"
        assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
    [container] = the("Pod", suffix="-test")["spec"]["containers"]
    module = container["command"][-1]
    assert Path(ROOT / "operator" / "src" / module.replace(".", "/")).with_suffix(".py").is_file()
    selector = next(each["value"] for each in container["env"] if each["name"] == "SELFTEST_SELECTOR")
    by = dict(pair.split("=") for pair in selector.split(","))
    assert selected(pod()["metadata"]["labels"], by)


def test_old_clusters_are_rejected() -> None:
    with pytest.raises(HelmRefused, match=r"requires kubeVersion: >=1\.29"):
        helm("template", "mainstem", CHART, "--kube-version", "1.28.15")


NAMED: dict[str, Any] = {
    "watchNamespaces": ["n"],
    "nameOverride": "y",
    "imagePullSecrets": [{"name": "y"}],
    "priorityClassName": "1e3",
    "nodeSelector": {"pool": "017"},
    "podMonitor": {"enabled": True},
    "networkPolicy": {"enabled": True, "pipelineNamespaces": ["n"]},
    "webhook": {"enabled": True, "certManager": {"enabled": True, "issuerRef": {"name": "y"}}},
    "lease": {"namespace": "017"},
    "commonLabels": {"team": "n"},
}
"""Values whose texts YAML reads as booleans and numbers where they have no quotes."""


def forms(value: object) -> object:
    """The types of the leaves; keys and lengths stay."""
    if isinstance(value, dict):
        return {key: forms(each) for key, each in value.items()}
    return [forms(each) for each in value] if isinstance(value, list) else type(value).__name__


def odd_as_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: odd_as_plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [odd_as_plain(each) for each in value]
    return "plain" if value in ("y", "n", "1e3", "017") else value


@pytest.mark.parametrize("account", ["y", ""])
def test_names_that_yaml_reads_as_other_values_stay_strings(account: str) -> None:
    names_of = {"crd": {"install": False}, "serviceAccount": {"name": account}}
    odd, plain = (
        [part.data for part in read(text(values | names_of, "--namespace", place, release=release))]
        for values, place, release in ((NAMED, "017", "y"), (odd_as_plain(NAMED), "plain", "plain"))
    )
    assert {each["kind"] for each in odd} > {"ServiceAccount", "NetworkPolicy", "PodMonitor", "Certificate"}
    assert forms(odd) == forms(plain)
