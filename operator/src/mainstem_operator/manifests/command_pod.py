"""The manifest of a pod that runs one command on the checkpoints of a pipeline; pure.

It has what a driver pod has to reach the stores: image, service account, Secrets, volumes, and the user's template. It has
no sidecar, no probe, no port, and no token for the API server.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainstem.names import (
    COMPONENT_LABEL,
    DOCUMENT_DIR,
    DOCUMENT_KEY,
    MANAGED_LABEL,
    NAME_LABEL,
    PIPELINE_LABEL,
    UPDATE_DIR,
)

from mainstem_operator.manifests.pod_template import Object
from mainstem_operator.manifests.pods import driver_pod
from mainstem_operator.manifests.single_command import command_container, ending_after, mounts, used_volumes
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision


PLUGIN: Final = "kubectl-mainstem"
"""The manager of these pods. The operator watches only its own, so it never takes one of them for a driver."""
DOCUMENT: Final = f"{DOCUMENT_DIR}/{DOCUMENT_KEY}"
"""The running document in the pod."""
_RESOURCES: Final = {
    "requests": {"cpu": "100m", "memory": "256Mi"},
    "limits": {"memory": "1Gi"},
}
LONGEST_SECONDS: Final = 3600
"""Kubernetes ends the pod after this time, also if nobody is left who deletes it."""
_NO_MESSAGE: Final = ("terminationMessagePath", "terminationMessagePolicy")


def command_pod(
    body: Mapping[str, Any],
    revision: Revision,
    settings: Settings,
    name: str,
    arguments: Sequence[str],
    *,
    runs_spark: bool = False,
) -> Object:
    """The pod with this name that runs `mainstem` with these arguments.

    Args:
        body: the resource of the pipeline.
        revision: the revision that runs or ran last; the pod mounts its document.
        settings: the image for a document without one, and how it is pulled.
        name: name of the pod.
        arguments: the arguments of `mainstem`.
        runs_spark: whether the command runs Spark: then the pod has the resources of the driver.
    """
    made = driver_pod(body, revision, settings, attempt=0, run="")
    spec, about = made["spec"], body["metadata"]
    container = command_container(made, _NO_MESSAGE)
    mounted = mounts(container, (UPDATE_DIR,))
    resources = container["resources"] if runs_spark else _RESOURCES
    container |= {"args": list(arguments), "resources": resources, "volumeMounts": mounted}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": about["namespace"],
            "labels": {
                NAME_LABEL: "mainstem",
                MANAGED_LABEL: PLUGIN,
                COMPONENT_LABEL: "checkpoint",
                PIPELINE_LABEL: about["name"],
            },
            "ownerReferences": [
                {
                    "apiVersion": body["apiVersion"],
                    "kind": body["kind"],
                    "name": about["name"],
                    "uid": about["uid"],
                }
            ],
        },
        "spec": spec
        | {
            "containers": [container],
            "volumes": used_volumes(spec, mounted),
        }
        | ending_after(LONGEST_SECONDS),
    }
