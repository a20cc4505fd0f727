"""Names that the driver and the operator share: of objects, labels, files, variables and ports."""

from typing import Final, Literal, get_args


ApiVersion = Literal["mainstem.dev/v1alpha1"]
"""Type of the field `apiVersion`: the only version."""
API_VERSION: Final[str] = get_args(ApiVersion)[0]
GROUP, VERSION = API_VERSION.split("/")
KIND: Final = "StreamingPipeline"
PLURAL: Final = "streamingpipelines"
"""API group, version, kind and plural of the resource, as the CustomResourceDefinition has them."""
CRD_REVISION: Final = 22
"""Increases with every change of the resource's schema. An operator does not start with a definition older than its own."""
SCHEMA: Final = f"{GROUP}/schema"
"""Annotation of the CustomResourceDefinition with its `CRD_REVISION`."""

FINALIZER: Final = f"{GROUP}/drain"
OPERATOR: Final = "mainstem-operator"
"""Field manager of the operator's part of the status, and of all objects that the operator creates."""
DRIVER: Final = "mainstem-driver"
"""Field manager of the driver's part of the status: `queries`, `summary`, `reported`."""

NAME_LABEL: Final = "app.kubernetes.io/name"
MANAGED_LABEL: Final = "app.kubernetes.io/managed-by"
COMPONENT_LABEL: Final = "app.kubernetes.io/component"
PIPELINE_LABEL: Final = f"{GROUP}/pipeline"
REVISION: Final = f"{GROUP}/revision"
GENERATION: Final = f"{GROUP}/generation"
ATTEMPT: Final = f"{GROUP}/attempt"
RUN: Final = f"{GROUP}/run"
"""Annotations of the driver pod: its revision, the generation of the resource, the driver start number, and the run.

A start after a failure or an interruption continues the run.
"""
TEMPLATE_HASH: Final = f"{GROUP}/template-hash"
"""Annotation of the driver pod: a hash of everything that the operator built the pod from."""
RESTART_NONCE: Final = f"{GROUP}/restart-nonce"
"""Annotation of the driver pod: `spec.restartNonce` at its creation; absent without a nonce."""
UPDATE: Final = f"{GROUP}/update"
"""Annotation of the driver pod: the last revision that the operator handed to the running driver; absent before the first, and
`UNFINISHED` while the operator replaces the document.
"""
UNFINISHED: Final = "-"
UPDATE_NUMBER: Final = f"{GROUP}/update-number"
"""Annotation of the driver pod: how many documents the operator had handed to it then; absent before the first."""
TRIAL: Final = f"{GROUP}/trial"
"""Annotation of a trial pod: which trial it carries out, by the two revisions and the time of its start."""
PREFLIGHT: Final = f"{GROUP}/preflight"
"""Annotation of a preflight pod: which preflight it carries out, by the two revisions, the restart request and the template hash
of the driver that would start.
"""
RESERVED_PREFIXES: Final = (f"{GROUP}/", "spark-")
"""Prefixes of labels and annotations that no pod template may set, besides name, manager and component."""

METRIC_PREFIX: Final = "mainstem_"
"""How the names of all metrics begin, those of drivers and of the operator."""

UID: Final = 10001
"""User and group of every container."""

DOCUMENT_DIR: Final = "/etc/mainstem/document"
DOCUMENT_KEY: Final = "pipeline.yaml"
RUNNING_KEY: Final = "running.yaml"
"""The running document beside the changed one in a trial pod and in a preflight pod."""
UPDATE_DIR: Final = "/etc/mainstem/update"
"""The folder in which a running driver finds a changed document, in a file with the name `update_key`."""
EXECUTOR_KEY: Final = "executor.yaml"
SECRETS_DIR: Final = "/etc/mainstem/secrets"
SPARK_SECRET_DIR: Final = "/etc/mainstem/spark-secret"  # noqa: S105 - a folder
SPARK_SECRET_KEY: Final = "secret"  # noqa: S105 - a key's name
SCRATCH_DIR: Final = "/var/mainstem"
TERMINATION_LOG: Final = "/dev/termination-log"

VOLUME_PREFIX: Final = "mainstem-"
"""Prefix of Mainstem's volumes; volumes of a pod template must have other names."""

