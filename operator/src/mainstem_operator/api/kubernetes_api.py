"""The Kubernetes API as the operator needs it: reads from the server, server-side apply, deletion, dry runs.

Bodies are plain dicts. The only importer of `kubernetes`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import aiohttp
from kubernetes.aio import client as aio
from kubernetes.aio.config import incluster_config, kube_config
from kubernetes.aio.dynamic import DynamicClient
from kubernetes.aio.dynamic.exceptions import DynamicApiError
from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.names import API_VERSION, KIND, OPERATOR, PLURAL

from mainstem_operator.api.fence import Fence
from mainstem_operator.metrics import WRITES


Object = dict[str, Any]

READ_SECONDS: Final = 10.0
STATUS_SECONDS: Final = 15.0
WRITE_SECONDS: Final = 35.0
"""A little longer than an admission webhook may take, so that the server's error arrives before the timeout."""
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_REFUSED: Final = (400, 403, 422)
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_PLURALS: Final = {
    "Namespace": "namespaces",
    "Pod": "pods",
    "Event": "events",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Lease": "leases",
    KIND: PLURAL,
    "CustomResourceDefinition": "customresourcedefinitions",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


class ApiError(Exception):
    """An error of the API server: its HTTP `status`, its `reason` (such as `AlreadyExists`), and its message."""

    def __init__(self, status: int, words: str, reason: str = "") -> None:
        super().__init__(words[:1000])
        self.status = status
        self.reason = reason


class ApiRejection(ApiError):
    """The API server rejects an object: it is invalid, or a policy, a quota or missing permissions forbid it."""


NO_ANSWER: Final = (OSError, aiohttp.ClientError)
"""The errors of a call if no server answers in time."""


@dataclass(frozen=True)
class Kind:
    """A kind of objects, with its paths on the API server."""

    api_version: str
    kind: str

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """The path of the collection, of an object, or of its subresource."""
        root = "/api/" if "/" not in self.api_version else "/apis/"
        within = f"/namespaces/{namespace}" if namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{self.api_version}{within}/{_PLURALS[self.kind]}{tail}"


NAMESPACE: Final = Kind("v1", "Namespace")
POD: Final = Kind("v1", "Pod")
EVENT: Final = Kind("v1", "Event")
CONFIG_MAP: Final = Kind("v1", "ConfigMap")
SECRET: Final = Kind("v1", "Secret")
BUDGET: Final = Kind("policy/v1", "PodDisruptionBudget")
LEASE: Final = Kind("coordination.k8s.io/v1", "Lease")
PIPELINE: Final = Kind(API_VERSION, KIND)
DEFINITION: Final = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
WEBHOOKS: Final = Kind("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration")


class KubernetesApi:
    """A connection to the API server; its errors are `ApiError`, or those of aiohttp if no server answers."""

    def __init__(self, api: aio.ApiClient) -> None:
        self._api = api
        self._client = DynamicClient(api)  # without discovery: the few paths are known

    @classmethod
    async def connect(cls, fence: Fence | None) -> Self:
        """Connect with the pod's service account, else with the user's kubeconfig. Writes pass the fence, if there is one.

        Raises:
            NotReady: `NoCluster`: there is neither.
        """
        configuration = aio.Configuration()
        try:
            incluster_config.load_incluster_config(client_configuration=configuration)
        except Exception:  # noqa: BLE001 - not in a pod
            try:
                await kube_config.load_kube_config(client_configuration=configuration)
            except Exception as error:
                raise NotReady(
                    f"the operator finds no cluster: {error}",
                    reason=reasons.NO_CLUSTER,
                    remedy="run in a pod with a service account, or set KUBECONFIG",
                ) from error
        # The turns are the only limit: calls that a webhook delays keep their connections, and other calls need more.
        configuration.connection_pool_maxsize = 0
        # Like Kopf, without a proxy from the environment: each request would look for it, and for a .netrc, in a thread.
        configuration.client_session_kwargs = {"trust_env": False}
        configuration.trace_configs = [fence.trace()] if fence else None
        return cls(aio.ApiClient(configuration))

    async def close(self) -> None:
        """Close the connections."""
        await self._api.close()

    async def get(
        self, kind: Kind, namespace: str, name: str, *, metadata_only: bool = False
    ) -> Object | None:
        """An object, read from the server; None if it does not exist. The field `kind` may be missing."""
        more = {"header_params": {"Accept": _METADATA}} if metadata_only else {}
        try:
            return await self._call("get", kind.path(namespace, name), kind.kind, **more)
        except ApiError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    async def events(self, namespace: str, uid: str) -> list[Object]:
        """The events of an object, by its uid; at most 50."""
        answer = await self._call(
            "get", EVENT.path(namespace), EVENT.kind, field_selector=f"involvedObject.uid={uid}", limit=50
        )
        return list(answer["items"])

    async def list(self, kind: Kind, namespace: str, labels: Mapping[str, str]) -> "list[Object]":
        """The objects with these labels."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        answer = await self._call("get", kind.path(namespace), kind.kind, label_selector=selector)
        return list(answer["items"])

    async def apply(self, manifest: Mapping[str, Any], manager: str, *, dry_run: bool = False) -> Object:
        """Server-side apply with force: the manager owns the manifest's fields. With `metadata.uid`, only to the object with that uid.

        Raises:
            ApiRejection: with the server's message.
        """
        kind, about = Kind(manifest["apiVersion"], manifest["kind"]), manifest["metadata"]
        path, dry = kind.path(about["namespace"], about["name"]), {"dry_run": "All"} if dry_run else {}
        return await self._call("patch", path, kind.kind, manifest, **_applied(manager), **dry)

    async def create(self, manifest: Mapping[str, Any], *, dry_run: bool = False) -> Object | None:
        """Create an object that never changes; None if it exists. Except for pods, the answer has only the metadata.

        Raises:
            ApiRejection: with the server's message.
        """
        kind, about = Kind(manifest["apiVersion"], manifest["kind"]), manifest["metadata"]
        path = kind.path(about["namespace"])
        more: dict[str, Any] = {"dry_run": "All"} if dry_run else {}
        if kind != POD:
            more["header_params"] = {"Accept": _METADATA}
        try:
            return await self._call("post", path, kind.kind, manifest, field_manager=OPERATOR, **more)
        except ApiError as error:
            if error.reason == "AlreadyExists":  # a contended quota also answers 409, and creates nothing
                return None
            raise

    async def replace(self, manifest: Mapping[str, Any]) -> Object:
        """Replace a whole object.

        Raises:
            ApiError: its reason is `Conflict` if the object has another resource version than the manifest.
        """
        kind, about = Kind(manifest["apiVersion"], manifest["kind"]), manifest["metadata"]
        return await self._call("put", kind.path(about["namespace"], about["name"]), kind.kind, manifest)

    async def apply_status(
        self, body: Mapping[str, Any], status: Mapping[str, Any], manager: str, *, unchanged: bool = False
    ) -> Object | None:
        """Write a manager's whole part of a pipeline's status; server-side apply removes fields that it leaves out now.

        With `unchanged`, only if the resource still has the resource version of `body`; else None.
        """
        about = body["metadata"]
        version = {"resourceVersion": about["resourceVersion"]} if unchanged else {}
        manifest = {
            "apiVersion": PIPELINE.api_version,
            "kind": PIPELINE.kind,
            "metadata": {"name": about["name"], "namespace": about["namespace"], **version},
            "status": status,
        }
        path = PIPELINE.path(about["namespace"], about["name"], "status")
        try:
            return await self._call("patch", path, "status", manifest, **_applied(manager))
        except ApiError as error:
            if unchanged and error.status == _CONFLICT:
                return None
            raise

    async def cluster_uid(self) -> str:
        """The uid of the namespace `kube-system`, which identifies the cluster; empty if the operator may not read it."""
        try:
            namespace = await self.get(NAMESPACE, "", "kube-system", metadata_only=True)
        except ApiRejection:
            return ""
        return str(namespace["metadata"]["uid"]) if namespace else ""

    async def delete(
        self, kind: Kind, thing: Mapping[str, Any], *, grace: float | None = None
    ) -> Object | None:
        """Delete the object with this uid, with a grace period in seconds or its own; 0 needs no node. Return the object if it
        still exists then, else None.
        """
        about = thing["metadata"]
        namespace, name = about["namespace"], about["name"]
        body: dict[str, Any] = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": about["uid"]},
        }
        if grace is not None:
            body["gracePeriodSeconds"] = int(grace)
        try:
            answer = await self._call("delete", kind.path(namespace, name), kind.kind, body)
        except ApiError as error:
            if error.status in (_NOT_FOUND, _CONFLICT):
                return None
            raise
        return answer if answer.get("kind") == kind.kind and _lingers(answer) else None

    async def _call(
        self, verb: str, path: str, resource: str, body: Mapping[str, Any] | None = None, **query: Any
    ) -> Object:
        if verb != "get" and "dry_run" not in query:
            WRITES.labels(verb=verb, resource=resource).inc()
        try:
            answer = await self._client.request(
                verb, path, body=body, serialize=False, _request_timeout=_seconds(verb, resource), **query
            )
        except DynamicApiError as error:
            raise _error(error) from None
        content: Object = await answer.json()
        return content


def _seconds(verb: str, resource: str) -> float:
    """Seconds that an answer may take: the server asks webhooks about writes, and each may take 30 seconds."""
    if verb == "get":
        return READ_SECONDS
    return STATUS_SECONDS if resource == "status" else WRITE_SECONDS


def _lingers(deleted: Object) -> bool:
    """True if a deleted object still exists: the server returns the object in both cases."""
    about = deleted["metadata"]
    return bool(about.get("finalizers")) or about.get("deletionGracePeriodSeconds", 0) > 0


def _applied(manager: str) -> dict[str, Any]:
    # `force` as text: the client would send a bool as Python writes it.
    return {
        "content_type": "application/apply-patch+yaml",
        "field_manager": manager,
        "force_conflicts": "true",
    }


def _error(error: DynamicApiError) -> ApiError:
    try:
        status = json.loads(error.body)
        words, reason = str(status["message"]), str(status.get("reason") or "")
    except (TypeError, ValueError, KeyError, AttributeError):
        words, reason = str(error.reason), ""
    return (ApiRejection if error.status in _REFUSED else ApiError)(int(error.status), words, reason)
