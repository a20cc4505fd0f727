"""Manifests of the driver pod and of the template of executor pods, from a revision; pure.

They hold no Spark property: the app in the image derives them from the document. The pods meet the level *restricted*
of Kubernetes' pod security.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from mainstem import names
from mainstem.language.base import seconds
from mainstem.language.model.deployment import Resources
from mainstem.language.model.pipeline import Drain, StreamingPipeline

from mainstem_operator.manifests.objects import labels, metadata, template
from mainstem_operator.manifests.pod_template import Object, built
from mainstem_operator.manifests.pod_variables import driver_variables, variables
from mainstem_operator.observed.observation import requested_nonce
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision


_POD_SECURITY: Final = {
    "runAsNonRoot": True,
    "runAsUser": names.UID,
    "runAsGroup": names.UID,
    "fsGroup": names.UID,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_CONTAINER_SECURITY: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}

_UPDATE: Final = f"{names.VOLUME_PREFIX}update"

_LOST_NODE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints of a node whose kubelet does not report."""
LOST_NODE_SECONDS: Final = 30
"""How long a driver stays on a node with such a taint, before Kubernetes deletes its pod."""

_ARGO_CD: Final = {"argocd.argoproj.io/ignore-restart-policy": "true"}
"""Otherwise Argo CD treats a pod that never restarts as a job, and shows it as progressing while it runs."""


def driver_pod(
    body: Mapping[str, Any], revision: Revision, settings: Settings, *, attempt: int, run: str
) -> Object:
    """The pod of the driver with the start number `attempt`, which continues a run of the pipeline."""
    made = _driver_pod(body, revision, settings, attempt, run)
    made["metadata"]["annotations"][names.TEMPLATE_HASH] = template_hash(body, revision, settings)
    return made


def template_hash(body: Mapping[str, Any], revision: Revision, settings: Settings) -> str:
    """A hash of all fields of the pod that are equal in each start of a revision by this operator."""
    pod = _driver_pod(body, revision, settings, attempt=0, run="")
    for name in (names.GENERATION, names.RESTART_NONCE):
        pod["metadata"]["annotations"].pop(name, None)
    return hashlib.sha256(json.dumps(pod, sort_keys=True).encode()).hexdigest()[:16]


def _driver_pod(
    body: Mapping[str, Any], revision: Revision, settings: Settings, attempt: int, run: str
) -> Object:
    pipeline, spec = revision.pipeline, revision.pipeline.spec
    name = names.driver_name(pipeline.name)
    about = metadata(body, name)
    about["annotations"] = {
        names.REVISION: revision.name,
        names.GENERATION: str(body["metadata"]["generation"]),
        names.ATTEMPT: str(attempt),
        names.RUN: run,
        **_ARGO_CD,
    }
    if nonce := requested_nonce(body):
        about["annotations"][names.RESTART_NONCE] = nonce
    container = {
        "name": names.DRIVER_CONTAINER,
        **_image(pipeline, settings),
        "args": ["driver", f"{names.DOCUMENT_DIR}/{names.DOCUMENT_KEY}"],
        "env": driver_variables(body, revision, settings, attempt, run),
        "ports": _ports(revision),
        "resources": _resources(spec.driver.resources),
        "volumeMounts": [*_mounts(revision), _mount(_UPDATE, names.UPDATE_DIR, read_only=True)],
        # A busy node takes minutes to import Python modules and to start Java; until then nothing answers.
        "startupProbe": _probe("/healthz", period=2, failures=150),
        "livenessProbe": _probe("/healthz", period=10, failures=6),
        "readinessProbe": _probe("/readyz", period=5, failures=1),
        "terminationMessagePath": names.TERMINATION_LOG,
        "terminationMessagePolicy": "File",
    }
    owned = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": about,
        "spec": {
            "restartPolicy": "Never",
            "serviceAccountName": spec.driver.service_account_name or name,
            "automountServiceAccountToken": True,
            "terminationGracePeriodSeconds": termination_seconds(spec.drain),
            "containers": [container],
            "volumes": [_files(body, revision, settings), _update(pipeline), *_volumes(body, revision)],
            **_pull_secrets(pipeline, settings),
        },
    }
    defaults = _defaults(names.DRIVER_CONTAINER)
    defaults["spec"]["tolerations"] = _tolerations(spec.driver.template)
    return built(defaults, spec.driver.template, owned)


def executor_template(body: Mapping[str, Any], revision: Revision, settings: Settings) -> Object | None:
    """The template from which Spark creates executor pods; None without executors."""
    if not revision.scaled_out:
        return None
    pipeline, spec = revision.pipeline, revision.pipeline.spec
    container = {
        "name": names.EXECUTOR_CONTAINER,
        **_image(pipeline, settings),
        "env": variables(),
        "resources": _further(spec.executors.resources),
        "volumeMounts": _mounts(revision),
    }
    owned = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": labels(pipeline.name, "executor"), "annotations": dict(_ARGO_CD)},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "containers": [container],
            "volumes": [_document(body, revision), *_volumes(body, revision)],
            **_pull_secrets(pipeline, settings),
        },
    }
    return built(_defaults(names.EXECUTOR_CONTAINER), spec.executors.template, owned)


def _defaults(container: str) -> Object:
    return {
        "spec": {
            "securityContext": dict(_POD_SECURITY),
            "enableServiceLinks": False,  # no variables for the Services of the namespace
            "containers": [{"name": container, "securityContext": dict(_CONTAINER_SECURITY)}],
        }
    }


