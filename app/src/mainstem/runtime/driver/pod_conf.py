"""Computes the environment of a run in a driver pod: its Spark properties, from the document and the pod; pure.

Spark runs in client mode. The driver pod owns the executor pods, so Kubernetes deletes them with it.
"""

from dataclasses import replace
from typing import Final

from mainstem import names
from mainstem.language.model.deployment import (
    HEAP_OF_DRIVER,
    HEAP_OF_EXECUTOR,
    Executors,
    Resources,
    amount,
    heap_mib,
    off_heap_bytes,
)
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.runtime.driver.pod import Pod
from mainstem.runtime.spark.conf import JAVA_OPTIONS, LOG4J, redaction
from mainstem.runtime.spark.environment import WITHOUT_PAGES, Environment


_MIB: Final = 2**20
_CHANGES: Final = "driver.resources.limits.memory or driver.heap"


def pod_environment(pipeline: StreamingPipeline, pod: Pod) -> Environment:
    """The environment of a driver pod: with executor pods, or alone if the document has no executors."""
    spec = pipeline.spec
    alone = not spec.executors.wanted
    return Environment(
        cores=spec.driver.cores if alone else most_executors(spec.executors) * spec.executors.cores,
        heap=f"{heap_mib(spec.driver.heap, spec.driver.resources, HEAP_OF_DRIVER)}m",
        defaults={} if alone else _PATIENCE,
        owned=_COMMON | _of_pod(pipeline, pod) | ({} if alone else _around(pipeline, pod)),
        memory=_CHANGES,
        address=None,
        namespace=pod.namespace,
        cluster=pod.cluster,
        uid=pod.pipeline_uid,
        attempt=pod.attempt,
        run=pod.run,
    )


def preflight_environment(pipeline: StreamingPipeline, pod: Pod) -> Environment:
    """The environment in which a pod checks a document beside the running driver: with the cores of that, and without its pages
    and executors.
    """
    return replace(pod_environment(pipeline, pod), defaults={}, owned=WITHOUT_PAGES | _of_pod(pipeline, pod))


def _of_pod(pipeline: StreamingPipeline, pod: Pod) -> dict[str, str]:
    return {
        "spark.redaction.regex": redaction(pipeline)["spark.redaction.regex"],
        "spark.local.dir": f"{pod.scratch}/spark",
    }


def most_executors(executors: Executors) -> int:
    """The largest number of executors that the document allows."""
    bounds = executors.dynamic_allocation
    return bounds.max_executors if bounds else executors.instances


def _memory(resources: Resources) -> int:
    """The container's memory in whole MiB."""
    return int(amount(resources.limits["memory"])) // _MIB


_COMMON: Final = {
    "spark.ui.enabled": "true",
    "spark.ui.port": str(names.UI_PORT),
    # Everyone who can reach the pod may read the UI, and must not end jobs.
    "spark.ui.killEnabled": "false",
}


# Closed connections show at once that an executor died. These time-outs are for an executor on an unreachable node.
_PATIENCE: Final = {
    "spark.network.timeout": "60s",
    "spark.executor.heartbeatInterval": "5s",
    # Spark asks three times for a shuffle block of a removed executor before it runs the task again.
    "spark.shuffle.io.retryWait": "2s",
}


