"""Rules for the pods of a pipeline on a cluster: resources, memory, executors."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import show
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
_MINIMUM_LIMIT: Final = 1024 * _MIB
_OUTSIDE_HEAP: Final = 384 * _MIB
"""Bytes of a container's limit for memory that is neither heap nor Spark's off-heap memory."""
_OFF_HEAP: Final = "spark.memory.offHeap.size"
_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")


def pods(context: Context) -> Iterator[tuple[str, Driver | Executors]]:
    """The driver and the executors, each with its field of `spec`."""
    yield "driver", context.spec.driver
    yield "executors", context.spec.executors


def resources(context: Context) -> Iterator[Problem]:
    """A resource is `cpu`, `memory`, `ephemeral-storage`, `hugepages-...` or `domain/name`; no request is above its limit."""
    for key, pod in pods(context):
        requests, limits = pod.resources.requests, pod.resources.limits
        for field, given in (("requests", requests), ("limits", limits)):
            for name in given:
                if name not in _RESOURCES and "/" not in name and not name.startswith("hugepages-"):
                    message = (
                        f"{name!r} is not a Kubernetes resource; use {', '.join(_RESOURCES)}, hugepages-<size>, "
                        "or the resource of a device plugin with its domain, such as example.com/gpu"
                    )
                    path: Path = (key, "resources", field, name)
                    yield context.problem(path, message, reasons.UNKNOWN_RESOURCE, key=True)
        for name in requests:
            if name in limits and amount(requests[name]) > amount(limits[name]):
                message = f"{requests[name]} is above limits.{name}, {limits[name]}; lower the request or raise the limit"
                yield context.problem(
                    (key, "resources", "requests", name), message, reasons.REQUEST_ABOVE_LIMIT
                )


def memory(context: Context) -> Iterator[Problem]:
    """A container has a memory limit of at least 1Gi. The heap is at least 512m, and leaves 384Mi of the limit for other
    memory.
    """
    for key, pod in pods(context):
        limit = pod.resources.limits.get("memory")
        at: Path = (key, "resources", "limits")
        if limit is None:
            message = (
                "memory is missing; Mainstem derives the Java heap from it, and without a limit the pod can take all "
                "memory of its node; set it, for example memory: 2Gi"
            )
            yield context.problem(at, message, reasons.MEMORY_UNLIMITED)
        elif amount(limit) < _MINIMUM_LIMIT:
            yield context.problem((*at, "memory"), _too_small(limit), reasons.MEMORY_TOO_SMALL)
        elif pod.heap and memory_bytes(pod.heap) < LEAST_HEAP:
            message = f"a heap of {pod.heap} is too small for Spark; set at least {WANTED_HEAP}"
            yield context.problem((key, "heap"), message, reasons.HEAP_TOO_SMALL)
        elif pod.heap and memory_bytes(pod.heap) + _OUTSIDE_HEAP > amount(limit):
            most = int(amount(limit) - _OUTSIDE_HEAP) // _MIB
            message = (
                f"a heap of {pod.heap} leaves less than 384Mi of limits.memory, {limit}, for memory outside the heap; "
                f"set at most {most}m, or raise the limit"
            )
            yield context.problem((key, "heap"), message, reasons.HEAP_TOO_LARGE)


def off_heap(context: Context) -> Iterator[Problem]:
    """Heap, `spark.memory.offHeap.size` and 384Mi fit into the memory of each pod that runs tasks."""
    off_heap_size = off_heap_bytes(context.spec.spark.conf)
    path: Path = ("spark", "conf", _OFF_HEAP)
    if off_heap_size is None:
        yield context.problem(
            path,
            f"{show(context.spec.spark.conf[_OFF_HEAP])} is not a size of Spark; write for example 512m or 2g",
            reasons.INVALID_CONF,
        )
        return
    for key, pod in pods(context):
        limit = pod.resources.limits.get("memory")
        if off_heap_size == 0 or limit is None or (key == "executors") != context.spec.executors.wanted:
            continue
        share = HEAP_OF_DRIVER if key == "driver" else HEAP_OF_EXECUTOR
        heap = memory_bytes(pod.heap) if pod.heap else int(amount(limit) * share)
        available = int(amount(limit)) - heap - _OUTSIDE_HEAP
        if off_heap_size > available:
            smaller = f"set at most {available // _MIB}m" if available >= _MIB else "remove it"
            message = (
                f"{off_heap_size // _MIB}m, a heap of {heap // _MIB}m and 384Mi for other memory are above "
                f"{key}.resources.limits.memory, {limit}; {smaller}, raise the limit or lower {key}.heap"
            )
            yield context.problem(path, message, reasons.OFF_HEAP_TOO_LARGE)


def executors(context: Context) -> Iterator[Problem]:
    """With dynamic allocation, neither `minExecutors` nor `instances` is above `maxExecutors`."""
    settings = context.spec.executors
    bounds = settings.dynamic_allocation
    if bounds is None:
        return
    if bounds.min_executors > bounds.max_executors:
        message = f"{bounds.min_executors} is above maxExecutors, {bounds.max_executors}; lower it or raise maxExecutors"
        path: Path = ("executors", "dynamicAllocation", "minExecutors")
        yield context.problem(path, message, reasons.EXECUTOR_BOUNDS)
    if settings.instances > bounds.max_executors:
        message = (
            f"{settings.instances} is above dynamicAllocation.maxExecutors, {bounds.max_executors}; "
            "lower it or raise maxExecutors"
        )
        yield context.problem(("executors", "instances"), message, reasons.EXECUTOR_BOUNDS)


def _too_small(limit: str) -> str:
    if limit.endswith("m"):
        return f"{limit} is in thousandths of a byte; write Mi for mebibytes; Spark needs at least 1Gi"
    return f"{limit} is too little for Spark; set at least 1Gi"
