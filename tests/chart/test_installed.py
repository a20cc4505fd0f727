"""The chart installed on a real API server: accepted objects, RBAC and admission."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from chart.rendering import CHART, PLAIN, objects
from chart.server import Cluster, Refused, soon
from documents import document
from harness.sampling import sampled
from mainstem_operator.manifests.rbac import driver, rules
from mainstem_operator.selftest import main


OPERATOR = "mainstem/mainstem"
EVERYTHING = {
    "commonLabels": {"team": "data"},
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
    "imagePullSecrets": [{"name": "registry"}],
    "networkPolicy": {
        "enabled": True,
        "metricsFrom": {"name": "monitoring"},
        "pipelineNamespaces": ["a", "b"],
    },
    "nodeSelector": {"disk": "ssd"},
    "priorityClassName": "system-cluster-critical",
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
}


@pytest.mark.parametrize(
    "values", sampled([EVERYTHING | {"watchNamespaces": ["a", "b"]}, EVERYTHING, {}], every=3)
)
def test_every_object_passes_a_dry_run(installed: Cluster, values: dict) -> None:
    """All but PodMonitor, whose definition is the Prometheus operator's."""
    rendered = objects(values, release="other")
    assert len(rendered) > 9
    for each in rendered:
        installed.apply(each, "--dry-run=server", "--force-conflicts")


def test_plain_manifests_pass_a_dry_run(installed: Cluster) -> None:
    command = ("kubectl", "apply", "--dry-run=server", "--validate=strict", "-f", str(PLAIN.parent))
    done = installed.run(*command, "-f", str(PLAIN.parents[1] / "crd"))
    assert "deployment.apps/mainstem configured (server dry run)" in done


@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
def test_pods_are_accepted_in_a_restricted_namespace(installed: Cluster, kind: str) -> None:
    [rendered] = [each for each in objects() if each["kind"] == kind]
    template = rendered["spec"]["template"] if kind == "Deployment" else rendered
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "try", "namespace": "mainstem"},
        "spec": template["spec"],
    }
    installed.kubectl("create", "--dry-run=server", body=pod)
    del pod["spec"]["securityContext"]["seccompProfile"]
    with pytest.raises(Refused, match='violates PodSecurity "restricted'):
        installed.kubectl("create", "--dry-run=server", body=pod)


def role(name: str, namespace: str, granted: list[dict]) -> dict:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name, "namespace": namespace},
        "rules": granted,
    }


def binding(name: str, namespace: str, account: str) -> dict:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def pipeline(name: str, namespace: str) -> dict:
    manifest = document("smallest")
    manifest["metadata"] = {"name": name, "namespace": namespace}
    return manifest


@pytest.mark.parametrize("executors", [False, True])
def test_the_operator_can_grant_drivers_their_rights(installed: Cluster, executors: bool) -> None:
    name = f"flights-{executors}".lower()
    granted = rules(driver(name, executors=executors))
    installed.apply(role(name, "a", granted), account=OPERATOR)
    installed.apply(binding(name, "a", name), account=OPERATOR)


@pytest.mark.parametrize(
    "more",
    [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]},
        {"apiGroups": ["mainstem.dev"], "resources": ["streamingpipelines"], "verbs": ["update"]},
    ],
)
def test_the_operator_cannot_grant_more(installed: Cluster, more: dict) -> None:
    with pytest.raises(Refused, match="attempting to grant RBAC permissions not currently held"):
        installed.apply(role("more", "a", [more]), account=OPERATOR)


