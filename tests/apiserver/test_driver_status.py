"""The driver's part of the status against a real API server: the stored fields, the pace of writes, and outages of the server."""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from documents import document
from harness.apiserver import ControlPlane
from harness.clock import OwnClock
from harness.documents import pipeline_head
from harness.waiting import eventually, within
from kubernetes.client import (
    ApiClient,
    ApiException,
    ApiextensionsV1Api,
    Configuration,
    CoreV1Api,
    CustomObjectsApi,
    RbacAuthorizationV1Api,
)
from kubernetes.config import incluster_config
from mainstem import logs, names
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.driver import status_api, status_writer
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.status_api import StatusApi
from mainstem.runtime.driver.status_report import ExecutorCounts, part
from mainstem.runtime.driver.status_writer import StatusWriter
from mainstem.schema import crd
from unit import builders


NOW = "2026-01-01T00:00:00Z"
NAME = "smallest"
NEW = {"observedGeneration": -1}
"""The status of a pipeline that the operator has not seen."""
BUSY = replace(
    builders.BUSY,
    name="show",
    pool="show",
    checkpoint="s3a://c/smallest/show/1",
    restarts=1,
    reason="StoreUnreachable",
    message="the object store does not answer",
    sources=(replace(builders.BUSY.sources[0], name="ticks", end_offset={"ticks": {"0": 7}}),),
)


@pytest.fixture
def stored(pipelines) -> Callable[[], dict[str, Any]]:
    """A pipeline is there; what the server holds of it."""
    pipelines.create(document(NAME), dry_run=False)
    return lambda: pipelines._objects.get_namespaced_custom_object(*pipelines._at, NAME)


@pytest.fixture
def cluster(pipelines) -> StatusApi:
    return StatusApi(pipelines.namespace, NAME, pipelines.client)


def test_no_field_of_the_status_is_lost(stored, cluster: StatusApi) -> None:
    body = part([BUSY], ExecutorCounts(1, 2, "0/1 nodes are available"), attempt=3, time=NOW)
    cluster.write(body)
    assert stored()["status"] == NEW | body


def test_the_operator_and_the_driver_own_different_parts_of_the_status(
    pipelines, stored, cluster: StatusApi
) -> None:
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "AllActive",
        "message": "",
        "lastTransitionTime": NOW,
    }
    mine = {"phase": "Running", "attempt": 3, "conditions": [condition]}
    operator = {
        **pipeline_head(NAME),
        "status": mine,
    }
    pipelines.apply(operator, names.OPERATOR, status=True)
    body = part([BUSY, replace(BUSY, name="other")], None, attempt=3, time=NOW)
    cluster.write(body)
    assert stored()["status"] == NEW | mine | body
    shorter = part([BUSY], None, attempt=3, time=NOW)
    cluster.write(shorter)
    assert stored()["status"] == NEW | mine | shorter
    # The operator takes over under the driver's name once the driver is dead.
    dead = part([replace(BUSY, state=QueryState.FAILED, sources=())], None, attempt=3, time=NOW)
    pipelines.apply(operator | {"status": dead}, names.DRIVER, status=True)
    assert stored()["status"] == NEW | mine | dead


def test_the_longest_status_is_accepted(stored, cluster: StatusApi) -> None:
    statuses = [
        replace(BUSY, name=f"{'q' * 60}{n:03}", pool=f"{'q' * 60}{n:03}", message="m" * 1024)
        for n in range(64)
    ]
    body = part(statuses, ExecutorCounts(0, 2, "x" * 5000), attempt=2**31, time=NOW)
    cluster.write(body)
    status = stored()["status"]
    assert status == NEW | body
    assert len(json.dumps(status, separators=(",", ":"))) <= 32 * 1024


def test_a_deleted_pipeline_is_not_created_again(pipelines) -> None:
    with pytest.raises(NotReady) as gone:
        StatusApi(pipelines.namespace, "gone", pipelines.client).write(
            part([BUSY], None, attempt=1, time=NOW)
        )
    assert gone.value.reason == "PipelineNotFound"


def test_the_message_of_the_scheduler_is_read(pipelines, cluster: StatusApi) -> None:
    core = CoreV1Api(pipelines.client)
    labels = {"spark-role": "executor", names.PIPELINE_LABEL: NAME}
    for name, kind in (("other", labels | {names.PIPELINE_LABEL: "other"}), ("ours", labels)):
        core.create_namespaced_pod(
            pipelines.namespace,
            {
                "metadata": {"name": name, "labels": kind},
                "spec": {"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": False},
            },
        )
    assert cluster.unscheduled() is None  # it only just waits
    message = "0/1 nodes are available: 1 Insufficient memory."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    core.patch_namespaced_pod_status("ours", pipelines.namespace, {"status": {"conditions": [condition]}})
    assert cluster.unscheduled() == message


