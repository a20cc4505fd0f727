"""Changes of document, operator and release at the wrong moment, while records come; each is in each sink once."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cluster import node_processes
from cluster.deployment import CHART, Pipeline, helm, image_values, within
from cluster.faultbed import ClusterFaultBed, kill_operators, operators
from cluster.test_lives import runs, uid
from harness.cluster.base import TestCluster
from harness.faultservers import KEYS
from harness.images import Image
from harness.waiting import lasts
from mainstem.names import CRD_REVISION


pytestmark = [pytest.mark.bare, pytest.mark.faults, pytest.mark.full, pytest.mark.timeout(1500)]


def test_an_operator_killed_within_a_change_applies_it_afterwards(
    cluster: TestCluster, bed: ClusterFaultBed
) -> None:
    bed.ready()
    pipeline = bed.pipeline
    before, driver, revision = runs(pipeline), uid(pipeline), pipeline.status()["revision"]
    queries = bed.document()["spec"]["queries"]
    queries[0]["trigger"] = {"processingTime": "2 seconds"}
    pipeline.patch(queries=queries)
    kill_operators(cluster)
    bed.feed()
    bed.until("another run of the changed query", lambda: runs(pipeline)["table"] != before["table"])
    bed.until("the new revision", lambda: pipeline.status()["revision"] != revision)
    bed.ready()
    after = runs(pipeline)
    assert {name for name in before if after[name] != before[name]} == {"table"}
    assert uid(pipeline) == driver
    bed.caught_up()
    bed.check()


def test_of_two_operators_one_works_and_the_other_follows_its_death(
    cluster: TestCluster, images: dict[str, Image], bed: ClusterFaultBed
) -> None:
    values = image_values(images["operator"], images["app"])
    upgrade = ("upgrade", "mainstem", str(CHART), *values, "--wait", "--timeout=120s")
    with ExitStack() as stack:
        stack.callback(helm, cluster, *upgrade)
        helm(cluster, *upgrade, "--set=replicas=2")
        bed.ready()
        before = bed.attempt()
        holder = lease_holder(cluster)
        [pod] = [pod for pod in operators(cluster) if pod["metadata"]["name"] in holder]
        node_processes.kill(pod["metadata"]["uid"])
        driver = bed.uid()
        node_processes.kill(driver)
        next_driver = bed.next_driver(driver)
        bed.feed()
        bed.caught_up()
        bed.check()
        bed.ready()
        assert (bed.attempt(), bed.uid()) == (before + 1, next_driver)


def lease_holder(cluster: TestCluster) -> str:
    """Who holds the Lease of the operator."""
    leases = json.loads(cluster.kubectl("-n", "kube-system", "get", "leases", "-o", "json"))["items"]
    [lease] = [lease for lease in leases if lease["metadata"]["name"].startswith("mainstem")]
    return str(lease["spec"]["holderIdentity"])


def test_a_checkpoint_of_another_namespace_is_refused_and_its_owner_continues(bed: ClusterFaultBed) -> None:
    bed.ready()
    other = Pipeline(bed.cluster, f"{bed.pipeline.namespace}-2", bed.pipeline.name)
    bed.create_namespace(other.namespace)
    try:
        before = (bed.uid(), runs(bed.pipeline))
        [folder] = [query for query in bed.document()["spec"]["queries"] if query["name"] == "folder"]
        other.apply(bed.document(queries=[folder], views=[]))
        termination = within(240, "the refusal", lambda: other.status().get("lastTermination"))
        assert termination["reason"] == "CheckpointInUse"
        assert f"'{bed.pipeline.namespace}/{bed.pipeline.name}'" in termination["message"], (
            "it names the owner"
        )
        bed.feed()
        bed.caught_up()
        bed.check()
        bed.ready()
        assert (bed.uid(), runs(bed.pipeline)) == before
    finally:
        bed.cluster.kubectl("delete", "namespace", other.namespace, "--timeout=120s", timeout=130)


EDITS = 30
PACE = 1.5
"""Seconds between two edits, in which the API server takes one."""
EDITED = "spark.ui.retainedJobs"
Edit = Callable[[ClusterFaultBed, int], dict[str, Any]]


def live(bed: ClusterFaultBed, number: int) -> dict[str, Any]:
    """A change that the running driver takes over."""
    queries = bed.document()["spec"]["queries"]
    queries[0]["pool"] = {"weight": 1 + number}
    return {"queries": queries}


def restarting(_bed: ClusterFaultBed, number: int) -> dict[str, Any]:
    """A change that needs a new driver."""
    return {"spark": {"conf": {EDITED: str(1000 + number)}}}


def invalid(bed: ClusterFaultBed, _number: int) -> dict[str, Any]:
    """A change that the API server takes and the operator refuses."""
    queries = bed.document()["spec"]["queries"]
    queries[0]["outputMode"] = "complete"
    return {"queries": queries}


def test_thirty_edits_in_a_minute_end_with_the_last_document_and_every_row_once(
    bed: ClusterFaultBed, record_property: Callable[[str, object], None]
) -> None:
    bed.ready()
    before = bed.attempt()
    kinds: list[Edit] = [live, restarting, invalid]
    for number in range(EDITS):
        bed.pipeline.patch(**kinds[number % 3](bed, number))
        if number % 5 == 0:
            bed.feed()
        lasts(PACE)
    bed.pipeline.patch(**live(bed, EDITS))
    generation = bed.pipeline.get()["metadata"]["generation"]
    bed.until("the last document", lambda: bed.pipeline.status()["observedGeneration"] == generation)
    bed.ready()
    record_property("recovery", bed.caught_up())
    bed.check()
    status = bed.pipeline.status()
    assert status["reported"]["revision"] == status["revision"]
    running = bed.running_document(status["revision"])
    assert running["queries"][0]["pool"]["weight"] == 1 + EDITS
    assert running["spark"]["conf"][EDITED] == str(1000 + EDITS - 2)
    record_property("drivers", bed.attempt() - before)
    assert 1 <= bed.attempt() - before <= EDITS // 3


def test_batches_go_on_during_an_upgrade_of_chart_and_definition(
    bed: ClusterFaultBed, images: dict[str, Image], tmp_path: Path
) -> None:
    """A release with another operator pod and a later definition; records come all the time."""
    bed.ready()
    before = bed.uid()
    later = shutil.copytree(CHART, tmp_path / "chart")
    definition = later / "crd" / "streamingpipelines.yaml"
    revision = f"mainstem.dev/schema: '{CRD_REVISION}'"
    text = definition.read_text()
    assert revision in text
    definition.write_text(text.replace(revision, f"mainstem.dev/schema: '{CRD_REVISION + 1}'"))
    values = image_values(images["operator"], images["app"])
    wait = ("--wait", "--timeout=120s")
    with ExitStack() as stack:
        stack.callback(helm, bed.cluster, "upgrade", "mainstem", str(CHART), *values, *wait)
        with fed(bed):
            next_commit(bed)
            first = bed.newest("table", "commits")
            helm(bed.cluster, "upgrade", "mainstem", str(later), *values, "--set=resyncSeconds=5", *wait)
            next_commit(bed)  # helm may be done before the batch that runs
        print(f"the longest time between two commits: {longest_gap(bed, first):.1f} s")
    bed.caught_up()
    bed.check()
    bed.ready()
    assert bed.uid() == before


@contextmanager
def fed(bed: ClusterFaultBed) -> Iterator[None]:
    """Within this context some records come each half second."""
    over = threading.Event()

    def feed() -> None:
        while not over.wait(0.5):
            bed.feed(KEYS)

    feeder = threading.Thread(target=feed)
    feeder.start()
    try:
        yield
    finally:
        over.set()
        feeder.join()


def next_commit(bed: ClusterFaultBed) -> None:
    """Wait until the query `table` has committed another batch."""
    last = bed.newest("table", "commits")
    bed.until("the next commit", lambda: bed.newest("table", "commits") > last)


def longest_gap(bed: ClusterFaultBed, since: int) -> float:
    """The longest time between two commits of the query `table` from this batch on, in seconds."""
    commits = (bed.checkpoints / "table" / "1" / "commits").iterdir()
    times = sorted(
        file.stat().st_mtime for file in commits if file.name.isdigit() and int(file.name) >= since
    )
    return max(later - earlier for earlier, later in pairwise(times))