@pytest.mark.parametrize(
    ("access", "may"),
    [
        (("get", "crd/streamingpipelines.mainstem.dev"), True),
        (("get", "crd/others.example.com"), False),
        (("list", "crd"), False),
        (("list", "streamingpipelines", "--all-namespaces"), True),
        (("patch", "streamingpipelines", "--subresource=status", "-n", "a"), True),
        (("update", "streamingpipelines", "--subresource=finalizers", "-n", "a"), True),
        (("watch", "pods", "--all-namespaces"), True),
        (("create", "secrets", "-n", "a"), True),
        (("get", "secrets", "-n", "a"), False),
        (("list", "secrets", "-n", "a"), False),
        (("create", "pods", "--subresource=exec", "-n", "a"), False),
        (("list", "namespaces"), False),
        (("create", "clusterroles"), False),
    ],
)
def test_the_operator_has_exactly_its_rights(installed: Cluster, access: tuple[str, ...], may: bool) -> None:
    assert installed.may(OPERATOR, *access) is may


def test_with_a_list_of_namespaces_the_operator_has_rights_only_there(installed: Cluster) -> None:
    installed.namespace("elsewhere", "restricted")
    values = {"watchNamespaces": ["a"], "crd": {"install": False}}
    notes = installed.helm("install", "some", CHART, values=values, namespace="elsewhere")
    assert "It manages the pipelines of these namespaces:\na." in notes
    assert "does not install the CustomResourceDefinition" in notes
    account = "elsewhere/some-mainstem"
    granted = rules(driver("flights", executors=True))
    soon(lambda: installed.apply(role("flights-driver", "a", granted), account=account))
    with pytest.raises(Refused, match="cannot patch"):
        installed.apply(role("flights-driver", "b", granted), account=account)
    assert installed.may(account, "watch", "streamingpipelines", "-n", "a")
    assert not installed.may(account, "watch", "streamingpipelines", "-n", "elsewhere")
    assert installed.may(account, "get", "crd/streamingpipelines.mainstem.dev")


def test_a_driver_writes_the_status_of_its_own_pipeline(installed: Cluster) -> None:
    for name in ("one", "two"):
        installed.apply(pipeline(name, "b"))
    installed.kubectl("create", "serviceaccount", "one-driver", "--namespace=b")
    installed.apply(role("one-driver", "b", rules(driver("one", executors=False))))
    installed.apply(binding("one-driver", "b", "one-driver"))

    def write(name: str) -> None:
        status = {"summary": {"queries": "0/1"}}
        body = {**pipeline(name, "b"), "status": status}
        del body["spec"]
        installed.apply(
            body, "--subresource=status", "--field-manager=mainstem-driver", account="b/one-driver"
        )

    soon(lambda: write("one"))
    assert installed.get("sp", "one", "--namespace=b")["status"]["summary"] == {"queries": "0/1"}
    with pytest.raises(Refused, match='cannot patch resource "streamingpipelines/status"'):
        write("two")
    for other in (
        ("get", "sp/one"),
        ("list", "sp"),
        ("patch", "sp/one"),
        ("create", "pods"),
        ("get", "secrets"),
    ):
        assert not installed.may("b/one-driver", *other, "-n", "b"), other


class Health(BaseHTTPRequestHandler):
    """Answers with the status code that the test sets."""

    def do_GET(self) -> None:
        self.send_response(self.server.code if self.path == "/healthz" else 404)
        self.end_headers()
        self.wfile.write(b"the watch is silent")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def health() -> Iterator[ThreadingHTTPServer]:
    """A port that answers where the operator's would: nothing runs pods here."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Health)
    server.code = 200
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def tester(installed: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the account of the self-test's pod; its rights are those of the chart's hooks."""
    for each in objects():
        if each["metadata"]["name"] == "mainstem-test" and each["kind"] != "Pod":
            installed.apply(each)
    folder = tmp_path_factory.mktemp("account")
    (folder / "namespace").write_text("mainstem", encoding="utf-8")
    (folder / "token").write_text(installed.token("mainstem/mainstem-test"), encoding="utf-8")
    (folder / "ca.crt").write_bytes(installed.plane.authority.pair.certificate.read_bytes())
    asked = ("auth", "can-i", "create", "streamingpipelines", "--namespace=mainstem")
    soon(lambda: installed.kubectl(*asked, account="mainstem/mainstem-test"))
    return folder


