"""How a pipeline runs on a cluster: its memory, its executors."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.model.deployment import (
    HEAP_OF_DRIVER,
    HEAP_OF_EXECUTOR,
    LEAST_HEAP,
    WANTED_HEAP,
    Driver,
    Executors,
    amount,
    memory_bytes,
    off_heap_bytes,
)
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_MIB: Final = 2**20
_LEAST: Final = 1024 * _MIB
_BESIDE_HEAP: Final = 384 * _MIB
_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


def pods(context: Context) -> Iterator[tuple[str, Driver | Executors]]:
    """The two kinds of pods, each with the field of `spec` that says what they are."""
    yield "driver", context.spec.driver
    yield "executors", context.spec.executors


def resources(context: Context) -> Iterator[Problem]:
    """A resource is `cpu`, `memory`, `ephemeral-storage`, `hugepages-...` or `domain/name`, and none is requested above its limit."""
    for key, pod in pods(context):
        requests, limits = pod.resources.requests, pod.resources.limits
        for field, given in (("requests", requests), ("limits", limits)):
            for name in given:
                if name not in _RESOURCES and "/" not in name and not name.startswith("hugepages-"):
                    message = (
                        f"Kubernetes has no resource {name!r}; there are {', '.join(_RESOURCES)}, and with a domain, "
                        "as in example.com/gpu, what device plugins offer"
                    )
                    path: Path = (key, "resources", field, name)
                    yield context.problem(path, message, reasons.UNKNOWN_RESOURCE, key=True)
        for name in requests:
            if name in limits and amount(requests[name]) > amount(limits[name]):
                message = f"{requests[name]} is above limits.{name}, {limits[name]}"
                yield context.problem(
                    (key, "resources", "requests", name), message, reasons.REQUEST_ABOVE_LIMIT
                )


def memory(context: Context) -> Iterator[Problem]:
    """A container's memory has a limit, of at least 1Gi; the heap is at least 512m, and leaves 384Mi of the limit for all that
    is beside the heap.
    """
    for key, pod in pods(context):
        limit = pod.resources.limits.get("memory")
        at: Path = (key, "resources", "limits")
        if limit is None:
            message = (
                "memory is missing: the Java heap is derived from it, and without a limit the pod may take all that "
                "the node has; write memory: 2Gi"
            )
            yield context.problem(at, message, reasons.MEMORY_UNLIMITED)
        elif amount(limit) < _LEAST:
            yield context.problem((*at, "memory"), _too_small(limit), reasons.MEMORY_TOO_SMALL)
        elif pod.heap and memory_bytes(pod.heap) < LEAST_HEAP:
            message = f"a heap of {pod.heap} is too small for Spark: at least {WANTED_HEAP}"
            yield context.problem((key, "heap"), message, reasons.HEAP_TOO_SMALL)
        elif pod.heap and memory_bytes(pod.heap) + _BESIDE_HEAP > amount(limit):
            most = int(amount(limit) - _BESIDE_HEAP) // _MIB
            message = (
                f"a heap of {pod.heap} leaves less than 384Mi of limits.memory, {limit}, for what is not on the heap: "
                f"at most {most}m, or a higher limit"
            )
            yield context.problem((key, "heap"), message, reasons.HEAP_TOO_LARGE)


def off_heap(context: Context) -> Iterator[Problem]:
    """Heap, `spark.memory.offHeap.size` and 384Mi fit into the memory of each pod that runs tasks."""
    beside = off_heap_bytes(context.spec.spark.conf)
    path: Path = ("spark", "conf", "spark.memory.offHeap.size")
    if beside is None:
        yield context.problem(path, "not a size as Spark writes it: 512m, 2g", reasons.INVALID_CONF)
        return
    for key, pod in pods(context):
        limit = pod.resources.limits.get("memory")
        if beside == 0 or limit is None or (key == "executors") != context.spec.executors.wanted:
            continue
        share = HEAP_OF_DRIVER if key == "driver" else HEAP_OF_EXECUTOR
        heap = memory_bytes(pod.heap) if pod.heap else int(amount(limit) * share)
        room = int(amount(limit)) - heap - _BESIDE_HEAP
        if beside > room:
            most = f"at most {room // _MIB}m" if room >= _MIB else "nothing"
            message = (
                f"{beside // _MIB}m beside a heap of {heap // _MIB}m and 384Mi for all the rest are more than "
                f"{key}.resources.limits.memory, {limit}: {most}, or a higher limit, or a smaller {key}.heap"
            )
            yield context.problem(path, message, reasons.OFF_HEAP_TOO_LARGE)


def executors(context: Context) -> Iterator[Problem]:
    """With dynamic allocation, neither `minExecutors` nor `instances` is above `maxExecutors`."""
    found = context.spec.executors
    bounds = found.dynamic_allocation
    if bounds is None:
        return
    if bounds.min_executors > bounds.max_executors:
        message = f"{bounds.min_executors} is above maxExecutors, {bounds.max_executors}"
        path: Path = ("executors", "dynamicAllocation", "minExecutors")
        yield context.problem(path, message, reasons.EXECUTOR_BOUNDS)
    if found.instances > bounds.max_executors:
        message = f"{found.instances} is above dynamicAllocation.maxExecutors, {bounds.max_executors}"
        yield context.problem(("executors", "instances"), message, reasons.EXECUTOR_BOUNDS)


def _too_small(limit: str) -> str:
    if limit.endswith("m"):
        return f"{limit} are thousandths of a byte: Kubernetes writes Mi for megabytes; 1Gi is the least that Spark needs"
    return f"{limit} is too little for Spark: 1Gi is the least"
