"""The environment variables of driver and executor containers; pure."""

from collections.abc import Mapping
from typing import Any

from mainstem import names

from mainstem_operator.manifests.pod_template import Object
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision


def variables() -> list[Object]:
    """Variables of driver and executors with the writable folders."""
    return [
        {"name": names.ENV_SECRETS, "value": names.SECRETS_DIR},
        {"name": "HOME", "value": "/tmp"},  # noqa: S108 - a volume of the pod
        {"name": "TMPDIR", "value": names.SCRATCH_DIR},
    ]


def driver_variables(
    body: Mapping[str, Any], revision: Revision, settings: Settings, attempt: int, run: str
) -> list[Object]:
    """Variables that describe a driver's pod to the driver; `run` is the run of the pipeline that it continues."""
    fields = {
        names.ENV_NAMESPACE: "metadata.namespace",
        names.ENV_POD: "metadata.name",
        names.ENV_POD_UID: "metadata.uid",
        names.ENV_POD_IP: "status.podIP",
    }
    downward = [
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in fields.items()
    ]
    plain = {
        names.ENV_ATTEMPT: str(attempt),
        names.ENV_REVISION: revision.name,
        names.ENV_RUN: _run_name(body, run),
        names.ENV_CLUSTER: settings.cluster_uid,
        names.ENV_PIPELINE_UID: body["metadata"]["uid"],
        names.ENV_IMAGE: revision.pipeline.spec.image or settings.driver_image,
        names.ENV_PULL_POLICY: revision.pipeline.spec.image_pull_policy or settings.image_pull_policy,
        names.ENV_TERMINATION_LOG: names.TERMINATION_LOG,
    }
    return [*downward, *({"name": name, "value": value} for name, value in plain.items()), *variables()]


def _run_name(body: Mapping[str, Any], run: str) -> str:
    """The run as part of file names, with the uid: a new pipeline of the same name and checkpoint has runs of its own."""
    return f"{run.replace(':', '')}-{body['metadata']['uid']}"
