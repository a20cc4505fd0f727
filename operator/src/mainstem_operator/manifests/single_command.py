"""Parts of a pod that runs one command of `mainstem` with what a driver pod has; pure."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from mainstem.language.model.deployment import HEAP_OF_DRIVER, Driver, heap_mib
from mainstem.names import DRIVER_CONTAINER

from mainstem_operator.manifests.pod_template import Object


_OF_A_DRIVER: Final = ("ports", "startupProbe", "livenessProbe", "readinessProbe")
"""Fields of the driver's container that only a driver needs."""


def command_container(driver: Mapping[str, Any], also_without: Collection[str] = ()) -> Object:
    """The driver's container without ports and probes, and without the other given fields."""
    own = next(each for each in driver["spec"]["containers"] if each["name"] == DRIVER_CONTAINER)
    return {key: value for key, value in own.items() if key not in _OF_A_DRIVER and key not in also_without}


def mounts(container: Mapping[str, Any], without: Collection[str]) -> list[Object]:
    """The mounts of a container but those at the given paths."""
    return [each for each in container["volumeMounts"] if each["mountPath"] not in without]


def used_volumes(spec: Mapping[str, Any], mounted: Iterable[Mapping[str, Any]]) -> list[Object]:
    """The volumes of a pod that the given mounts or its init containers use."""
    used = {each["name"] for each in mounted}
    used |= {each["name"] for init in spec.get("initContainers", ()) for each in init.get("volumeMounts", ())}
    return [each for each in spec["volumes"] if each["name"] in used]


def ending_after(seconds: int) -> Object:
    """Fields of a pod's spec: it has no token for the API server, and Kubernetes ends it after this time."""
    return {
        "automountServiceAccountToken": False,
        "activeDeadlineSeconds": seconds,
        "terminationGracePeriodSeconds": 10,
    }


def spark_options(driver: Driver) -> list[str]:
    """The options of a command that runs Spark, with cores and heap of the driver."""
    heap = heap_mib(driver.heap, driver.resources, HEAP_OF_DRIVER)
    return ["--cores", str(driver.cores), "--heap", f"{heap}m"]