def _around(pipeline: StreamingPipeline, pod: Pod) -> dict[str, str]:
    executors = pipeline.spec.executors
    most = most_executors(executors)
    return (
        {
            "spark.master": "k8s://https://kubernetes.default.svc",
            "spark.submit.deployMode": "client",
            "spark.driver.host": f"[{pod.ip}]" if ":" in pod.ip else pod.ip,
            "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 - the pod's own network
            "spark.driver.port": str(names.DRIVER_PORT),
            "spark.driver.blockManager.port": str(names.BLOCK_MANAGER_PORT),
            "spark.blockManager.port": str(names.BLOCK_MANAGER_PORT),
            "spark.executor.instances": str(executors.instances),
            "spark.executor.cores": str(executors.cores),
            "spark.executor.extraJavaOptions": f"{JAVA_OPTIONS} -Dlog4j2.configurationFile=file:{LOG4J}",
            # Batches start on the first executor. Until then their tasks wait, and nothing fails.
            "spark.scheduler.minRegisteredResourcesRatio": "0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "0s",
            # Spark counts failed executors since its start and ends the JVM after a few: a stream on nodes that come and
            # go reaches that within months. Many failures within ten minutes are a fault that a restart must show.
            "spark.executor.failuresValidityInterval": "10m",
            "spark.executor.maxNumFailures": str(max(20, 4 * most)),
        }
        | _pods(pipeline, pod)
        | _resources(executors, (off_heap_bytes(pipeline.spec.spark.conf) or 0) // _MIB)
        | _trust()
        | _dynamic(executors)
    )


def _pods(pipeline: StreamingPipeline, pod: Pod) -> dict[str, str]:
    # Spark would read a configured token file only once, and the kubelet replaces the token every hour. Without one its
    # client uses the pod's token and CA, and reads the token again.
    prefix = "spark.kubernetes"
    return {
        f"{prefix}.namespace": pod.namespace,
        f"{prefix}.driver.pod.name": pod.name,
        f"{prefix}.container.image": pod.image,
        f"{prefix}.container.image.pullPolicy": pipeline.spec.image_pull_policy or pod.pull_policy,
        f"{prefix}.executor.podTemplateFile": f"{names.DOCUMENT_DIR}/{names.EXECUTOR_KEY}",
        f"{prefix}.executor.podTemplateContainerName": names.EXECUTOR_CONTAINER,
        # With the driver start number: executors of the previous driver may still be ending.
        f"{prefix}.executor.podNamePrefix": f"{pipeline.name}-{pod.attempt}",
        f"{prefix}.allocation.batch.size": str(min(100, max(10, most_executors(pipeline.spec.executors)))),
        # Each of these would need one more permission, for objects that do not exist.
        f"{prefix}.executor.disableConfigMap": "true",
        f"{prefix}.driver.service.deleteOnTermination": "false",
        f"{prefix}.driver.ownPersistentVolumeClaim": "false",
        f"{prefix}.driver.reusePersistentVolumeClaim": "false",
        f"{prefix}.driver.waitToReusePersistentVolumeClaim": "false",
    }


def _resources(executors: Executors, off_heap: int) -> dict[str, str]:
    """Memory that adds up to the container's limit, to the MiB; Spark uses it as request and limit.

    Args:
        executors: the executors of the document.
        off_heap: MiB that Spark adds to heap and overhead.
    """
    resources = executors.resources
    total = _memory(resources)
    java = heap_mib(executors.heap, resources, HEAP_OF_EXECUTOR)
    cpu = resources.requests.get("cpu") or resources.limits.get("cpu") or str(executors.cores)
    limit = resources.limits.get("cpu")
    return {
        "spark.executor.memory": f"{java}m",
        "spark.executor.memoryOverhead": f"{total - java - off_heap}m",
        "spark.kubernetes.executor.request.cores": cpu,
        **({"spark.kubernetes.executor.limit.cores": limit} if limit else {}),
    }


def executor_memory(executors: Executors) -> tuple[str, str]:
    """The memory limit of an executor's container, as the document has it, and its Java heap."""
    java = heap_mib(executors.heap, executors.resources, HEAP_OF_EXECUTOR)
    return str(executors.resources.limits["memory"]), f"{java}Mi"


def _trust() -> dict[str, str]:
    """A secret that driver and executors read from a file; otherwise Spark writes one into every executor pod."""
    return {
        "spark.authenticate": "true",
        "spark.authenticate.secret.file": f"{names.SPARK_SECRET_DIR}/{names.SPARK_SECRET_KEY}",
    }


def _dynamic(executors: Executors) -> dict[str, str]:
    bounds = executors.dynamic_allocation
    if bounds is None:
        return {"spark.dynamicAllocation.enabled": "false"}
    return {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": str(bounds.min_executors),
        "spark.dynamicAllocation.maxExecutors": str(bounds.max_executors),
        "spark.dynamicAllocation.initialExecutors": str(executors.instances),
        # An executor that stops hands over the blocks that others still need.
        "spark.decommission.enabled": "true",
        "spark.storage.decommission.enabled": "true",
        "spark.storage.decommission.shuffleBlocks.enabled": "true",
        "spark.storage.decommission.rddBlocks.enabled": "true",
        "spark.kubernetes.decommission.script": names.DECOMMISSION,
    }
