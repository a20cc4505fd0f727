"""A preflight in a pod: as a driver of that pod would start, and with a termination message for the operator."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.supervisor_loop import Stage
from mainstem import logs, names
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.runtime.driver import preflight_pod
from mainstem.runtime.spark import session
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S35, pytest.mark.timeout(600)]
POD = {
    names.ENV_NAMESPACE: "team",
    names.ENV_POD: "staged-preflight",
    names.ENV_POD_UID: "p",
    names.ENV_POD_IP: "127.0.0.1",
    names.ENV_ATTEMPT: "7",
    names.ENV_IMAGE: "i",
    names.ENV_CLUSTER: "c1",
    names.ENV_PIPELINE_UID: "u1",
}


class Pod(Stage):
    """A pipeline of one query, and a pod that checks a document of it."""

    def spec(self, column: str = "word", source: str = "in") -> dict[str, Any]:
        files = {"path": f"{self.folder}/{source}", "format": "json", "schema": "word STRING"}
        return {
            "sources": [{"name": "words", "files": files}],
            "views": [{"name": "copied", "sql": f"SELECT {column} FROM words"}],
            "queries": [self.query("copied", "copied")],
            "checkpoints": {"location": f"{self.folder}/checkpoints"},
        }

    def run_as(self, driver: DriverIdentity) -> None:
        """A driver reads what is there, and commits it."""
        spec = self.bounded("in")
        with self.running_document(self.document(**spec), driver) as turning:
            turning.to_the_end()

    def bounded(self, source: str) -> dict[str, Any]:
        """The pipeline whose query ends by itself: it waits for no input."""
        spec = self.spec(source=source)
        spec["queries"][0]["trigger"] = {"availableNow": True}
        return spec

    def check(
        self, spec: dict[str, Any], running: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Exit code and termination message of the preflight, beside the document of `spec()` or another one."""
        files = self.folder / "wanted.yaml", self.folder / "running.yaml"
        for file, each in zip(files, (spec, running or self.spec()), strict=True):
            file.write_text(json.dumps(pipeline_head("staged") | {"spec": each}))
        code = preflight_pod.main(*map(str, files), verbose=False)
        message: dict[str, Any] = json.loads((self.folder / "termination-log").read_text())
        del message["queries"]
        return code, message


@pytest.fixture
def pod(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pod:
    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[SparkSession]:
        yield spark.newSession()

    monkeypatch.setattr(session, "open_session", opened)
    monkeypatch.setattr(logs, "configure", lambda *_, **__: None)
    for name, value in POD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(names.ENV_TERMINATION_LOG, str(tmp_path / "termination-log"))
    pod = Pod(spark.newSession(), tmp_path)
    pod.put("in", json.dumps({"word": "a"}))
    return pod


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        (
            lambda pod: pod.spec(),
            0,
            {"outcome": "completed", "reason": "Completed", "retried": False, "message": "query to-copied: ready"},
        ),
        (
            lambda pod: pod.spec("named_struct('a', word).b AS word"),
            3,
            {"outcome": "failed", "reason": "SpecInvalid", "retried": False},
        ),
        (
            lambda pod: pod.spec(source="nowhere"),
            5,
            {"outcome": "failed", "reason": "PathNotFound", "retried": True},
        ),
        (
            lambda pod: pod.bounded("nowhere"),
            5,
            {"outcome": "failed", "reason": "PathNotFound", "retried": True},
        ),
    ],
    ids=["ready", "refused", "its input is missing", "the input of a query that ends is missing"],
)  # fmt: skip
def test_the_termination_message_shows_the_result(
    pod: Pod, spec: Callable[[Pod], dict[str, Any]], code: int, message: dict[str, Any]
) -> None:
    ended, report = pod.check(spec(pod))
    assert (ended, report) == (code, report | message)
    assert set(report) == {"outcome", "reason", "message", "retried"}


def test_a_running_document_that_this_image_refuses_changes_no_verdict(pod: Pod) -> None:
    """The release before may have known a field that this one does not."""
    assert pod.check(pod.spec(), running=pod.spec() | {"aFieldOfBefore": 1})[0] == 0


def test_a_running_document_that_is_gone_changes_no_verdict(pod: Pod) -> None:
    """Somebody has deleted its ConfigMap, which the preflight pod mounts if it exists."""
    (pod.folder / "wanted.yaml").write_text(json.dumps(pipeline_head("staged") | {"spec": pod.spec()}))
    running = pod.folder / "nowhere.yaml"
    assert preflight_pod.main(str(pod.folder / "wanted.yaml"), str(running), verbose=False) == 0


def test_a_checkpoint_that_does_not_fit_is_refused_for_good(pod: Pod) -> None:
    pod.run_as(DriverIdentity("team/staged", "c1", "u1", 6))
    pod.put("other", json.dumps({"word": "b"}))
    code, message = pod.check(pod.spec(source="other"))
    assert (code, message["reason"], message["retried"]) == (5, "CheckpointIncompatible", False)


def test_a_checkpoint_belongs_to_the_pipeline_of_the_pod_and_to_no_other_one(pod: Pod) -> None:
    """The running driver has a lower start number, so the preflight is no older driver than that."""
    pod.run_as(DriverIdentity("team/staged", "c1", "u1", 6))
    assert pod.check(pod.spec())[0] == 0
    for other in (DriverIdentity("team/staged", "c2", "u2"), DriverIdentity("other/staged", "c1", "u3")):
        record = next(pod.folder.glob("checkpoints/to-copied/*owner*"))
        owner = json.loads(record.read_text())
        owner |= {"pipeline": other.pipeline, "cluster": other.cluster, "uid": other.uid}
        record.write_text(json.dumps(owner).ljust(1023) + "\n")
        code, message = pod.check(pod.spec())
        assert (code, message["reason"], message["retried"]) == (5, "CheckpointInUse", True)
        assert f"{other.cluster}/{other.pipeline}" in message["message"]