def environment(cluster: Cluster, port: int) -> dict[str, str]:
    """The variables of the self-test's pod: the chart's, and those that Kubernetes sets."""
    [pod] = [each for each in objects() if each["kind"] == "Pod"]
    chart = {each["name"]: each["value"] for each in pod["spec"]["containers"][0]["env"]}
    _, host, at = re.split(r"://|:", cluster.plane.url)
    return chart | {
        "SELFTEST_PORT": str(port),
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": at,
    }


@pytest.fixture
def operator_pod(installed: Cluster) -> Iterator[None]:
    """The Deployment's pod, made by hand, with an address."""
    [deployment] = [each for each in objects() if each["kind"] == "Deployment"]
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"]}
    pod["metadata"] |= {"name": "mainstem-0", "namespace": "mainstem"}
    installed.kubectl("create", body=pod)
    status = {"status": {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}}
    patch = ("--type=merge", "--subresource=status", f"--patch={json.dumps(status)}")
    installed.kubectl("patch", "pod", "mainstem-0", "--namespace=mainstem", *patch)
    yield
    installed.kubectl("delete", "pod", "mainstem-0", "--namespace=mainstem", "--force", "--grace-period=0")


def test_the_self_test_passes_with_a_healthy_operator(
    installed, tester, health, operator_pod, capsys
) -> None:
    assert main(environment(installed, health.server_port), tester) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok      the operator mainstem-0 is healthy",
        "ok      the API server accepts pipelines",
    ]
    assert installed.get("sp", "--namespace=mainstem")["items"] == []


def test_the_self_test_fails_with_an_unhealthy_operator(
    installed, tester, health, operator_pod, capsys
) -> None:
    health.code = 500
    assert main(environment(installed, health.server_port), tester) == 1
    [operator, server] = capsys.readouterr().out.splitlines()
    assert re.match(
        r"FAILED  the operator mainstem-0 answers 500 at http://127\.0\.0\.1:\d+/healthz: the watch is ",
        operator,
    )
    assert operator.endswith("run `kubectl logs mainstem-0` [OperatorUnhealthy]")
    assert server.startswith("ok")


def test_the_self_test_fails_if_the_operator_does_not_answer(installed, tester, operator_pod, capsys) -> None:
    assert main(environment(installed, 1), tester) == 1
    assert re.search(r"mainstem-0 does not answer .* \[OperatorUnhealthy\]", capsys.readouterr().out)


def test_the_self_test_fails_without_an_operator(installed, tester, capsys) -> None:
    assert main(environment(installed, 1), tester) == 1
    assert "[OperatorNotRunning]" in capsys.readouterr().out


def test_the_self_test_shows_the_message_of_the_api_server(installed, tester, tmp_path, capsys) -> None:
    for name in ("ca.crt", "token"):
        (tmp_path / name).write_bytes((tester / name).read_bytes())
    (tmp_path / "namespace").write_text("a", encoding="utf-8")
    assert main(environment(installed, 1), tmp_path) == 1
    message = capsys.readouterr().out
    assert "the API server answers 403" in message
    assert 'cannot create resource "streamingpipelines"' in message
    assert "[ApiServerRefused]" in message


def test_the_self_test_fails_outside_a_pod(installed, tmp_path, capsys) -> None:
    assert main(environment(installed, 1), tmp_path / "none") == 1
    assert "[NotInAPod]" in capsys.readouterr().out


@pytest.mark.full(gate="chart/test_installed.py::test_the_self_test_shows_the_message_of_the_api_server")
def test_the_self_test_fails_without_an_api_server(installed, tester, capsys) -> None:
    assert main(environment(installed, 1) | {"KUBERNETES_SERVICE_PORT": "1"}, tester) == 1
    assert capsys.readouterr().out.count("[ApiServerUnreachable]") == 2
