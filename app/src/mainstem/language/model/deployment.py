"""How a pipeline runs on a cluster: its pods, their resources, its schedule. `mainstem run` ignores all of it."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from mainstem.language.base import LIST_MAP, NUMBER_OR_TEXT, Model, Text, TimeZone


def _cron(text: str) -> str:
    try:
        CronSim(text, datetime(2026, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise PydanticCustomError("cron", "{why}", {"why": str(error).lower()}) from None
    return text


Quantity = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9]+([.][0-9]+)?(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$", max_length=32),
    *NUMBER_OR_TEXT,
]
"""A quantity in Kubernetes' format: `500m`, `2`, `2Gi`."""

Quantities = Annotated[dict[Text, Quantity], Field(max_length=16)]
HEAP: Final = re.compile(r"^[1-9][0-9]{0,8}[kmg]$")
Memory = Annotated[str, StringConstraints(pattern=HEAP.pattern, max_length=10)]
"""A size in the JVM's format: `512m`, `2g`."""

LEAST_HEAP: Final = 450 * 1024 * 1024
"""Bytes of the heap below which Spark refuses to start (1.5 times the 300 MiB that it keeps for itself)."""
WANTED_HEAP: Final = "512m"
"""The smallest heap that messages recommend: above `LEAST_HEAP`, because Java does not report all of its heap as memory."""

ObjectName = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", max_length=253
    ),
]
"""Name of a Kubernetes object that Mainstem does not create."""

PodTemplate = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"x-kubernetes-preserve-unknown-fields": True, "x-pod-template": True}),
]
"""`metadata` (labels, annotations) and `spec` of a Kubernetes pod template. Mainstem does not replace `${name}` in it."""

_SIZE: Final = re.compile(r"(\d+)(?:([kmgtp])?b?)")
"""A size in the format of Spark's properties, in powers of 1024."""
_JVM_UNITS: Final = {"k": 2**10, "m": 2**20, "g": 2**30}
_QUANTITY: Final = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")
_UNITS: Final = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 0.001, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60}  # fmt: skip


_MIB: Final = 2**20
HEAP_OF_DRIVER: Final = 0.5
"""The heap's share of the driver's memory if the document sets no heap. Python and RocksDB use memory outside the heap."""
HEAP_OF_EXECUTOR: Final = 0.6


def amount(quantity: str) -> float:
    """A quantity of Kubernetes as a number: `500m` is 0.5, `2Gi` is 2147483648.0.

    >>> amount("500m"), amount("2Gi"), amount("1e3"), amount("1E"), amount("3Ei") == 3 * 2.0**60
    (0.5, 2147483648.0, 1000.0, 1e+18, True)
    """
    parts = _QUANTITY.fullmatch(quantity)
    if parts is None or parts[2] not in _UNITS:
        raise ValueError(f"not a quantity: {quantity!r}")
    return float(parts[1]) * _UNITS[parts[2]]


def larger_memory(limit: str) -> str:
    """The next memory limit to try: one and a half times a quantity, rounded up to 256Mi.

    >>> larger_memory("2Gi"), larger_memory("2.5Gi"), larger_memory("3Gi")
    ('3Gi', '3840Mi', '4608Mi')
    """
    quarters = math.ceil(1.5 * amount(limit) / 2**28)
    return f"{quarters // 4}Gi" if quarters % 4 == 0 else f"{quarters * 256}Mi"


def memory_text(size: int) -> str:
    """A number of bytes as a quantity of Kubernetes, rounded up to 1Mi.

    >>> memory_text(2**31), memory_text(1_000_000_000)
    ('2Gi', '954Mi')
    """
    mebibytes = math.ceil(size / 2**20)
    return f"{mebibytes // 1024}Gi" if mebibytes % 1024 == 0 else f"{mebibytes}Mi"


def memory_bytes(memory: str) -> int:
    """A size in the JVM's format as bytes: `2g` is 2147483648."""
    return int(memory[:-1]) * _JVM_UNITS[memory[-1]]


def off_heap_bytes(conf: Mapping[str, str]) -> int | None:
    """Bytes of Spark's off-heap memory, from `spark.memory.offHeap.size`; 0 if it is off, None if the value is not a size."""
    if conf.get("spark.memory.offHeap.enabled", "").strip().lower() != "true":
        return 0
    size = _SIZE.fullmatch(conf.get("spark.memory.offHeap.size", "0").strip().lower())
    return int(size[1]) * 1024 ** " kmgtp".index(size[2] or " ") if size else None


