"""The driver's own pod, as the operator describes it in environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from mainstem import names, reasons
from mainstem.errors import NotReady


@dataclass(frozen=True)
class Pod:
    """The names and settings that a driver has from its pod.

    Attributes:
        namespace: the namespace of pipeline and pod.
        name: the name of the pod, which owns the executor pods.
        uid: the uid of the pod.
        ip: its address, at which executors reach the driver.
        attempt: the driver start number, from 1.
        image: the image of the driver and of its executors.
        revision: the revision of the document with which the driver starts; empty if an older operator sets none.
        run: the name of the run to which the start belongs; empty if an older operator sets none.
        cluster: uid of the cluster's namespace `kube-system`; empty if the operator may not read it.
        pipeline_uid: uid of the pipeline; empty if an older operator sets none.
        pull_policy: the image's `imagePullPolicy`.
        scratch: a writable folder, in driver and executors, for temporary files.
    """

    namespace: str
    name: str
    uid: str
    ip: str
    attempt: int
    image: str
    revision: str = ""
    run: str = ""
    cluster: str = ""
    pipeline_uid: str = ""
    pull_policy: str = "IfNotPresent"
    scratch: str = names.SCRATCH_DIR

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Pod":
        """The pod of this process.

        Raises:
            NotReady: `NotADriverPod`, naming every missing variable, or the variable that is not a whole number.
        """
        required = (
            names.ENV_NAMESPACE,
            names.ENV_POD,
            names.ENV_POD_UID,
            names.ENV_POD_IP,
            names.ENV_ATTEMPT,
            names.ENV_IMAGE,
        )
        if missing := [name for name in required if not environment.get(name)]:
            raise _not_a_pod(f"these variables are not set: {', '.join(missing)}")
        attempt = environment[names.ENV_ATTEMPT]
        if not attempt.isdecimal():
            raise _not_a_pod(f"{names.ENV_ATTEMPT} is not a whole number: {attempt!r}")
        return cls(
            namespace=environment[names.ENV_NAMESPACE],
            name=environment[names.ENV_POD],
            uid=environment[names.ENV_POD_UID],
            ip=environment[names.ENV_POD_IP],
            attempt=int(attempt),
            image=environment[names.ENV_IMAGE],
            revision=environment.get(names.ENV_REVISION, ""),
            run=environment.get(names.ENV_RUN, ""),
            cluster=environment.get(names.ENV_CLUSTER, ""),
            pipeline_uid=environment.get(names.ENV_PIPELINE_UID, ""),
            pull_policy=environment.get(names.ENV_PULL_POLICY) or "IfNotPresent",
            scratch=environment.get("TMPDIR") or names.SCRATCH_DIR,
        )


def _not_a_pod(why: str) -> NotReady:
    return NotReady(
        why,
        reason=reasons.NOT_A_DRIVER_POD,
        remedy="only the operator starts `mainstem driver`, in a pod; on a machine use `mainstem run`",
    )
