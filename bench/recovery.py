"""The time from SIGKILL of a driver to each step of its recovery: `make bench-recovery`.

Runs on the bare test cluster. Each round has a pipeline of its own, with one query and the defaults of `restart`. Prints a
table of the rounds and their medians; quote the last line.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cluster import node_processes
from cluster.deployment import Pipeline, within
from kubernetes.client import ApiException, CoreV1Api
from startup import document, first_batch, show, staged


ROUNDS = 5
PAUSE = 0.05
"""Seconds between two looks."""
STEPS = ("pod noticed", "pod created", "container running", "session open", "first batch committed")
UI = f":{4040:04X} "
LISTENING = " 0A "


def main() -> None:
    """Run the rounds, print."""
    with staged("recovery") as cluster:
        core = CoreV1Api(cluster.api_client())
        rounds = [one_recovery(core, Pipeline(cluster, "recovery", f"p{index}")) for index in range(ROUNDS)]
    show(STEPS, rounds, "SIGKILL of the driver to its next committed batch")


def one_recovery(core: CoreV1Api, pipeline: Pipeline) -> list[float]:
    """Seconds from the kill to each step."""
    pipeline.apply(document(pipeline))
    pipeline.wait("Ready", 300)
    time.sleep(5)  # batches without the costs of a start
    uid = driver(core, pipeline).metadata.uid
    node_processes.kill(uid)
    began = time.time()

    def seconds(step: str, happened: Callable[[], Any]) -> float:
        within(300, step, happened, pause=PAUSE)
        return time.time() - began

    noticed = seconds("noticed", lambda: has_ended(driver(core, pipeline), uid))
    created = seconds("created", lambda: (pod := driver(core, pipeline)) and pod.metadata.uid != uid)
    running = seconds("running", lambda: driver(core, pipeline).status.phase == "Running")
    first = node_processes.first_of_container(driver(core, pipeline).metadata.uid)
    opened = seconds("session", lambda: listens(first))
    _started, committed = within(300, "the first batch", lambda: first_batch(pipeline))
    pipeline.delete()
    return [noticed, created, running, opened, committed - began]


def driver(core: CoreV1Api, pipeline: Pipeline) -> Any:
    """The driver pod; None if there is none."""
    try:
        return core.read_namespaced_pod(f"{pipeline.name}-driver", pipeline.namespace)
    except ApiException as error:
        if error.status == 404:
            return None
        raise


def has_ended(pod: Any, uid: str) -> bool:
    """Whether the API server knows that a pod has ended."""
    return pod is None or pod.metadata.uid != uid or pod.status.phase in ("Failed", "Succeeded")


def listens(pid: int) -> bool:
    """Whether Spark's page is open in the network of a process: Spark opens it with its session."""
    tables = [Path(f"/proc/{pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    return any(UI in line and LISTENING in line for table in tables for line in table.splitlines())


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(str(error))
