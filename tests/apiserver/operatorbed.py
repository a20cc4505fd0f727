"""The real operator, as a process with no more rights than it has in a cluster, on a real API server with controllers.

There is no node: the test plays the kubelet's part of the API, and the driver's.
"""

import copy
import json
import os
import re
import secrets
import subprocess
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import yaml
from harness.apiserver import ControlPlane
from harness.process import Process, free_port
from harness.waiting import LIMIT, still, within
from kubernetes.client import (
    ApiException,
    CoordinationV1Api,
    CoreV1Api,
    CustomObjectsApi,
    RbacAuthorizationV1Api,
)
from kubernetes.dynamic import DynamicClient
from mainstem.names import MANAGED_LABEL
from mainstem.schema import crd
from mainstem_operator.leadership.lease import lease_name
from mainstem_operator.manifests.rbac import IN_CLUSTER, IN_NAMESPACES, Permission, rules, to_leases


ROOT = Path(__file__).resolve().parents[2]
COMMAND = ROOT / ".venv" / "bin" / "mainstem-operator"
NODE = "nowhere"
SPEC: dict[str, Any] = {
    "sources": [{"name": "ticks", "rate": {}}],
    "queries": [{"name": "show", "from": "ticks", "to": [{"name": "out", "console": {}}]}],
    "checkpoints": {"location": "s3a://checkpoints/ticks"},
}
PATH = ("mainstem.dev", "v1alpha1")
PLURAL = "streamingpipelines"
_WATCHED = "configmaps|events|poddisruptionbudgets|pods|rolebindings|roles|secrets|serviceaccounts|streamingpipelines"
_WRITES = re.compile(r"^apiserver_request_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
_VERBS = ("POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION")
_LABEL = re.compile(r'([a-z_]+)="([^"]*)"')
_PHASES = re.compile(r'^mainstem_operator_pipelines\{phase="(\w+)"\} ([0-9.e+]+)$', re.MULTILINE)


PATIENCE = 90.0
"""Seconds, for what takes less than one on a machine that does nothing else; only a test that fails waits so long."""


def windowed(length: str, **checkpoint: str) -> dict[str, Any]:
    """The spec of a query whose state has windows of this length."""
    sql = f"SELECT window(timestamp, '{length}') AS w, count(*) AS n FROM ticks GROUP BY window(timestamp, '{length}')"
    query = SPEC["queries"][0] | {"from": "windows", "outputMode": "complete", "checkpoint": checkpoint}
    return SPEC | {"views": [{"name": "windows", "sql": sql}], "queries": [query]}


BOUNDED: dict[str, Any] = {
    "sources": [{"name": "lines", "files": {"path": "s3a://lake/in", "format": "text"}}],
    "queries": [
        {
            "name": "show",
            "from": "lines",
            "to": [{"name": "t", "delta": {"path": "s3a://lake/t"}}],
            "trigger": {"availableNow": True},
        }
    ],
    "checkpoints": {"location": "s3a://checkpoints/lines"},
}
"""The spec of a pipeline that comes to its end."""


def until(holds: Callable[[], Any], seconds: float = PATIENCE, why: str = "what is expected") -> Any:
    """What is found, once it is something."""
    return within(seconds, why, holds, pause=0.05)


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Bed:
    """The API server and the operator of all tests; they run one after the other."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.client = plane.api_client()
        self.core = CoreV1Api(self.client)
        self.objects = CustomObjectsApi(self.client)
        self.without_definition = run(plane.kubeconfig)
        self.dynamic = DynamicClient(self.client)
        self.install()
        self.core.create_node({"metadata": {"name": NODE}})
        self.operator_kubeconfig = self.user(
            "operator", IN_CLUSTER + IN_NAMESPACES, {"kube-system": self.lease_rights()}
        )
        self.operator = Operator(plane, self.operator_kubeconfig)

    def another(self) -> "Bed":
        """The same over connections of its own, for another thread."""
        copied = copy.copy(self)
        copied.client = self.plane.api_client()
        copied.core, copied.objects = CoreV1Api(copied.client), CustomObjectsApi(copied.client)
        return copied

    def install(self) -> None:
        """The definition, until it is served."""
        definitions = self.dynamic.resources.get(
            api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition"
        )
        definitions.create(body=crd())
        until(self._served)

    def _served(self) -> bool:
        try:
            self.objects.list_cluster_custom_object(*PATH, PLURAL)
        except ApiException as error:
            if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS):
                return False
            raise
        return True

    def user(
        self,
        name: str,
        cluster: tuple[Permission, ...],
        namespaced: Mapping[str, tuple[Permission, ...]] | None = None,
    ) -> Path:
        """A kubeconfig of a user with these rights and no others."""
        rbac = RbacAuthorizationV1Api(self.client)
        rbac.create_cluster_role({"metadata": {"name": name}, "rules": rules(cluster)})
        rbac.create_cluster_role_binding(_binding(name, "ClusterRole"))
        for namespace, rights in (namespaced or {}).items():
            self.allow(name, namespace, rights)
        return self.plane.write_kubeconfig(name)

    def allow(self, user: str, namespace: str, rights: tuple[Permission, ...]) -> None:
        """Give a user rights in a namespace."""
        rbac = RbacAuthorizationV1Api(self.client)
        rbac.create_namespaced_role(namespace, {"metadata": {"name": user}, "rules": rules(rights)})
        rbac.create_namespaced_role_binding(namespace, _binding(user, "Role"))

    def lease_rights(self) -> tuple[Permission, ...]:
        """Those of an operator whose namespaces only the test knows: to every Lease."""
        until(lambda: "kube-system" in [entry.metadata.name for entry in self.core.list_namespace().items])
        return tuple(replace(right, names=()) for right in to_leases(""))

    def lease(self, *namespaces: str) -> Any:
        """The Lease of an operator of these namespaces; its times are the holder's."""
        return CoordinationV1Api(self.client).read_namespaced_lease(lease_name(namespaces), "kube-system")

    def namespace(self, **labels: str) -> str:
        """A fresh one, ready to hold pods."""
        name = f"op-{secrets.token_hex(4)}"
        self.core.create_namespace({"metadata": {"name": name, "labels": labels}})
        until(
            lambda: [
                entry
                for entry in self.core.list_namespaced_service_account(name).items
                if entry.metadata.name == "default"
            ]
        )
        return name

    def quiet(self) -> None:
        """Once nothing was written for two seconds: what other tests have left behind is done."""
        still(2, "nothing is written", self.writes)

    def heard(self, namespace: str) -> None:
        """Once a pipeline that is made now has its phase: the operator has heard of all that came before."""
        later = Ours(self, namespace, f"later-{secrets.token_hex(3)}")
        later.create(suspend=True)
        later.phase("Suspended")

    def writes(self) -> Counter[str]:
        """Requests so far that may change something of ours, as the server counts them, whoever sent them."""
        answer = self.client.call_api(
            "GET", f"{self.client.configuration.host}/metrics", {"Accept": "text/plain"}
        )
        answer.read()
        requests: Counter[str] = Counter()
        for labels, number in _WRITES.findall(answer.data.decode()):
            values = dict(_LABEL.findall(labels))
            if (
                values["resource"] in _WATCHED.split("|")
                and values["verb"] in _VERBS
                and not values["dry_run"]
            ):
                requests[
                    f"{values['verb']} {values['resource']}/{values['subresource']} {values['code']}"
                ] += int(float(number))
        return requests


def _binding(user: str, kind: str) -> dict[str, Any]:
    """Binds a user to the role of the same name."""
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": kind, "name": user},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


def environment(kubeconfig: Path, **more: str) -> dict[str, str]:
    return {
        "KUBECONFIG": str(kubeconfig),
        "MAINSTEM_DRIVER_IMAGE": "registry.example/mainstem:1",
        "MAINSTEM_HEALTH_PORT": str(free_port()),
        "MAINSTEM_METRICS_PORT": str(free_port()),
        "MAINSTEM_POD_NAME": "operator",  # the same for all: none waits for the Lease of one that a test has killed
        **more,
    }


def run(kubeconfig: Path, **more: str) -> tuple[int, str]:
    """Exit code and output of an operator that does not get far."""
    done = subprocess.run(
        [COMMAND],
        env=os.environ | environment(kubeconfig, **more),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


class Operator(Process):
    """The operator's process, by another command line where one is given."""

    def __init__(
        self, plane: ControlPlane, kubeconfig: Path, *, argv: Sequence[str | Path] = (COMMAND,), **more: str
    ) -> None:
        env = environment(kubeconfig, **more)
        self._port = env["MAINSTEM_HEALTH_PORT"]
        self._metrics = f"http://127.0.0.1:{env['MAINSTEM_METRICS_PORT']}/metrics"
        super().__init__(argv, plane.folder / f"{kubeconfig.stem}.log", env)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def up(self) -> None:
        """Started, where it is not, and the holder of its Lease."""
        if not self.alive:
            self.start(self.is_holder, PATIENCE)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def healthy(self) -> bool:
        return bool(self._health())

    def is_ready(self) -> bool:
        return self.readiness() == (200, "ok")

    def readiness(self) -> tuple[int, str]:
        """Status and text of `/readyz`."""
        try:
            with urllib.request.urlopen(self.url("/readyz"), timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def is_holder(self) -> bool:
        return bool(self._health().get("holder"))

    def _health(self) -> dict[str, Any]:
        try:
            with urllib.request.urlopen(self.url("/healthz"), timeout=5) as answer:
                answered: dict[str, Any] = json.load(answer)
                return answered
        except OSError:
            return {}

    def phases(self) -> dict[str, int]:
        """Phase -> how many pipelines it has looked at, since it started, are in it."""
        with urllib.request.urlopen(self._metrics, timeout=LIMIT) as answer:
            answered = _PHASES.findall(answer.read().decode())
        return {phase: int(float(number)) for phase, number in answered if float(number)}


class Ours:
    """One pipeline in a namespace: the user's part of the API, the kubelet's and the driver's."""

    def __init__(self, bed: Bed, namespace: str, name: str = "ticks") -> None:
        self.bed, self.namespace, self.name = bed, namespace, name
        self._at = (*PATH, namespace, PLURAL)

    # -- the user

    def create(self, spec: Mapping[str, Any] = SPEC, **more: Any) -> None:
        self.create_document({"spec": {**copy.deepcopy(dict(spec)), **more}})

    def start_running(self, spec: Mapping[str, Any] = SPEC, **more: Any) -> Any:
        """Create the pipeline, let its driver run and report, and wait for the phase Running; the driver's pod."""
        self.create(spec, **more)
        pod = self.runs()
        self.reports()
        self.phase("Running")
        return pod

    def create_document(self, document: Mapping[str, Any]) -> None:
        body = {"apiVersion": "/".join(PATH), "kind": "StreamingPipeline", **document}
        self.bed.objects.create_namespaced_custom_object(*self._at, {**body, "metadata": {"name": self.name}})

    def change(self, **spec: Any) -> None:
        self.bed.objects.patch_namespaced_custom_object(
            *self._at, self.name, {"spec": spec}, _content_type="application/merge-patch+json"
        )

    def looked_at_again(self) -> None:
        """Once the operator has looked at the pipeline after this moment: a change that concerns no driver shows it."""
        self.change(restart={"maxBackoff": f"{secrets.randbelow(10**6) + 60} seconds"})
        wanted = self.get()["metadata"]["generation"]
        until(lambda: self.status.get("observedGeneration") == wanted, why="not looked at again")

    def delete(self) -> None:
        self.bed.objects.delete_namespaced_custom_object(*self._at, self.name)

    def get(self) -> dict[str, Any]:
        try:
            resource: dict[str, Any] = self.bed.objects.get_namespaced_custom_object(*self._at, self.name)
        except ApiException as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return {}
            raise
        return resource

    @property
    def status(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.get().get("status", {})
        return shown

    def without_status(self) -> None:
        """Remove the status, as before anybody had written it."""
        self.bed.objects.replace_namespaced_custom_object_status(
            *self._at, self.name, {**self.get(), "status": {}}
        )

    def condition(self, kind: str) -> dict[str, Any]:
        conditions = [entry for entry in self.status.get("conditions", ()) if entry["type"] == kind]
        return conditions[0] if conditions else {"status": "-", "reason": "-"}

    def phase(self, *wanted: str) -> dict[str, Any]:
        """The status, once the phase is one of these."""
        last: dict[str, Any] = {}

        def reached() -> bool:
            nonlocal last
            last = self.status
            return last.get("phase") in wanted

        try:
            until(reached)
        except AssertionError:
            raise AssertionError(f"{self.name}: not {wanted} but {yaml.safe_dump(last)}") from None
        return last

    def held(self) -> None:
        """Once the operator's finalizer is there."""
        until(lambda: self.get()["metadata"].get("finalizers") == ["mainstem.dev/drain"], why="no finalizer")

    def without_finalizer(self) -> None:
        """As somebody does who will not wait."""
        self.bed.objects.patch_namespaced_custom_object(
            *self._at,
            self.name,
            {"metadata": {"finalizers": None}},
            _content_type="application/merge-patch+json",
        )

    def gone(self) -> None:
        until(lambda: not self.get(), why="the pipeline is still there")

    # -- the kubelet

    def pods(self) -> list[Any]:
        return list(
            self.bed.core.list_namespaced_pod(
                self.namespace, label_selector=f"mainstem.dev/pipeline={self.name}"
            ).items
        )

    def pod(self, attempt: int | None = None) -> Any:
        """The driver's pod, once it is there and of this attempt."""

        def there() -> Any:
            return next(
                (
                    entry
                    for entry in self.pods()
                    if entry.metadata.name == f"{self.name}-driver"
                    and attempt in (None, int(entry.metadata.annotations["mainstem.dev/attempt"]))
                ),
                None,
            )

        return until(there, why=f"no driver {attempt}")

    def runs(self, attempt: int = 1) -> Any:
        """The driver's pod on a node, its container running."""
        pod = self.pod(attempt)
        if not pod.spec.node_name:
            binding = {"metadata": {"name": pod.metadata.name}, "target": {"kind": "Node", "name": NODE}}
            self.bed.core.create_namespaced_binding(self.namespace, binding, _preload_content=False)
        self._status("Running", {"running": {"startedAt": now()}}, ready=True)
        return pod

    def files(self, pod: Any) -> dict[str, str]:
        """The files that the driver of this pod finds in its folder of documents: name -> text."""
        [volume] = [mounted for mounted in pod.spec.volumes if mounted.name == "mainstem-document"]
        parts = volume.projected.sources if volume.projected else [volume]
        files: dict[str, str] = {}
        for part in parts:
            given = self.bed.core.read_namespaced_config_map(part.config_map.name, self.namespace).data
            wanted = [item.key for item in part.config_map.items or ()] or given
            files |= {name: given[name] for name in wanted}
        return files

    def unwatched(self) -> None:
        """The pod without the label by which the operator watches, so that no news of it comes."""
        labels = {MANAGED_LABEL: None}
        self.bed.core.patch_namespaced_pod(
            f"{self.name}-driver", self.namespace, {"metadata": {"labels": labels}}
        )

    def waits(self, reason: str, message: str) -> None:
        self._status("Pending", {"waiting": {"reason": reason, "message": message}})

    def scheduled(self, attempt: int = 1) -> Any:
        """The driver's pod on a node, and none of its containers started yet."""
        pod = self.pod(attempt)
        binding = {"metadata": {"name": pod.metadata.name}, "target": {"kind": "Node", "name": NODE}}
        self.bed.core.create_namespaced_binding(self.namespace, binding, _preload_content=False)
        self._status("Pending", {"waiting": {"reason": "ContainerCreating"}})
        return pod

    def kubelet_says(self, pod: Any, reason: str, message: str, kind: str = "Warning") -> None:
        """An event of a pod, as the kubelet writes it."""
        about = {"namespace": self.namespace, "generateName": f"{pod.metadata.name}."}
        involved = {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": pod.metadata.name,
            "namespace": self.namespace,
            "uid": pod.metadata.uid,
        }
        event = {
            "metadata": about,
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "type": kind,
            "firstTimestamp": now(),
            "lastTimestamp": now(),
            "count": 1,
            "source": {"component": "kubelet", "host": NODE},
        }
        self.bed.core.create_namespaced_event(self.namespace, event)

    def ends(
        self,
        code: int,
        outcome: str | None = None,
        reason: str = "",
        started: str | None = None,
        finished: str | None = None,
    ) -> None:
        """End the container; a pod that is being deleted is gone then."""
        words = {
            "outcome": outcome,
            "reason": reason or (outcome or "").capitalize(),
            "message": "because",
            "queries": [],
        }
        state = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": started or now()}
        state |= {"finishedAt": finished or now()} | ({"message": json.dumps(words)} if outcome else {})
        self._status("Failed" if code else "Succeeded", {"terminated": state})
        for pod in self.pods():
            if pod.metadata.deletion_timestamp:
                self._remove(pod)

    def ends_beside(self, pod: Any, code: int, report: Mapping[str, Any]) -> None:
        """End the container of a pod beside the driver on a node, with its own report."""
        if not pod.spec.node_name:
            target = {"metadata": {"name": pod.metadata.name}, "target": {"kind": "Node", "name": NODE}}
            self.bed.core.create_namespaced_binding(self.namespace, target, _preload_content=False)
        state = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "startedAt": now(),
            "finishedAt": now(),
        }
        container = {"name": "driver", "image": "i", "imageID": "i", "restartCount": 0, "ready": False}
        container |= {"state": {"terminated": state | {"message": json.dumps(report)}}}
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container]}
        self.bed.core.patch_namespaced_pod_status(pod.metadata.name, self.namespace, {"status": status})

    def preflight(self) -> Any:
        """The pod that checks a changed document; None if there is none."""
        name = f"{self.name}-preflight"
        return next((pod for pod in self.pods() if pod.metadata.name == name), None)

    def passes_preflight(self) -> None:
        """Let the pod report that a driver would start with the changed document."""
        report = {
            "outcome": "completed",
            "reason": "Completed",
            "message": "query show: ready",
            "retried": False,
        }
        self.ends_beside(until(self.preflight, why="no preflight pod"), 0, report)

    def vanishes(self) -> None:
        for pod in self.pods():
            self._remove(pod)

    def _remove(self, pod: Any) -> None:
        """Remove this very pod: the operator may have put the next one in its place meanwhile."""
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
        try:
            self.bed.core.delete_namespaced_pod(pod.metadata.name, self.namespace, body=body)
        except ApiException as error:
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    def await_driver_deletion(self) -> None:
        until(
            lambda: [pod for pod in self.pods() if pod.metadata.deletion_timestamp],
            why="the driver was not deleted",
        )

    def _status(self, phase: str, state: Mapping[str, Any], *, ready: bool = False) -> None:
        container = {
            "name": "driver",
            "image": "i",
            "imageID": "i",
            "restartCount": 0,
            "ready": ready,
            "state": dict(state),
        }
        condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": now()}
        self.bed.core.patch_namespaced_pod_status(
            f"{self.name}-driver",
            self.namespace,
            {"status": {"phase": phase, "containerStatuses": [container], "conditions": [condition]}},
        )

    # -- the driver

    def executor(self, name: str) -> Any:
        """A pod as Spark makes executors', on a node, and none of its containers started yet."""
        labels = {"spark-role": "executor", "mainstem.dev/pipeline": self.name}
        container = {"name": "executor", "image": "i"}
        body = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [container], "nodeName": NODE},
        }
        return self.bed.core.create_namespaced_pod(self.namespace, body)

    def reports(
        self,
        state: str = "Running",
        attempt: int = 1,
        summary: Mapping[str, Any] | None = None,
        reported: Mapping[str, Any] | None = None,
        **query: Any,
    ) -> None:
        """Write the driver's part of the status; a driver that takes documents over has its revision in `reported`."""
        part = {
            "queries": [{"name": "show", "state": state, "lag": 5, "rowsPerSecond": 9, **query}],
            "summary": summary or {"queries": "1 active", "lag": 5, "rowsPerSecond": 9},
            "reported": {"attempt": attempt, "time": now(), **(reported or {})},
        }
        body = {
            "apiVersion": "/".join(PATH),
            "kind": "StreamingPipeline",
            "metadata": {"name": self.name},
            "status": part,
        }
        self.bed.objects.patch_namespaced_custom_object_status(
            *self._at,
            self.name,
            body,
            field_manager="mainstem-driver",
            force=True,
            _content_type="application/apply-patch+yaml",
        )

    # -- events and objects

    def events(self) -> list[str]:
        recorded = self.bed.core.list_namespaced_event(
            self.namespace, field_selector=f"involvedObject.name={self.name}"
        )
        return [
            entry.reason
            for entry in sorted(recorded.items, key=lambda entry: int(entry.metadata.resource_version))
        ]

    def await_events(self, *wanted: str) -> None:
        """Wait for exactly these events; the operator sends them in the background."""
        recorded: list[str] = []

        def is_recorded() -> bool:
            recorded[:] = self.events()
            return recorded == [*wanted]

        try:
            until(is_recorded)
        except AssertionError:
            raise AssertionError(f"{self.name}: not {[*wanted]} but {recorded}") from None

    def versions(self) -> tuple[Any, ...]:
        """What any write to the pipeline, its pod, or about it would change."""
        pods = [pod.metadata.resource_version for pod in self.pods()]
        return self.get()["metadata"]["resourceVersion"], pods, self.events(), self.belongings()

    def cleared(self) -> None:
        """Once the garbage collector has taken all; it learns of a new kind of owners twice a minute."""
        until(lambda: self.belongings() == [], 2 * PATIENCE, "something is left behind")

    def belongings(self) -> list[str]:
        """All that is there by the label, of every kind that the operator makes."""
        kinds = {
            "v1": ("Pod", "ConfigMap", "Secret", "ServiceAccount"),
            "rbac.authorization.k8s.io/v1": ("Role", "RoleBinding"),
            "policy/v1": ("PodDisruptionBudget",),
        }
        names_of_objects = []
        for version, names in kinds.items():
            for kind in names:
                api = self.bed.dynamic.resources.get(api_version=version, kind=kind)
                items = api.get(
                    namespace=self.namespace, label_selector=f"mainstem.dev/pipeline={self.name}"
                ).items
                names_of_objects += [f"{kind}/{item.metadata.name}" for item in items]
        return sorted(names_of_objects)
