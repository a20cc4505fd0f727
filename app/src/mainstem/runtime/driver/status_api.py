"""The driver's client of the Kubernetes API; imports `kubernetes`, which is slow to import."""

from collections.abc import Iterator
from typing import Any, Final

from kubernetes import client
from kubernetes.config import ConfigException, load_incluster_config

from mainstem import names, reasons
from mainstem.cluster.api_errors import API_ERRORS, api_error
from mainstem.cluster.container_waits import wait_of
from mainstem.errors import NotReady


_TIMEOUT: Final = (2.0, 4.0)
"""Seconds to connect and to answer."""


class StatusApi:
    """Writes the status of one pipeline to the Kubernetes API, and reads why its executors wait.

    Args:
        namespace: the namespace of the pipeline.
        pipeline: the name of the pipeline.
        api: the client; by default a client with the pod's service account.
    """

    def __init__(self, namespace: str, pipeline: str, api: Any = None) -> None:
        self._namespace, self._pipeline = namespace, pipeline
        api = api or in_cluster()
        self._objects, self._core = client.CustomObjectsApi(api), client.CoreV1Api(api)

    def write(self, status: dict[str, Any]) -> None:
        """Replace the driver's part of the status by server-side apply.

        Raises:
            NotReady: `ApiServerUnreachable`, `ApiServerForbids`, `PipelineNotFound`, `ApiServerRefuses`.
        """
        body = {
            "apiVersion": names.API_VERSION,
            "kind": names.KIND,
            "metadata": {"name": self._pipeline, "namespace": self._namespace},
            "status": status,
        }
        try:
            self._objects.patch_namespaced_custom_object_status(
                names.GROUP,
                names.VERSION,
                self._namespace,
                names.PLURAL,
                self._pipeline,
                body,
                field_manager=names.DRIVER,
                force=True,
                _content_type="application/apply-patch+yaml",
                _request_timeout=_TIMEOUT,
            )
        except API_ERRORS as error:
            raise api_error("its status", error, reasons.PIPELINE_NOT_FOUND) from None

    def unscheduled(self) -> str | None:
        """Why executor pods wait, quoted from the scheduler or the kubelet; None if no pod waits.

        Raises:
            NotReady: as `write`.
        """
        try:
            pods = self._core.list_namespaced_pod(
                self._namespace,
                label_selector=f"spark-role=executor,{names.PIPELINE_LABEL}={self._pipeline}",
                field_selector="status.phase=Pending",
                limit=50,
                _request_timeout=_TIMEOUT,
            )
        except API_ERRORS as error:
            raise api_error("its executors' pods", error) from None
        return next((message for pod in pods.items for message in _wait_messages(pod)), None)


def in_cluster() -> Any:
    """A client with the pod's service account. It reads the token again every minute, because the kubelet renews it.

    Raises:
        NotReady: `ApiServerUnreachable`: this process runs in no pod, or the pod has no service account token.
    """
    configuration = client.Configuration()
    try:
        load_incluster_config(configuration)
    except ConfigException as error:
        raise NotReady(
            f"the pod has no service account with which to write the status: {error}",
            reason=reasons.API_SERVER_UNREACHABLE,
        ) from None
    # The writer retries; urllib3 would log each of its own retries.
    configuration.retries = False
    return client.ApiClient(configuration)


def _wait_messages(pod: Any) -> Iterator[str]:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False" and condition.message:
            yield condition.message
    for container in pod.status.container_statuses or ():
        waiting = container.state.waiting if container.state else None
        if waiting and (wait := wait_of(waiting.reason, waiting.message)):
            yield f"{pod.metadata.name}: {wait[0]}: {wait[1]}".rstrip(": ")
