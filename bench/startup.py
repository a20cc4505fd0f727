"""The time from `kubectl apply` of a pipeline with one query to each step of its start: `make bench-startup`.

Runs on the test cluster, which has the image. Prints a table of the rounds and their medians; quote the last line.
"""

import copy
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from cluster.deployment import (  # noqa: E402
    CHART,
    OPERATOR_NAMESPACE,
    Pipeline,
    Servers,
    helm,
    image_values,
    namespace,
    within,
)
from cluster.test_lives import SMALL  # noqa: E402
from harness.cluster.base import TestCluster  # noqa: E402
from harness.cluster.choose import cluster as this_machines_cluster  # noqa: E402
from harness.images import NAMES, build  # noqa: E402


ROUNDS = 5
STEPS = ("pod created", "container started", "query started", "first batch committed")


def main() -> None:
    """Run the rounds, print."""
    with staged("startup") as cluster:
        rounds = [one_start(Pipeline(cluster, "startup", f"p{index}")) for index in range(ROUNDS)]
    show(STEPS, rounds, "apply to first committed batch")


@contextmanager
def staged(name: str) -> Iterator[TestCluster]:
    """The cluster with the operator's release, and broker and store in a namespace; missing parts are started."""
    cluster = this_machines_cluster(print)
    new = cluster.up()
    try:
        images = {name: build(name) for name in NAMES}
        for image in images.values():
            cluster.take(image)
        namespace(cluster, OPERATOR_NAMESPACE)
        values = image_values(images["operator"], images["app"])
        helm(cluster, "upgrade", "--install", "mainstem", str(CHART), *values, "--wait", "--timeout=120s")
        namespace(cluster, name)
        try:
            with tempfile.TemporaryDirectory() as folder:
                servers = Servers(cluster, name, images["kafka"], images["s3"], Path(folder))
                try:
                    yield cluster
                finally:
                    servers.close()
        finally:
            cluster.kubectl("delete", "namespace", name, "--wait=true", timeout=180)
    finally:
        if new:
            cluster.down()


def document(pipeline: Pipeline) -> dict[str, Any]:
    """One query without a trigger, with a checkpoint of its own."""
    filled: dict[str, Any] = copy.deepcopy(SMALL)
    filled["metadata"]["name"] = pipeline.name
    filled["spec"]["checkpoints"]["location"] += f"-{time.time():.0f}"
    filled["spec"]["driver"]["cores"] = 2
    del filled["spec"]["queries"][0]["trigger"]
    return filled


def one_start(pipeline: Pipeline) -> list[float]:
    """Seconds from `kubectl apply` to each step."""
    began = time.time()
    pipeline.apply(document(pipeline))
    pod = within(30, "the pod", pipeline.driver)
    made = time.time()
    first = within(120, "the first batch", lambda: first_batch(pipeline))
    pod = pipeline.driver() or pod
    started = _parsed(pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"])
    pipeline.delete()
    return [made - began, started - began, first[0] - began, first[1] - began]


def first_batch(pipeline: Pipeline) -> tuple[float, float] | None:
    """When the query started, and when its first progress came, by the driver's log."""
    began = committed = None
    for line in pipeline.log().splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("event") == "query started":
            began = _parsed(entry["timestamp"])
        if entry.get("event") == "progress" and entry.get("batch") is not None:
            committed = _parsed(entry["lastProgressTime"]) + entry["batchDurationMs"] / 1000
            break
    return (began, committed) if began and committed else None


def _parsed(text: str) -> float:
    return datetime.datetime.fromisoformat(text).timestamp()


def show(steps: tuple[str, ...], rounds: list[list[float]], title: str) -> None:
    """The table, then the medians in one line."""
    print(f"{'round':>6}" + "".join(f"{step:>24}" for step in steps))
    for number, seconds_of in enumerate(rounds, 1):
        print(f"{number:>6}" + "".join(f"{seconds:>22.1f} s" for seconds in seconds_of))
    medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
    print(f"{'median':>6}" + "".join(f"{seconds:>22.1f} s" for seconds in medians))
    shown = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in zip(steps, medians, strict=True))
    print(f"{title}: {shown}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))
