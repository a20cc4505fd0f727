"""A start that the API server does not carry out: the status shows it before the server gives up, after few writes."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from apiserver.operatorbed import Bed, Operator, Ours, until
from harness.admission import Webhooks


pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def webhooks(bed: Bed) -> Iterator[Webhooks]:
    installed = Webhooks(bed.plane)
    yield installed
    installed.close()


class Failing:
    """Pipelines each of whose namespaces has a webhook that refuses pods in its own way, and what each had first in its status."""

    def __init__(self, bed: Bed, webhooks: Webhooks, stack: ExitStack) -> None:
        urls = {
            "closed": webhooks.closed,
            "silent": webhooks.silent,
            "conflict": webhooks.refusing(409, "Conflict"),
            "too-many": webhooks.refusing(429, "TooManyRequests"),
            "broken": webhooks.refusing(500, "InternalError"),
            "late": webhooks.refusing(504, "Timeout"),
        }
        self.namespaces = {name: bed.namespace() for name in urls}
        for name, url in urls.items():
            stack.enter_context(webhooks.asked(url, self.namespaces[name], seconds=8))
        self.pipelines = {name: Ours(bed, self.namespaces[name], name) for name in urls}
        operator = Operator(
            bed.plane, bed.operator_kubeconfig, MAINSTEM_NAMESPACES=",".join(self.namespaces.values())
        )
        stack.callback(operator.kill)
        bed.operator.stop()
        operator.up()
        before = bed.writes()
        for ours in self.pipelines.values():
            ours.create()
        self.first: dict[str, dict[str, Any]] = {}
        until(self.all_reported, why="not each has a status")
        until(lambda: tries(bed.writes() - before) >= TRIES * len(urls), why="not tried again")
        self.writes = bed.writes() - before
        for ours in self.pipelines.values():
            ours.phase("BackingOff")
        self.later = {name: ours.get() for name, ours in self.pipelines.items()}

    def all_reported(self) -> bool:
        for name in self.pipelines.keys() - self.first.keys():
            if (status := self.pipelines[name].status).get("phase"):
                self.first[name] = status
        return self.first.keys() == self.pipelines.keys()


def tries(writes: Counter[str]) -> int:
    """How often the server was asked for a pod."""
    return sum(number for request, number in writes.items() if "pods/" in request)


@pytest.fixture(scope="module")
def failing(bed: Bed, webhooks: Webhooks) -> Iterator[Failing]:
    with ExitStack() as stack:
        yield Failing(bed, webhooks, stack)


TRIES = 3
"""For each pipeline, on average."""
NAMES = ("closed", "silent", "conflict", "too-many", "broken", "late")


def driver_running(pipeline: dict[str, Any]) -> dict[str, Any]:
    conditions = pipeline["status"]["conditions"]
    return next(entry for entry in conditions if entry["type"] == "DriverRunning")


@pytest.mark.parametrize("name", NAMES)
def test_a_failing_start_is_in_the_status_at_once(failing: Failing, name: str) -> None:
    """The silent one before the API server gives it up, the others with its answer."""
    first = failing.first[name]
    assert first["phase"] == ("Starting" if name == "silent" else "BackingOff")
    message = driver_running({"status": first})["message"]
    expected = {"silent": "has not answered for 3 seconds", "closed": "failed calling webhook"}
    assert expected.get(name, "no pods today") in message


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_start_backs_off_with_the_message_of_the_server_and_one_event(
    failing: Failing, name: str
) -> None:
    pipeline, ours = failing.later[name], failing.pipelines[name]
    condition = driver_running(pipeline)
    assert pipeline["status"]["phase"] == "BackingOff"
    assert (condition["status"], condition["reason"]) == ("False", "StartFailed")
    words = "failed calling webhook" if name in ("closed", "silent") else "no pods today"
    assert words in condition["message"]
    assert "the operator tries the start again, at least once a minute" in condition["message"]
    assert pipeline["status"]["attempt"] == 1
    until(lambda: [entry for entry in ours.events() if entry == "BackingOff"])
    assert len([entry for entry in ours.events() if entry == "BackingOff"]) == 1
    assert ours.pods() == []


@pytest.mark.full(gate="unit/test_failed_steps.py::test_waits_double_up_to_a_minute")
def test_a_failing_start_makes_few_writes(failing: Failing) -> None:
    """The first attempt writes every object, each later one only the pod."""
    assert tries(failing.writes) <= 4 * len(NAMES), failing.writes
    others = sum(failing.writes.values()) - tries(failing.writes)
    assert others <= 10 * len(NAMES), failing.writes


@pytest.mark.full(gate="unit/test_failed_steps.py::test_a_due_start_is_retried_without_an_event")
def test_a_start_succeeds_after_the_webhook_is_removed(bed: Bed, webhooks: Webhooks, ours: Ours) -> None:
    with webhooks.asked(webhooks.closed, ours.namespace):
        ours.create()
        ours.phase("BackingOff")
        until(lambda: ours.events() == ["BackingOff"])
        bed.operator.kill()
        bed.operator.up()  # a new operator announces no start
        bed.heard(ours.namespace)
        assert ours.status["phase"] == "BackingOff"
    ours.pod(1)
    assert ours.phase("Starting")["attempt"] == 1
    until(lambda: ours.events()[-1:] == ["DriverStarting"])
    assert ours.events() in (["BackingOff", "DriverStarting"], ["BackingOff", "BackingOff", "DriverStarting"])


@pytest.mark.full(
    gate="apiserver/test_operator_runs.py::test_a_resource_deleted_while_the_operator_is_away_waits_for_its_driver"
)
def test_a_resource_deleted_during_its_first_start_waits_for_the_driver(
    webhooks: Webhooks, ours: Ours
) -> None:
    """The resource has its finalizer first; the pod appears when the API server stops waiting for the webhook."""
    with webhooks.asked(webhooks.silent, ours.namespace, seconds=3, policy="Ignore"):
        ours.create()
        until(lambda: [entry for entry in ours.belongings() if entry.startswith("ServiceAccount/")])
        ours.delete()
        assert ours.get().get("metadata", {}).get("deletionTimestamp"), "it is gone, and its driver starts"
        assert ours.pods() == []
        ours.gone()
        assert ours.pods() == []


def test_a_changed_document_is_tried_at_once(webhooks: Webhooks, ours: Ours) -> None:
    with webhooks.asked(webhooks.refusing(500, "InternalError"), ours.namespace):
        ours.create()
        ours.phase("BackingOff")
        until(lambda: ours.events() != [])
    ours.change(timeZone="Europe/Zurich")
    ours.pod(1)


@pytest.mark.full(
    gate="unit/test_failed_steps.py::test_a_later_start_keeps_its_attempt_and_the_earlier_failures"
)
def test_a_failed_later_start_is_reported_and_counts_as_one(webhooks: Webhooks, ours: Ours) -> None:
    ours.start_running(restart={"backoff": "1 second"})
    with webhooks.asked(webhooks.closed, ours.namespace):
        ours.ends(4, "failed", "SinkRefused")
        until(lambda: ours.condition("DriverRunning")["reason"] == "StartFailed")
        assert ours.status["attempt"] == 2
        assert ours.status["lastTermination"]["reason"] == "SinkRefused"
    ours.pod(2)
    assert ours.phase("Starting")["attempt"] == 2


@pytest.mark.full(gate="unit/test_failed_steps.py::test_a_failed_stop_is_reported_and_waits")
def test_a_failed_deletion_of_the_driver_is_reported(webhooks: Webhooks, ours: Ours) -> None:
    ours.start_running()
    with webhooks.asked(webhooks.closed, ours.namespace, operations=("DELETE",)):
        ours.change(suspend=True)
        until(lambda: "does not delete the pod" in ours.condition("DriverRunning").get("message", ""))
        assert ours.status["phase"] == "Draining"
        assert ours.condition("DriverRunning")["reason"] == "Suspending"
        assert "failed calling webhook" in ours.condition("DriverRunning")["message"]
    ours.await_driver_deletion()
    until(lambda: "does not delete" not in ours.condition("DriverRunning")["message"])


@pytest.mark.full(
    gate="apiserver/test_operator_life.py::test_a_change_whose_pod_the_server_rejects_keeps_the_running_driver"
)
def test_a_change_whose_dry_run_fails_is_reported_and_keeps_the_driver(
    webhooks: Webhooks, ours: Ours
) -> None:
    first = ours.start_running()
    with webhooks.asked(webhooks.closed, ours.namespace):
        ours.change(timeZone="Europe/Zurich")
        until(lambda: ours.condition("SpecValid")["status"] == "False")
        assert "failed calling webhook" in ours.condition("SpecValid")["message"]
        assert [pod.metadata.uid for pod in ours.pods()] == [first.metadata.uid]
    ours.passes_preflight()
    ours.await_driver_deletion()


@pytest.mark.full(
    gate="apiserver/test_operator_life.py::test_a_restricted_namespace_accepts_our_pods_and_rejections_are_reported"
)
def test_a_quota_on_pods_is_reported(bed: Bed, ours: Ours) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    bed.core.create_namespaced_resource_quota(ours.namespace, quota)
    until(lambda: bed.core.read_namespaced_resource_quota("none", ours.namespace).status.hard)
    ours.create()
    ours.phase("Failed")
    assert "exceeded quota" in ours.condition("SpecValid")["message"]


def test_a_role_of_another_controller_is_reported(bed: Bed, ours: Ours) -> None:
    owner = bed.core.create_namespaced_config_map(ours.namespace, {"metadata": {"name": "theirs"}})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "theirs",
        "uid": owner.metadata.uid,
        "controller": True,
    }
    roles = bed.dynamic.resources.get(api_version="rbac.authorization.k8s.io/v1", kind="Role")
    theirs = {"metadata": {"name": "ticks-driver", "ownerReferences": [reference]}, "rules": []}
    roles.create(body=theirs, namespace=ours.namespace)
    ours.create()
    until(lambda: ours.condition("Ready")["status"] == "False", 10)
    assert ours.condition("Ready")["reason"] in ("StartFailed", "NameTaken")
    assert "ticks-driver" in ours.condition("Ready")["message"]
    assert ours.pods() == []
