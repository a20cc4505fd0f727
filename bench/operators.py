"""How fast the operator is with a thousand pipelines: `make bench-operator`.

A real etcd, kube-apiserver and kube-controller-manager, no scheduler and no node: drivers' pods are made and stay
pending. The operator is a process of its own with the rights that it has in a cluster. Not `operator.py`: the folder of
a script comes first where Python looks for modules, and the standard library has one of that name.
"""

import argparse
import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import yaml
from apiserver.operatorbed import Bed, Ours
from harness.apiserver import ControlPlane
from kubernetes.client import CoreV1Api
from urllib3.exceptions import HTTPError


ROOT: Final = Path(__file__).resolve().parents[1]
SAMPLES: Final = ROOT / "k8s" / "samples"
APPLIERS: Final = 8
QUIET_SECONDS: Final = 30.0
"""Seconds without a write after which the operator has converged."""
GIVE_UP_SECONDS: Final = 300.0
TARGETS: Final = {"one": 0.3, "all": 30.0, "megabytes": 250}


def main() -> None:
    given = _arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    spec = yaml.safe_load((SAMPLES / f"{given.sample}.yaml").read_text(encoding="utf-8"))["spec"]
    spec["checkpoints"] = {"location": "s3a://checkpoints/bench"}
    with ControlPlane(controllers=True) as plane:
        bed = Bed(plane)
        bed.operator.up()
        idle = _memory(bed.operator.pid)
        singles = sorted(_one(bed, spec, given.singles))
        cpu = _cpu(bed.operator.pid)
        ready, applied, seconds = _all(bed, spec, given.pipelines)
        used = _cpu(bed.operator.pid) - cpu
        settled = _settled(bed)
        writes = bed.writes()
        time.sleep(given.quiet)
        writes = (bed.writes() - writes).total()
        memory = _memory(bed.operator.pid)
        bed.operator.kill()
    _row(
        "from apply to driver pod, one pipeline",
        f"{_milliseconds(singles)}",
        f"median {TARGETS['one'] * 1000:.0f} ms",
    )
    _row(f"{given.pipelines} pipelines stored by the API server", f"{applied:.1f} s", "")
    _row(f"{given.pipelines} driver pods created", f"{seconds:.1f} s", f"{TARGETS['all']:.0f} s")
    _row("from the last pod to the last write", f"{settled:.1f} s", "")
    _row("the operator's CPU time, until the last pod", f"{used:.1f} s", "")
    _row(
        "the operator's memory, idle and at its peak",
        f"{idle:.0f} MB, {memory:.0f} MB",
        f"{TARGETS['megabytes']} MB",
    )
    _row(f"writes in {given.quiet:.0f} s of rest", f"{writes:.0f}", "0")
    print(
        f"driver pods: {ready}/{given.pipelines} in {seconds:.1f} s, operator {memory:.0f} MB, "
        f"converged writes {writes:.0f}"
    )
    if ready < given.pipelines:
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pipelines", type=int, default=1000)
    parser.add_argument("--singles", type=int, default=25, help="pipelines created one after the other")
    parser.add_argument(
        "--quiet", type=float, default=QUIET_SECONDS, help="seconds at rest in which the bench counts writes"
    )
    parser.add_argument("--sample", default="rate-console", help="document of k8s/samples to use")
    return parser.parse_args()


def _one(bed: Bed, spec: dict[str, Any], count: int) -> Iterator[float]:
    """Seconds from the request that creates a pipeline to the event of its driver pod, for one pipeline after the other."""
    namespace = bed.namespace()
    with _pods(bed, namespace) as made:
        for number in range(count):
            ours = Ours(bed, namespace, f"single-{number}")
            started = time.perf_counter()
            ours.create(spec)
            name = f"{ours.name}-driver"
            while name not in made:
                if time.perf_counter() - started > GIVE_UP_SECONDS:
                    sys.exit(f"no pod {name}")
                time.sleep(0.001)
            yield made[name] - started
            time.sleep(0.2)


def _all(bed: Bed, spec: dict[str, Any], count: int) -> tuple[int, float, float]:
    """The number of pipelines with a pod; seconds until all were applied, and until the last pod was created."""
    namespace = bed.namespace()
    with _pods(bed, namespace) as made:
        started = time.perf_counter()
        beds = threading.local()

        def apply(number: int) -> None:
            if not hasattr(beds, "api"):
                beds.api = bed.another()
            Ours(beds.api, namespace, f"many-{number}").create(spec)

        with ThreadPoolExecutor(APPLIERS) as pool:
            list(pool.map(apply, range(count)))
        applied = time.perf_counter() - started
        while len(made) < count and time.perf_counter() - started < GIVE_UP_SECONDS:
            time.sleep(0.01)
        last = max(made.values(), default=started) - started
    return len(made), applied, last


@contextmanager
def _pods(bed: Bed, namespace: str) -> Iterator[dict[str, float]]:
    """Names of the pods of a namespace from a watch, each with the time of its event."""
    made: dict[str, float] = {}
    client = bed.plane.api_client()
    answer = CoreV1Api(client).list_namespaced_pod(namespace, watch=True, _preload_content=False)

    def listen() -> None:
        with suppress(HTTPError):  # the watch ends with the server
            for line in answer:
                heard = time.perf_counter()
                event = json.loads(line)
                made.setdefault(event["object"]["metadata"]["name"], heard)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        client.rest_client.pool_manager.clear()


def _settled(bed: Bed) -> float:
    started, last = time.perf_counter(), bed.writes()
    while True:
        time.sleep(2)
        now = bed.writes()
        if now == last or time.perf_counter() - started > GIVE_UP_SECONDS:
            return time.perf_counter() - started - 2
        last = now


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def _memory(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM:")) / 1024


def _milliseconds(series: list[float]) -> str:
    return f"{statistics.median(series) * 1000:.0f} ms ({series[0] * 1000:.0f}-{series[-1] * 1000:.0f})"


def _row(figure: str, measured: str, target: str) -> None:
    print(f"{figure:<42} {measured:<24} {target and 'target ' + target}".rstrip())


if __name__ == "__main__":
    main()