class Resources(Model):
    """Resources of a container, as in Kubernetes."""

    requests: Quantities = Field(default_factory=dict)
    """Resources that the container is sure to get: `cpu`, `memory`, or another resource of the node."""
    limits: Quantities = Field(default_factory=dict)
    """Maximum of each resource. `memory` is required, because the size of the Java heap depends on it."""


def _resources(cpu: str, memory: str) -> Any:
    # Without guaranteed memory, Kubernetes can kill the driver, which is an outage.
    return Field(
        default_factory=lambda: Resources(requests={"cpu": cpu, "memory": memory}, limits={"memory": memory})
    )


def heap_mib(given: str | None, resources: Resources, share: float) -> int:
    """The Java heap of a container in MiB: the given one, else a share of the container's memory."""
    if given:
        return max(1, memory_bytes(given) // _MIB)  # Java takes 0 as not set
    return int(int(amount(resources.limits["memory"])) // _MIB * share)


class PodDisruptionBudget(Model):
    """Whether a drain of the node may evict the driver."""

    max_unavailable: Annotated[int, Field(ge=0, le=1)] = 0
    """0 blocks the eviction of a ready driver, and so the drain of the node, until somebody suspends the pipeline. 1
    lets an eviction drain the driver. Kubernetes may evict a driver that is not ready in both cases."""


class Driver(Model):
    """The driver pod."""

    cores: Annotated[int, Field(ge=1, le=256)] = 2
    """Number of tasks at a time if there are no executors: the driver then runs them."""
    resources: Resources = _resources("500m", "2Gi")
    """Resources of the driver container. They replace the default as a whole: if you set `requests`, set `limits`
    too."""
    heap: Memory | None = None
    """Java heap; by default half of `resources.limits.memory`, because Python and RocksDB need memory outside the
    heap."""
    service_account_name: ObjectName | None = None
    """Your own service account; by default the operator creates one with the permissions that the pipeline needs."""
    template: PodTemplate = Field(default_factory=dict)
    """Additions to the pod: labels, node selector, tolerations, volumes, sidecars. The name of the driver container
    is `driver`. Mainstem refuses fields that it sets itself, and does not expand `${name}` in the template."""
    pod_disruption_budget: PodDisruptionBudget | None = None
    """Protects the driver against eviction; by default an eviction drains the driver, and it starts on another
    node."""


class DynamicAllocation(Model):
    """Executors by demand, in Spark's dynamic allocation with shuffle tracking and decommissioning."""

    min_executors: Annotated[int, Field(ge=0, le=1000)] = 0
    """Minimum number of executors."""
    max_executors: Annotated[int, Field(ge=1, le=1000)]
    """Maximum number of executors."""


class Executors(Model):
    """The executor pods."""

    instances: Annotated[int, Field(ge=0, le=1000)] = 0
    """Number of executors; with 0, everything runs in the driver pod. It may change on the same checkpoint."""
    cores: Annotated[int, Field(ge=1, le=256)] = 1
    """Tasks that one executor runs at a time."""
    resources: Resources = _resources("500m", "2Gi")
    """Resources of the executor container. They replace the default as a whole. Spark requests all of
    `limits.memory`."""
    heap: Memory | None = None
    """Java heap; by default 60 % of `resources.limits.memory`."""
    template: PodTemplate = Field(default_factory=dict)
    """Additions to the pod, as for the driver. The name of the executor container is `executor`."""
    dynamic_allocation: DynamicAllocation | None = None
    """Executors by demand. The pipeline then starts with `instances` or `minExecutors` executors, whichever is
    more."""

    @property
    def wanted(self) -> bool:
        """True if the pipeline can have executors, in pods of their own."""
        return self.instances > 0 or self.dynamic_allocation is not None


class PullSecret(Model):
    """A Secret with the credentials of a registry."""

    name: ObjectName
    """Name of the Secret, of type `kubernetes.io/dockerconfigjson`."""


PullSecrets = Annotated[tuple[PullSecret, ...], Field(max_length=8, json_schema_extra=LIST_MAP)]
Cron = Annotated[
    str, StringConstraints(pattern=r"^[^ ]+( +[^ ]+){4}$", max_length=128), AfterValidator(_cron)
]
"""A cron expression of five fields."""


class Schedule(Model):
    """When a pipeline runs whose queries all end, with the trigger `availableNow`."""

    cron: Cron
    """Minute, hour, day of month, month, day of week: `0 3 * * *` is three o'clock each night."""
    time_zone: TimeZone = "UTC"
    """Time zone of the expression."""