def _tolerations(template: Mapping[str, Any]) -> list[Object]:
    """How long the driver stays on a node that is lost, if its template does not say: not Kubernetes' five minutes."""
    given = template.get("spec", {}).get("tolerations", ())
    known = {each.get("key") for each in given if each.get("effect") in (None, "", "NoExecute")}
    return [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": LOST_NODE_SECONDS}
        for key in _LOST_NODE
        if not known & {key, None, ""}
    ]


def _image(pipeline: StreamingPipeline, settings: Settings) -> Object:
    return {
        "image": pipeline.spec.image or settings.driver_image,
        "imagePullPolicy": pipeline.spec.image_pull_policy or settings.image_pull_policy,
    }


def _pull_secrets(pipeline: StreamingPipeline, settings: Settings) -> Object:
    given = [secret.name for secret in pipeline.spec.image_pull_secrets]
    secrets = list(dict.fromkeys([*given, *settings.image_pull_secrets]))
    return {"imagePullSecrets": [{"name": name} for name in secrets]} if secrets else {}


def _ports(revision: Revision) -> list[Object]:
    ports = {"http": names.HTTP_PORT, "ui": names.UI_PORT}
    if revision.scaled_out:
        ports |= {"driver": names.DRIVER_PORT, "blockmanager": names.BLOCK_MANAGER_PORT}
    return [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in ports.items()]


def _probe(path: str, *, period: int, failures: int) -> Object:
    return {
        "httpGet": {"path": path, "port": "http"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _resources(resources: Resources) -> Object:
    return {"requests": dict(resources.requests), "limits": dict(resources.limits)}


def _further(resources: Resources) -> Object:
    """Resources that Spark has no property for; Spark itself requests cores and memory."""
    own = ("cpu", "memory")
    return {
        part: {name: amount for name, amount in amounts.items() if name not in own}
        for part, amounts in _resources(resources).items()
    }


def _secrets(revision: Revision) -> dict[str, Object]:
    """Secrets that the document names, each once. The kubelet starts no container without its secrets, so secrets of
    connections that the run does not use are optional.
    """
    connections = revision.pipeline.spec.connections
    wanted = {name for each in connections if each.name in revision.required for name in each.secrets}
    named = (name for connection in connections for name in connection.secrets)
    return {name: {} if name in wanted else {"optional": True} for name in named}


def _document(body: Mapping[str, Any], revision: Revision) -> Object:
    name = names.revision_name(body["metadata"]["name"], revision.name)
    return {"name": "mainstem-document", "configMap": {"name": name}}


def _files(body: Mapping[str, Any], revision: Revision, settings: Settings) -> Object:
    """The volume with the document and the template of executor pods."""
    document, executor = _document(body, revision), executor_template(body, revision, settings)
    if executor is None:
        return document
    # By key: the ConfigMap of an older operator also contains a template.
    only = {"items": [{"key": names.DOCUMENT_KEY, "path": names.DOCUMENT_KEY}]}
    beside = {"name": template(body, executor)["metadata"]["name"]}
    sources = [{"configMap": {**document["configMap"], **only}}, {"configMap": beside}]
    return {"name": document["name"], "projected": {"sources": sources}}


def _update(pipeline: StreamingPipeline) -> Object:
    """The volume with a document that the running driver shall apply: its ConfigMap exists only after a change."""
    return {"name": _UPDATE, "configMap": {"name": names.update_name(pipeline.name), "optional": True}}


def _volumes(body: Mapping[str, Any], revision: Revision) -> list[Object]:
    pipeline = body["metadata"]["name"]
    volumes: list[Object] = [
        {"name": "mainstem-scratch", "emptyDir": {}},
        {"name": "mainstem-tmp", "emptyDir": {}},
    ]
    volumes += [
        {
            "name": f"mainstem-secrets-{index}",
            "secret": {"secretName": name, "defaultMode": 0o440, **optional},
        }
        for index, (name, optional) in enumerate(_secrets(revision).items())
    ]
    if revision.scaled_out:
        secret = {
            "secretName": names.spark_secret_name(pipeline, body["metadata"]["uid"]),
            "defaultMode": 0o440,
        }
        volumes.append({"name": "mainstem-spark-secret", "secret": secret})
    return volumes


def _mounts(revision: Revision) -> list[Object]:
    mounts = [
        _mount("mainstem-document", names.DOCUMENT_DIR, read_only=True),
        _mount("mainstem-scratch", names.SCRATCH_DIR),
        _mount("mainstem-tmp", "/tmp"),  # noqa: S108
    ]
    mounts += [
        _mount(f"mainstem-secrets-{index}", f"{names.SECRETS_DIR}/{name}", read_only=True)
        for index, name in enumerate(_secrets(revision))
    ]
    if revision.scaled_out:
        mounts.append(_mount("mainstem-spark-secret", names.SPARK_SECRET_DIR, read_only=True))
    return mounts


def _mount(volume: str, path: str, *, read_only: bool = False) -> Object:
    return {"name": volume, "mountPath": path, **({"readOnly": True} if read_only else {})}


def termination_seconds(drain: Drain) -> int:
    """The grace period of the driver pod. The kubelet ends the driver then, also in a batch."""
    if drain.on_timeout == "wait":
        return names.DRAIN_WAIT_SECONDS
    return int(seconds(drain.timeout)) + names.DRAIN_MARGIN_SECONDS


def deletion_seconds(revision: Revision | None) -> float:
    """Seconds that a driver may take to end after the deletion of its pipeline: the deadline of its drain, and a margin."""
    drain = 60.0 if revision is None else seconds(revision.pipeline.spec.drain.timeout)
    return drain + names.DRAIN_MARGIN_SECONDS
