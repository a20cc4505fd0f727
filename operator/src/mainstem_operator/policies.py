"""What only holds on a cluster: ordered checks of a document, each yields problems; pure."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from mainstem.errors import Problem
from mainstem.names import DRIVER_CONTAINER, EXECUTOR_CONTAINER
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.rules.places import normal


def checkpoint_durable(pipeline: StreamingPipeline) -> Iterator[Problem]:
    """A checkpoint outlives its pod: it is on an object store, or on a volume that every pod of the pipeline mounts."""
    location = pipeline.spec.checkpoints.location
    if location.startswith("s3a://"):
        return
    pods = [("driver", DRIVER_CONTAINER, pipeline.spec.driver.template)]
    if pipeline.spec.executors.wanted:
        pods.append(("executors", EXECUTOR_CONTAINER, pipeline.spec.executors.template))
    for key, container, template in pods:
        if not any(_within(normal(location), mount) for mount in _mounts(template, container)):
            message = f"{location} is lost with the pod; use s3a://, or mount a persistent volume there in {key}.template"
            yield _problem("spec.checkpoints.location", message, "CheckpointNotDurable")
            return


CHECKS: Final[tuple[Callable[[StreamingPipeline], Iterator[Problem]], ...]] = (checkpoint_durable,)


def check(pipeline: StreamingPipeline) -> list[Problem]:
    """All that is wrong with a document that is sound by itself."""
    return [problem for policy in CHECKS for problem in policy(pipeline)]


def _mounts(template: dict[str, Any], container: str) -> Iterator[str]:
    """Where a container of the template mounts volumes that are not the pod's own."""
    spec = template.get("spec", {})
    lasting = {
        volume["name"] for volume in spec.get("volumes", ()) if not {"emptyDir", "ephemeral"} & volume.keys()
    }
    for found in spec.get("containers", ()):
        if found["name"] == container:
            for mount in found.get("volumeMounts", ()):
                if mount.get("name") in lasting:
                    yield normal(mount.get("mountPath", ""))


def _within(folder: str, above: str) -> bool:
    return folder == above or folder.startswith(above.rstrip("/") + "/")


def _problem(path: str, message: str, reason: str) -> Problem:
    return Problem(1, 1, path, message, reason)
