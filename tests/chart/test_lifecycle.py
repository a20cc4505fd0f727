"""Install, upgrade, uninstall, install again: the definition and the pipelines stay, and the runbook's command works."""

import base64
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from chart.rendering import CHART, ROOT, HelmRefused
from chart.server import CRD, Cluster, Refused, soon
from documents import document


FREE = CHART / "files" / "release-pipelines.sh"


def next_version(folder: Path) -> Path:
    """A chart like ours, one version on: its definition has a field more."""
    chart = shutil.copytree(CHART, folder / "mainstem")
    path = chart / "crd" / "streamingpipelines.yaml"
    crd = yaml.safe_load(path.read_text(encoding="utf-8"))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["motto"] = {"type": "string"}
    path.write_text(yaml.safe_dump(crd, sort_keys=False), encoding="utf-8")
    about = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    about |= {"version": "0.2.0", "appVersion": "0.2.0"}
    (chart / "Chart.yaml").write_text(yaml.safe_dump(about), encoding="utf-8")
    return chart


def pipeline(name: str, finalizers: list[str], **spec: Any) -> dict[str, Any]:
    manifest = document("smallest")
    manifest["metadata"] = {"name": name, "namespace": "a", "finalizers": finalizers}
    manifest["spec"] |= spec
    return manifest


def driver_image(cluster: Cluster) -> str:
    deployment = cluster.get("deployment", "mainstem", "--namespace=mainstem")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return next(each["value"] for each in container["env"] if each["name"] == "MAINSTEM_DRIVER_IMAGE")


def test_a_release_is_installed_upgraded_uninstalled_and_installed_again(
    cluster: Cluster, tmp_path: Path
) -> None:
    notes = cluster.helm("install", "mainstem", CHART)
    assert "It manages the pipelines of all namespaces." in notes
    assert "helm test mainstem --namespace mainstem" in notes
    assert [line.strip() for line in notes.splitlines()[-6:]] == [
        line.strip() for line in FREE.read_text(encoding="utf-8").splitlines()
    ]
    cluster.await_definition()
    cluster.apply(pipeline("drained", ["mainstem.dev/drain"]))
    cluster.apply(pipeline("both", ["example.com/first", "mainstem.dev/drain", "example.com/last"]))
    cluster.apply(pipeline("bare", []))
    with pytest.raises(Refused, match="motto"):
        cluster.apply(pipeline("new", [], motto="x"))
    before = {
        each["metadata"]["name"]: each["metadata"]["uid"] for each in cluster.get("sp", "-n", "a")["items"]
    }

    cluster.helm("upgrade", "mainstem", next_version(tmp_path))
    assert driver_image(cluster).endswith(":0.2.0")
    soon(lambda: cluster.apply(pipeline("bare", [], motto="x")))
    assert cluster.get("sp", "bare", "-n", "a")["spec"]["motto"] == "x"

    assert "kept due to the resource policy" in cluster.helm("uninstall", "mainstem")
    assert cluster.get(CRD)["metadata"]["name"]
    after = {
        each["metadata"]["name"]: each["metadata"]["uid"] for each in cluster.get("sp", "-n", "a")["items"]
    }
    assert after == before
    left = cluster.kubectl(
        "get",
        "deployment,serviceaccount,clusterrole,clusterrolebinding,role,rolebinding",
        "-A",
        "--output=name",
    )
    assert [name for name in left.splitlines() if name.rpartition("/")[2].startswith("mainstem")] == []

    cluster.kubectl("delete", "sp", "drained", "both", "--namespace=a", "--wait=false")
    assert cluster.get("sp", "drained", "-n", "a")["metadata"]["deletionTimestamp"]
    cluster.run("sh", "-eu", str(FREE))
    assert {
        each["metadata"]["name"]: each["metadata"].get("finalizers")
        for each in cluster.get("sp", "-n", "a")["items"]
    } == {
        "both": ["example.com/first", "example.com/last"],
        "bare": None,
    }
    cluster.run("sh", "-eu", str(FREE))
    others = '--patch={"metadata": {"finalizers": null}}'
    cluster.kubectl("patch", "sp", "both", "--namespace=a", "--type=merge", others)

    cluster.helm("install", "mainstem", CHART)
    assert cluster.get("sp", "bare", "-n", "a")["metadata"]["uid"] == before["bare"]
    remove(cluster)


@pytest.mark.full(
    gate="chart/test_lifecycle.py::test_a_release_is_installed_upgraded_uninstalled_and_installed_again"
)
def test_a_definition_applied_by_hand_is_taken_over_only_on_request(cluster: Cluster) -> None:
    cluster.run("kubectl", "apply", "--filename", str(ROOT / "k8s" / "crd"))
    with pytest.raises(HelmRefused, match="cannot be imported into the current release"):
        cluster.helm("install", "mainstem", CHART)
    cluster.helm("install", "mainstem", CHART, "--take-ownership")
    cluster.await_definition()
    assert cluster.get(CRD)["metadata"]["annotations"]["meta.helm.sh/release-name"] == "mainstem"
    remove(cluster)


def remove(cluster: Cluster) -> None:
    """Leave nothing to the next test, as NOTES.txt has it."""
    cluster.kubectl("delete", "sp", "--all", "--all-namespaces", "--wait=false")
    cluster.run("sh", "-eu", str(FREE))
    cluster.helm("uninstall", "mainstem")
    cluster.kubectl("delete", CRD)


@pytest.mark.full(
    gate="chart/test_lifecycle.py::test_a_release_is_installed_upgraded_uninstalled_and_installed_again"
)
def test_an_upgrade_keeps_the_certificate_of_the_webhook(cluster: Cluster) -> None:
    values = ("--set", "crd.install=false,webhook.enabled=true")
    cluster.helm("install", "hooked", CHART, *values)
    name, account = "hooked-mainstem-webhook", "mainstem/hooked-mainstem"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "mainstem"},
        "data": {"tls.crt": "eA=="},
    }
    bundle = base64.b64encode(cluster.plane.authority.pair.certificate.read_bytes()).decode()
    hook = {"name": "validate.streamingpipelines.mainstem.dev", "clientConfig": {"caBundle": bundle}}
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [hook],
    }
    soon(lambda: cluster.kubectl("replace", account=account, body=secret))
    soon(
        lambda: cluster.kubectl(
            "apply", "--server-side", "--field-manager=x", account=account, body=configuration
        )
    )
    with pytest.raises(Refused, match="forbidden"):
        cluster.kubectl("get", "secrets", "--namespace=mainstem", account=account)

    cluster.helm("upgrade", "hooked", CHART, *values, "--set", "webhook.timeoutSeconds=7")
    [upgraded] = cluster.get("validatingwebhookconfiguration", name)["webhooks"]
    assert upgraded["timeoutSeconds"] == 7
    assert upgraded["clientConfig"]["caBundle"] == bundle
    assert cluster.get("secret", name, "--namespace=mainstem")["data"] == secret["data"]
    cluster.helm("uninstall", "hooked")
    with pytest.raises(Refused, match="not found"):
        cluster.get("validatingwebhookconfiguration", name)