DRIVER_CONTAINER: Final = "driver"
EXECUTOR_CONTAINER: Final = "executor"
DECOMMISSION: Final = "mainstem-decommission"
"""The command that the kubelet runs in an executor before it ends the pod."""

HTTP_PORT: Final = 8090
UI_PORT: Final = 4040
DRIVER_PORT: Final = 7078
BLOCK_MANAGER_PORT: Final = 7079

ENV_PREFIXES: Final = ("MAINSTEM_", "SPARK_")
"""Variables that a pod template may not set in Mainstem's containers."""
ENV_NAMESPACE: Final = "MAINSTEM_NAMESPACE"
ENV_POD: Final = "MAINSTEM_POD_NAME"
ENV_POD_IP: Final = "MAINSTEM_POD_IP"
ENV_POD_UID: Final = "MAINSTEM_POD_UID"
ENV_ATTEMPT: Final = "MAINSTEM_ATTEMPT"
ENV_REVISION: Final = "MAINSTEM_REVISION"
"""The revision of the document with which the driver starts; may be absent."""
ENV_RUN: Final = "MAINSTEM_RUN"
"""The name of the run, unique over all pipelines and times; may be absent."""
ENV_CLUSTER: Final = "MAINSTEM_CLUSTER_UID"
"""The uid of the namespace `kube-system`, which identifies the cluster; may be absent. Of the operator and of a driver."""
ENV_PIPELINE_UID: Final = "MAINSTEM_PIPELINE_UID"
"""The uid of the pipeline; may be absent."""
ENV_IMAGE: Final = "MAINSTEM_IMAGE"
ENV_PULL_POLICY: Final = "MAINSTEM_IMAGE_PULL_POLICY"
"""The operator's `imagePullPolicy`, for executors of a document without one; may be absent."""
ENV_TERMINATION_LOG: Final = "MAINSTEM_TERMINATION_LOG"
"""The file of the driver's termination message, in place of `TERMINATION_LOG`; may be absent."""
ENV_PACKAGES: Final = "MAINSTEM_PACKAGES"
"""The folder of the image with the jars for the class path of driver and executors; the image sets it."""
ENV_SECRETS: Final = "MAINSTEM_SECRETS"
"""The folder with a subfolder for each Secret, which holds a file for each key."""

DRAIN_WAIT_SECONDS: Final = 6 * 3600
"""The time that a driver has to end with `drain.onTimeout: wait`, unless its pipeline is deleted."""
DRAIN_MARGIN_SECONDS: Final = 30
"""The time that a driver has after `drain.timeout` to write its last status and to end."""


def driver_name(pipeline: str) -> str:
    """Name of the driver pod, its service account, role, binding and disruption budget."""
    return f"{pipeline}-driver"


def trial_name(pipeline: str) -> str:
    """Name of the pod that tries a changed document beside the running driver; a fixed name, so there is at most one."""
    return f"{pipeline}-trial"


def preflight_name(pipeline: str) -> str:
    """Name of the pod that checks a changed document as its driver would start; a fixed name, so there is at most one."""
    return f"{pipeline}-preflight"


def spark_secret_name(pipeline: str, uid: str) -> str:
    """Name of the Secret with which driver and executors authenticate; a recreated pipeline has another Secret."""
    return f"{pipeline}-spark-{uid[:8]}"


def revision_name(pipeline: str, revision: str) -> str:
    """Name of the ConfigMap with the document of a revision."""
    return f"{pipeline}-{revision}"


def update_name(pipeline: str) -> str:
    """Name of the ConfigMap with the document that a running driver shall apply."""
    return f"{pipeline}-update"


def update_key(attempt: int, revision: str) -> str:
    """Name of the document's file of that ConfigMap, with the driver start number of the driver that the document is for."""
    return f"{attempt}-{revision}.yaml"


def update_number_key(attempt: int) -> str:
    """Name of the file beside it, with the number of the document among those that this driver has got."""
    return f"{attempt}.number"


def template_name(pipeline: str, digest: str) -> str:
    """Name of the ConfigMap with a template of executor pods; `digest` is a hash of the template."""
    return f"{pipeline}-executor-{digest}"
