"""The Kubernetes API with a kubeconfig, as kubectl uses it."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from kubernetes import client
from kubernetes.config import (
    ConfigException,
    list_kube_config_contexts,
    load_incluster_config,
    load_kube_config,
)
from kubernetes.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION

from mainstem import names, reasons
from mainstem.cluster.api_errors import API_ERRORS, api_error, is_missing
from mainstem.errors import NotReady


_TIMEOUT: Final = (5.0, 30.0)
"""Seconds to connect and to answer."""
_IN_A_POD: Final = "KUBERNETES_SERVICE_HOST"
_NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
Answer = TypeVar("Answer")


class UserApi:
    """The API server of a context of the kubeconfig.

    Args:
        context: the context; None for the current one. Without a kubeconfig, in a pod, the pod's service account.
        namespace: the namespace; None for the one of the context.

    Raises:
        NotReady: `KubeconfigUnusable`.
    """

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        configuration = client.Configuration()
        own = _load(configuration, context)
        configuration.retries = False
        self.namespace = namespace or own or "default"
        self._api = client.ApiClient(configuration)
        self._core, self._objects = client.CoreV1Api(self._api), client.CustomObjectsApi(self._api)

    def pipeline(self, name: str) -> dict[str, Any]:
        """A pipeline, as the API server has it.

        Raises:
            NotReady: `PipelineNotFound`, `ApiServerForbids`, `ApiServerUnreachable`, `ApiServerRefuses`.
        """
        at = (names.GROUP, names.VERSION, self.namespace, names.PLURAL, name)
        subject = f"the StreamingPipeline {self.namespace}/{name}"
        body: dict[str, Any] = self._asked(
            subject,
            lambda: self._objects.get_namespaced_custom_object(*at, _request_timeout=_TIMEOUT),
            reasons.PIPELINE_NOT_FOUND,
        )
        return body

    def change(self, name: str, spec: Mapping[str, Any]) -> None:
        """Merge some fields into the spec of a pipeline. Raises as `pipeline`."""
        at = (names.GROUP, names.VERSION, self.namespace, names.PLURAL, name)
        self._asked(
            f"the StreamingPipeline {self.namespace}/{name}",
            lambda: self._objects.patch_namespaced_custom_object(
                *at,
                {"spec": dict(spec)},
                _content_type="application/merge-patch+json",
                _request_timeout=_TIMEOUT,
            ),
            reasons.PIPELINE_NOT_FOUND,
        )

    def document(self, pipeline: str, revision: str) -> str:
        """The document of a revision, in YAML.

        Raises:
            NotReady: `NothingHasRun`, and as `pipeline`.
        """
        name = names.revision_name(pipeline, revision)
        subject = f"the document of revision {revision}, ConfigMap {self.namespace}/{name}"
        answer = self._asked(
            subject,
            lambda: self._core.read_namespaced_config_map(name, self.namespace, _request_timeout=_TIMEOUT),
            reasons.NOTHING_HAS_RUN,
        )
        return str((answer.data or {}).get(names.DOCUMENT_KEY, ""))

    def pod(self, name: str) -> dict[str, Any] | None:
        """A pod as the API server has it; None if it does not exist. Raises as `pipeline`."""
        try:
            return self._plain(
                self._core.read_namespaced_pod(name, self.namespace, _request_timeout=_TIMEOUT)
            )
        except API_ERRORS as error:
            if is_missing(error):
                return None
            raise api_error(f"the pod {self.namespace}/{name}", error) from None

    def events(self, name: str) -> list[dict[str, Any]]:
        """The events of a pod; none if the user may not read them."""
        selector = f"involvedObject.kind=Pod,involvedObject.name={name}"
        try:
            listed = self._core.list_namespaced_event(
                self.namespace, field_selector=selector, _request_timeout=_TIMEOUT
            )
        except API_ERRORS:
            return []
        return [self._plain(event) for event in listed.items]

    def deployments(self, selector: str) -> list[dict[str, Any]]:
        """The Deployments of the cluster with these labels; none if the user may not read them."""
        try:
            listed = client.AppsV1Api(self._api).list_deployment_for_all_namespaces(
                label_selector=selector, _request_timeout=_TIMEOUT
            )
        except API_ERRORS:
            return []
        return [self._plain(each) for each in listed.items]

    def create_pod(self, body: dict[str, Any]) -> None:
        """Create a pod. Raises as `pipeline`."""
        self._asked(
            f"the pod {self.namespace}/{body['metadata']['name']}",
            lambda: self._core.create_namespaced_pod(self.namespace, body, _request_timeout=_TIMEOUT),
        )

    def delete_pod(self, name: str) -> None:
        """Delete a pod at once; one that does not exist is deleted. Raises as `pipeline`."""
        try:
            self._core.delete_namespaced_pod(
                name, self.namespace, grace_period_seconds=0, _request_timeout=_TIMEOUT
            )
        except API_ERRORS as error:
            if not is_missing(error):
                raise api_error(f"the pod {self.namespace}/{name}", error) from None

    def log(self, pod: str, container: str) -> Iterator[bytes]:
        """The output of a container, part by part, until it ends. Raises as `pipeline`."""
        answer = self._asked(
            f"the log of the pod {self.namespace}/{pod}",
            lambda: self._core.read_namespaced_pod_log(
                pod, self.namespace, container=container, follow=True, _preload_content=False
            ),
        )
        try:
            yield from answer.stream(decode_content=True)
        except API_ERRORS as error:
            raise api_error(f"the log of the pod {self.namespace}/{pod}", error) from None

    def _plain(self, thing: Any) -> dict[str, Any]:
        plain: dict[str, Any] = self._api.sanitize_for_serialization(thing)
        return plain

    def close(self) -> None:
        """Close the connections."""
        self._api.rest_client.pool_manager.clear()

    def _asked(
        self, subject: str, ask: Callable[[], Answer], missing: reasons.Reason = reasons.API_SERVER_REFUSES
    ) -> Answer:
        """The answer to a request; `missing` is the reason if the object does not exist."""
        try:
            return ask()
        except API_ERRORS as error:
            raise api_error(subject, error, missing) from None


def _load(configuration: Any, context: str | None) -> str | None:
    """Fill in the configuration; returns the namespace of the context, if it has one."""
    try:
        # The client reads the variable when it is imported; a later value counts as well.
        file = os.environ.get("KUBECONFIG") or KUBE_CONFIG_DEFAULT_LOCATION
        load_kube_config(file, context, client_configuration=configuration)
        contexts, active = list_kube_config_contexts(file)
        chosen = next((each for each in contexts if each["name"] == context), active)
        return (chosen.get("context") or {}).get("namespace")
    except (ConfigException, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if context is None and os.environ.get(_IN_A_POD):
            return _in_pod(configuration)
        raise NotReady(
            f"no usable kubeconfig: {error}",
            reason=reasons.KUBECONFIG_UNUSABLE,
            remedy="set KUBECONFIG or --context to a cluster that `kubectl get streamingpipelines` reaches",
        ) from None


def _in_pod(configuration: Any) -> str | None:
    try:
        load_incluster_config(configuration)
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except (ConfigException, OSError) as error:
        raise NotReady(
            f"no kubeconfig, and no service account in this pod: {error}", reason=reasons.KUBECONFIG_UNUSABLE
        ) from None
