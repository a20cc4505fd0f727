"""Several operators on a real API server: one writes, the others stand by and take over."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from apiserver.operatorbed import COMMAND, PATIENCE, ROOT, Bed, Operator, Ours, until
from kubernetes.client import ApiException, CoordinationV1Api
from mainstem_operator.leadership.lease import lease_name
from mainstem_operator.manifests.rbac import IN_CLUSTER, IN_NAMESPACES


pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]  # what takes long begins first
Start = Callable[..., Operator]
QUICK_SECONDS = 6


def lease_of(seconds: int) -> tuple[str, ...]:
    """The command line of an operator whose Lease lasts so long; where that is no matter, the real one runs."""
    return sys.executable, "-m", "apiserver.other_lease", str(seconds)


LONG = lease_of(3600)
"""An operator that holds its Lease to the end of the test: another one follows only if it is released."""


@pytest.fixture
def started(bed: Bed) -> Iterator[Start]:
    """Starts operators, which are killed at the end; the one of all namespaces does not run."""
    bed.operator.stop()
    with ExitStack() as stack:

        def start(
            name: str, *namespaces: str, release: str = "one/mainstem", ready: bool = True, **more: Any
        ) -> Operator:
            operator = Operator(
                bed.plane,
                more.pop("kubeconfig", bed.operator_kubeconfig),
                MAINSTEM_NAMESPACES=",".join(namespaces),
                MAINSTEM_POD_NAME=name,
                MAINSTEM_RELEASE=release,
                PYTHONPATH=str(ROOT / "tests"),
                **{"argv": lease_of(QUICK_SECONDS), **more},
            )
            stack.callback(operator.stop)
            operator.start(operator.healthy, PATIENCE)
            if ready:
                until(operator.is_ready, why="the operator is ready")
            return operator

        yield start


def holder(bed: Bed, *namespaces: str) -> str:
    """Who holds the Lease of a scope; empty where nobody does."""
    try:
        return str(bed.lease(*namespaces).spec.holder_identity or "")
    except ApiException:
        return ""


def waits_for_another(operator: Operator) -> None:
    until(lambda: operator.readiness()[1].startswith("AnotherOperatorHolds"), why="not AnotherOperatorHolds")
    assert operator.readiness()[0] == 503


def test_the_standby_follows_a_killed_holder(bed: Bed, started: Start) -> None:
    namespace = bed.namespace()
    first, second = started("first", namespace), started("second", namespace)
    assert holder(bed, namespace) == "first"
    ours = Ours(bed, namespace)
    ours.start_running()
    assert second.phases() == {}
    first.kill()
    renewed = bed.lease(namespace).spec.renew_time
    ours.change(suspend=True)
    ours.await_driver_deletion()
    assert holder(bed, namespace) == "second"
    acquired = bed.lease(namespace).spec.acquire_time
    assert acquired >= renewed + timedelta(seconds=QUICK_SECONDS), "it did not wait for the end of the Lease"
    ours.ends(0, "drained")
    ours.phase("Suspended")


@pytest.mark.full(gate="apiserver/test_operator_process.py::test_the_operator_ends_at_once_on_a_signal")
def test_a_holder_that_ends_hands_over_at_once(bed: Bed, started: Start) -> None:
    namespace = bed.namespace()
    first = started("first", namespace, argv=LONG)
    started("second", namespace, argv=LONG)
    first.stop()
    ours = Ours(bed, namespace)
    ours.create()
    ours.pod(1)
    assert holder(bed, namespace) == "second"


@pytest.mark.full(gate="unit/test_lease.py::test_no_write_passes_a_closed_fence")
def test_a_holder_suspended_beyond_its_lease_writes_nothing_afterwards(bed: Bed, started: Start) -> None:
    namespace = bed.namespace()
    first, second = started("first", namespace), started("second", namespace)
    ours = Ours(bed, namespace)
    ours.start_running()
    ours.held()
    first.send(signal.SIGSTOP)
    # All of this the first one hears of when it wakes, before it can know that the Lease is not its own any more.
    ours.change(suspend=True)
    new = Ours(bed, namespace, "new")
    new.create()
    ours.await_driver_deletion()
    ours.ends(0, "drained")
    ours.phase("Suspended")
    new.pod(1)
    new.held()
    until(lambda: holder(bed, namespace) == "second")
    bed.quiet()
    before = bed.writes()
    first.send(signal.SIGCONT)
    until(lambda: not first.alive, why="it goes on without its Lease")
    assert dict(bed.writes() - before) == {}
    first.start(first.healthy, PATIENCE)  # as the kubelet does
    until(first.is_ready)
    assert holder(bed, namespace) == "second"
    assert second.alive


@pytest.mark.full(gate="unit/test_lease.py::test_an_operator_without_its_lease_is_ready_only_as_a_standby")
def test_two_versions_side_by_side_do_not_write_against_each_other(bed: Bed, started: Start) -> None:
    namespace = bed.namespace()
    first = started("first", namespace)
    ours = Ours(bed, namespace)
    ours.start_running()
    other = started(
        "second",
        namespace,
        release="two/mainstem",
        ready=False,
        argv=(sys.executable, "-m", "apiserver.test_operator_upgrade"),
        MAINSTEM_DRIVER_IMAGE="registry.example/mainstem:0",
    )
    waits_for_another(other)
    assert "of the release one/mainstem" in other.readiness()[1]
    assert '"reason": "AnotherOperatorHolds"' in other.log.read_text(encoding="utf-8")
    bed.quiet()
    before = ours.versions()
    bed.heard(namespace)
    assert ours.versions() == before
    assert first.alive


@pytest.mark.full(gate="unit/test_lease.py::test_the_leases_decide_which_operator_writes")
def test_scopes_that_overlap_exclude_each_other_and_others_do_not(bed: Bed, started: Start) -> None:
    a, b = bed.namespace(), bed.namespace()
    first = started("first", a)
    apart = started("apart", b, release="two/mainstem")
    everywhere = started("everywhere", release="three/mainstem", ready=False)
    both = started("both", a, b, release="four/mainstem", ready=False)
    waits_for_another(everywhere)
    waits_for_another(both)
    for namespace in (a, b):
        ours = Ours(bed, namespace)
        ours.create()
        ours.pod(1)
    both.stop()
    first.stop()
    apart.stop()
    until(everywhere.is_ready)
    late = started("late", a, release="one/mainstem", ready=False)
    waits_for_another(late)
    assert (holder(bed), holder(bed, a)) == ("everywhere", "")


@pytest.mark.full(gate="unit/test_lease.py::test_an_operator_without_its_lease_is_ready_only_as_a_standby")
def test_without_rights_on_leases_the_operator_reports_it_and_writes_nothing(
    bed: Bed, started: Start
) -> None:
    namespace = bed.namespace()
    kubeconfig: Path = bed.user("operator-without-leases", IN_CLUSTER + IN_NAMESPACES)
    ours = Ours(bed, namespace)
    ours.create()
    operator = started("first", namespace, ready=False, kubeconfig=kubeconfig)
    until(lambda: "leases.coordination.k8s.io is forbidden" in operator.readiness()[1])
    assert operator.readiness()[0] == 503
    assert ours.pods() == []
    assert "finalizers" not in ours.get()["metadata"]
    bed.allow("operator-without-leases", "kube-system", bed.lease_rights())
    ours.pod(1)


@pytest.mark.full(gate="unit/test_lease.py::test_a_written_lease_is_read_back")
def test_one_operator_holds_its_lease(bed: Bed, started: Start) -> None:
    namespace = bed.namespace()
    operator = started("only", namespace, argv=(COMMAND,))
    ours_alone = bed.lease(namespace)
    assert ours_alone.spec.lease_duration_seconds == 15
    assert ours_alone.metadata.annotations == {
        "mainstem.dev/namespaces": namespace,
        "mainstem.dev/release": "one/mainstem",
    }
    # Somebody deletes it.
    CoordinationV1Api(bed.client).delete_namespaced_lease(lease_name([namespace]), "kube-system")
    until(lambda: holder(bed, namespace) == "only")
    assert operator.alive


@pytest.mark.full(gate="unit/test_lease.py::test_the_leases_decide_which_operator_writes")
def test_an_operator_that_starts_again_does_not_wait_for_its_own_lease(bed: Bed, started: Start) -> None:
    """The Lease belongs to the pod, and the container starts again."""
    namespace = bed.namespace()
    operator = started("only", namespace, argv=LONG)
    operator.kill()
    operator.up()
    ours = Ours(bed, namespace)
    ours.create()
    ours.pod(1)