def test_the_message_of_the_kubelet_is_read(pipelines, cluster: StatusApi) -> None:
    core = CoreV1Api(pipelines.client)
    labels = {"spark-role": "executor", names.PIPELINE_LABEL: NAME}
    pod = {
        "metadata": {"name": "ours", "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": False},
    }
    core.create_namespaced_pod(pipelines.namespace, pod)
    for reason, message, text in (
        ("ContainerCreating", None, None),
        ("ErrImagePull", "no such image", "ours: ImagePullBackOff: no such image"),
        (
            "ImagePullBackOff",
            'Back-off pulling image "i": ErrImagePull: no such image',
            "ours: ImagePullBackOff: no such image",
        ),
    ):
        waiting = {"reason": reason} | ({"message": message} if message else {})
        status = {"name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": {"waiting": waiting}}  # fmt: skip
        core.patch_namespaced_pod_status(
            "ours", pipelines.namespace, {"status": {"phase": "Pending", "containerStatuses": [status]}}
        )
        assert cluster.unscheduled() == text


class Log:
    """What the writer logs, as JSON lines on standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._lines: list[dict[str, Any]] = []

    def lines(self) -> list[dict[str, Any]]:
        """All so far; anything that is not a line of ours fails here."""
        message = self._capsys.readouterr()
        assert message.out == ""
        # A line and its end are written one after the other: the end alone may be what is new.
        self._lines += [json.loads(line) for line in message.err.splitlines() if line]
        return [line for line in self._lines if line["component"] == "status"]


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[Log]:
    logs.configure("json", verbose=False)
    yield Log(capsys)
    logs.configure("console", verbose=False)


@pytest.fixture
def clock() -> OwnClock:
    return OwnClock()


class Writes:
    """The real client, and the second of each write."""

    def __init__(self, cluster: StatusApi, clock: OwnClock) -> None:
        self.cluster, self.clock, self.times = cluster, clock, list[float]()

    def write(self, status: dict[str, Any]) -> None:
        self.times.append(self.clock.seconds())
        self.cluster.write(status)

    def unscheduled(self) -> str | None:
        return self.cluster.unscheduled()


WRITER = 1
"""The thread that uses the clock."""


def test_changes_are_batched_and_the_last_state_is_always_written(
    stored, cluster: StatusApi, log: Log, clock: OwnClock
) -> None:
    writes, driver = Writes(cluster, clock), DriverState([BUSY], clock)
    writer = StatusWriter(lambda: writes, driver, 3)
    writer.start()
    for batch in range(8, 44):
        clock.advance(1, WRITER)
        driver.update([replace(BUSY, batch=batch)])
    assert writes.times == [1_001.0, 1_011.0, 1_021.0, 1_031.0], "the first at once, then one in ten seconds"
    assert stored()["status"]["queries"][0]["batch"] == 37
    driver.update([replace(BUSY, state=QueryState.DRAINED, batch=44)])
    writer.close()
    assert stored()["status"]["queries"][0]["batch"] == 44
    assert stored()["status"]["queries"][0]["state"] == "Drained"
    assert log.lines() == []


def test_without_a_change_only_the_time_is_written_once_a_minute(
    stored, cluster: StatusApi, clock: OwnClock
) -> None:
    writes, driver = Writes(cluster, clock), DriverState([BUSY], clock)
    writer = StatusWriter(lambda: writes, driver, 3)
    writer.start()
    clock.advance(1, WRITER)
    first = stored()["status"]["reported"]
    for second in range(1, 61):
        assert stored()["status"]["reported"] == first
        driver.update([replace(BUSY, last_progress_time=f"2026-01-01T00:00:{second % 60:02}.000Z")])
        clock.advance(1, WRITER)
    assert writes.times == [1_001.0, 1_061.0]
    later = stored()["status"]["reported"]
    assert (first["time"], later["time"]) == ("2026-01-01T00:00:01Z", "2026-01-01T00:01:01Z")
    assert later["attempt"] == 3
    writer.close()


def test_missing_rights_are_logged_once_and_end_nothing(
    control_plane: ControlPlane, pipelines, stored, log: Log, clock: OwnClock
) -> None:
    client = control_plane.api_client(control_plane.write_kubeconfig("nobody"))
    driver, writes = DriverState([BUSY], clock), Writes(StatusApi(pipelines.namespace, NAME, client), clock)
    writer = StatusWriter(lambda: writes, driver, 3)
    writer.start()
    clock.advance(71, WRITER)
    assert writes.times == [1_001.0, 1_011.0, 1_031.0, 1_071.0], "later each time"
    [line] = log.lines()
    assert (line["level"], line["reason"]) == ("warning", "ApiServerForbids")
    assert 'cannot patch resource "streamingpipelines/status"' in line["error"]
    writer.close()
    assert len(log.lines()) == 1
    assert stored()["status"] == NEW


def as_driver(
    plane: ControlPlane, namespace: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], StatusApi]:
    """A pod's surroundings: its service account with a driver's rights, token, CA and address of the API server."""
    api = plane.api_client()
    account, name = {"kind": "ServiceAccount", "name": "driver", "namespace": namespace}, {"name": "driver"}
    rules = [
        {
            "apiGroups": ["mainstem.dev"],
            "resources": ["streamingpipelines/status"],
            "resourceNames": [NAME],
            "verbs": ["patch"],
        },
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    core, rbac = CoreV1Api(api), RbacAuthorizationV1Api(api)
    core.create_namespaced_service_account(namespace, {"metadata": name})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "driver"}
    rbac.create_namespaced_role(namespace, {"metadata": name, "rules": rules})
    rbac.create_namespaced_role_binding(namespace, {"metadata": name, "roleRef": role, "subjects": [account]})
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = folder / "token"
    token.write_text(core.create_namespaced_service_account_token("driver", namespace, asked).status.token)
    api.rest_client.pool_manager.clear()
    host, _, port = plane.url.removeprefix("https://").rpartition(":")
    monkeypatch.setenv(incluster_config.SERVICE_HOST_ENV_NAME, host)
    monkeypatch.setenv(incluster_config.SERVICE_PORT_ENV_NAME, port)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(plane.authority.pair.certificate))
    return lambda pipeline: StatusApi(namespace, pipeline)


def test_the_rights_of_a_driver_are_enough_and_reach_no_other_pipeline(
    control_plane: ControlPlane, pipelines, stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = as_driver(control_plane, pipelines.namespace, tmp_path, monkeypatch)
    body = part([BUSY], None, attempt=1, time=NOW)
    own = cluster(NAME)
    within(30, "the right to write", lambda: _written(own, body))
    assert own.unscheduled() is None
    with pytest.raises(NotReady) as forbidden:
        cluster("other").write(body)
    assert forbidden.value.reason == "ApiServerForbids"


def test_outside_a_pod_there_is_no_account_to_write_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(incluster_config.SERVICE_HOST_ENV_NAME, raising=False)
    with pytest.raises(NotReady) as nobody:
        StatusApi("team", NAME)
    assert nobody.value.reason == "ApiServerUnreachable"


@pytest.mark.full(gate="apiserver/test_driver_status.py::test_missing_rights_are_logged_once_and_end_nothing")
def test_after_an_outage_of_the_api_server_the_last_state_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Log, clock: OwnClock
) -> None:
    """The writer logs the outage once, skips older states, and writes the last one."""
    with ControlPlane() as plane:
        api = plane.api_client()
        ApiextensionsV1Api(api).create_custom_resource_definition(crd())
        objects = CustomObjectsApi(api)
        at = ("mainstem.dev", "v1alpha1", "default", "streamingpipelines")
        within(
            30,
            "the resource served",
            lambda: _done(lambda: objects.create_namespaced_custom_object(*at, document(NAME))),
        )
        connect = as_driver(plane, "default", tmp_path, monkeypatch)
        # The authorizer reads roles from a cache: an early rejection would be logged as well.
        early = part([replace(BUSY, batch=6)], None, attempt=3, time=NOW)
        within(30, "a first status", lambda: _written(connect(NAME), early))
        driver = DriverState([BUSY], clock)
        writer = StatusWriter(lambda: connect(NAME), driver, 3)
        writer.start()

        def batch() -> Any:
            status = objects.get_namespaced_custom_object(*at, NAME)["status"]
            return status.get("queries", [{}])[0].get("batch")

        clock.advance(1, WRITER)
        assert batch() == 7
        plane.stop()
        driver.update([replace(BUSY, batch=8)])
        clock.advance(40, WRITER)
        driver.update([replace(BUSY, batch=9)])
        outages = [line for line in log.lines() if line["reason"] == "ApiServerUnreachable"]
        assert len(outages) == len(log.lines()) == 1
        plane.start()
        clock.advance(60, WRITER)
        assert batch() == 9
        assert log.lines()[-1]["event"] == "the status is written again"
        driver.update([replace(BUSY, batch=10, state=QueryState.DRAINED)])
        writer.close()
        assert batch() == 10
        plane.stop()
        api.rest_client.pool_manager.clear()


def test_the_last_write_ends_in_time(monkeypatch: pytest.MonkeyPatch, log: Log) -> None:
    """The server accepts connections and never answers."""
    monkeypatch.setattr(status_writer, "GOODBYE", 1.0)
    monkeypatch.setattr(status_api, "_TIMEOUT", (0.25, 0.5))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configuration = Configuration(host=f"http://127.0.0.1:{silent.getsockname()[1]}", retries=False)
        driver = DriverState([BUSY], Clock())
        writer = StatusWriter(lambda: StatusApi("team", NAME, ApiClient(configuration)), driver, 3)
        writer.start()
        writer.close()  # or the test hangs
        eventually("the writer ended", lambda: not writer._thread.is_alive())


def _written(cluster: StatusApi, body: dict[str, Any]) -> bool:
    try:
        cluster.write(body)
    except NotReady:
        return False
    return True


def _done(act: Callable[[], Any]) -> bool:
    """Whether it could be done; a resource that is new is not served at once."""
    try:
        act()
    except ApiException:
        return False
    return True
