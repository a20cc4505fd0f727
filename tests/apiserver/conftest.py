import secrets
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import pytest
from apiserver.operatorbed import Bed, Ours
from harness.apiserver import ControlPlane
from harness.cache import tail
from harness.waiting import within
from kubernetes.client import ApiException, ApiextensionsV1Api, CoreV1Api, CustomObjectsApi
from mainstem.schema import crd


class Pipelines:
    """The pipelines of one fresh namespace, as an administrator sees them."""

    def __init__(self, plane: ControlPlane) -> None:
        self.client = plane.api_client()
        self.namespace = f"schema-{secrets.token_hex(4)}"
        CoreV1Api(self.client).create_namespace({"metadata": {"name": self.namespace}})
        self._objects = CustomObjectsApi(self.client)
        self._path = f"/apis/mainstem.dev/v1alpha1/namespaces/{self.namespace}/streamingpipelines"
        self._at = ("mainstem.dev", "v1alpha1", self.namespace, "streamingpipelines")

    def create(self, document: dict[str, Any], *, dry_run: bool = True) -> dict[str, Any]:
        """The object as the server would store it, or does; unknown fields are refused, as kubectl has it."""
        only = {"dry_run": "All"} if dry_run else {}
        return self._objects.create_namespaced_custom_object(
            *self._at, document, field_validation="Strict", **only
        )

    def create_text(self, text: str) -> dict[str, Any]:
        """The object that the server would store for a document in YAML, read by the server itself."""
        answer = self.client.call_api(
            "POST",
            f"{self.client.configuration.host}{self._path}?dryRun=All",
            {"Accept": "application/json", "Content-Type": "application/yaml"},
            body=text,
        )
        answer.read()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiException(http_resp=answer)
        return self.client.deserialize(answer.data.decode(), "object", "application/json")

    def apply(self, document: dict[str, Any], manager: str, *, status: bool = False) -> dict[str, Any]:
        """Server-side apply of a part of an object, as a field manager, without force."""
        patch: Callable[..., dict[str, Any]] = (
            self._objects.patch_namespaced_custom_object_status
            if status
            else self._objects.patch_namespaced_custom_object
        )
        return patch(
            *self._at,
            document["metadata"]["name"],
            document,
            field_manager=manager,
            _content_type="application/apply-patch+yaml",
        )

    def table(self) -> dict[str, Any]:
        """What `kubectl get` is given to print."""
        answer = self.client.call_api(
            "GET",
            self.client.configuration.host + self._path,
            {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
        )
        answer.read()
        return self.client.deserialize(answer.data.decode(), "object", "application/json")


@pytest.fixture(scope="session")
def crd_installed(control_plane: ControlPlane) -> None:
    """The API server takes pipelines."""
    api = ApiextensionsV1Api(control_plane.api_client())
    body = crd()
    api.create_custom_resource_definition(body)
    within(90, "the definition established", lambda: _established(api, body["metadata"]["name"]))
    objects = CustomObjectsApi(api.api_client)
    within(90, "the definition served", lambda: _answers(objects))


@pytest.fixture
def pipelines(control_plane: ControlPlane, crd_installed: None) -> Iterator[Pipelines]:
    """A namespace of the test's own, without pipelines."""
    api = Pipelines(control_plane)
    yield api
    api.client.rest_client.pool_manager.clear()


def _established(api: ApiextensionsV1Api, name: str) -> bool:
    conditions = api.read_custom_resource_definition(name).status.conditions or []
    return any(condition.type == "Established" and condition.status == "True" for condition in conditions)


def _answers(objects: CustomObjectsApi) -> bool:
    """Whether the new resource is served; at first it is not found, or "storage is (re)initializing"."""
    try:
        objects.list_cluster_custom_object("mainstem.dev", "v1alpha1", "streamingpipelines")
    except ApiException as error:
        if error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.TOO_MANY_REQUESTS):
            return False
        raise
    return True


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    """An API server with its controllers, and the definition; the operator is not started yet."""
    with ControlPlane(controllers=True) as plane:
        started_bed = Bed(plane)
        yield started_bed
        started_bed.operator.kill()
        started_bed.client.rest_client.pool_manager.clear()


@pytest.fixture
def ours(bed: Bed) -> Ours:
    """A pipeline to be made, in a namespace of its own; the operator runs. What is left of it costs no write."""
    bed.operator.up()
    return Ours(bed, bed.namespace())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Iterator[None]:
    """Print the log of the operator after a failed test: most of its work shows only there."""
    report = yield
    used = item.funcargs.get("bed")
    if report.failed and isinstance(used, Bed):
        report.sections.append(("the operator's log", tail(used.operator.log)))
    return report
