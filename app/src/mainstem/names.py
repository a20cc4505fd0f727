"""Names that the driver and the operator must agree on: of objects, labels, files, variables and ports."""

from typing import Final


CRD_REVISION: Final = 5
"""Counts up with every change of the resource's schema; an operator refuses a definition that is older than its own."""
SCHEMA: Final = "mainstem.dev/schema"
"""Annotation of the definition that carries it."""

FINALIZER: Final = "mainstem.dev/drain"
OPERATOR: Final = "mainstem-operator"
"""Field manager of the operator's part of the status, and of all that it makes."""
DRIVER: Final = "mainstem-driver"
"""Field manager of the driver's part of the status: `queries`, `summary`, `reported`."""

NAME_LABEL: Final = "app.kubernetes.io/name"
MANAGED_LABEL: Final = "app.kubernetes.io/managed-by"
COMPONENT_LABEL: Final = "app.kubernetes.io/component"
PIPELINE_LABEL: Final = "mainstem.dev/pipeline"
REVISION: Final = "mainstem.dev/revision"
GENERATION: Final = "mainstem.dev/generation"
ATTEMPT: Final = "mainstem.dev/attempt"
RUN: Final = "mainstem.dev/run"
"""Annotations of the driver's pod: the revision that it runs, the generation it was of, which start it is, and the run of
the pipeline to which the start belongs: every start after a failure or an interruption continues the run.
"""
TEMPLATE_HASH: Final = "mainstem.dev/template-hash"
"""Annotation of the driver's pod: a hash of all that it was made from."""
RESTARTED_AT: Final = "mainstem.dev/restartedAt"
"""Annotation of a resource: a new value asks for a new driver. The driver's pod has the value that it was made under."""
RESERVED_PREFIXES: Final = ("mainstem.dev/", "spark-")
"""How labels and annotations begin that no pod template may set, besides name, manager and component."""

UID: Final = 10001
"""User and group of every container."""

DOCUMENT_DIR: Final = "/etc/mainstem/document"
DOCUMENT_KEY: Final = "pipeline.yaml"
EXECUTOR_KEY: Final = "executor.yaml"
SECRETS_DIR: Final = "/etc/mainstem/secrets"
SPARK_SECRET_DIR: Final = "/etc/mainstem/spark-secret"  # noqa: S105 - a folder
SPARK_SECRET_KEY: Final = "secret"  # noqa: S105 - a key's name
SCRATCH_DIR: Final = "/var/mainstem"
S3_PROFILES: Final = "/tmp/s3-profiles"  # noqa: S108 - the pod's own volume; the same path in driver and executors
TERMINATION_LOG: Final = "/dev/termination-log"

VOLUME_PREFIX: Final = "mainstem-"
"""Volumes of Mainstem's; a pod template's are called otherwise."""

DRIVER_CONTAINER: Final = "driver"
EXECUTOR_CONTAINER: Final = "executor"
DECOMMISSION: Final = "mainstem-decommission"
"""The command by which the kubelet tells an executor that its pod goes."""

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
ENV_RUN: Final = "MAINSTEM_RUN"
"""A name of the run to which the start belongs, unique over all pipelines and times; may be absent."""
ENV_IMAGE: Final = "MAINSTEM_IMAGE"
ENV_PULL_POLICY: Final = "MAINSTEM_IMAGE_PULL_POLICY"
"""The operator's `imagePullPolicy`, for executors of a document that names none; may be absent."""
ENV_TERMINATION_LOG: Final = "MAINSTEM_TERMINATION_LOG"
"""Where the driver leaves its last words, in place of `TERMINATION_LOG`; may be absent."""
ENV_PACKAGES: Final = "MAINSTEM_PACKAGES"
"""The folder of the image whose jars are on the class path of driver and executors; the image sets it."""
ENV_SECRETS: Final = "MAINSTEM_SECRETS"
"""The folder that holds one folder for each Secret, with a file for each of its keys."""

DRAIN_MARGIN_SECONDS: Final = 30
"""What a driver has beyond `drain.timeout` to write its last status and to go."""


def driver_name(pipeline: str) -> str:
    """Name of the driver's pod, its service account, role, binding and disruption budget."""
    return f"{pipeline}-driver"


def spark_secret_name(pipeline: str, uid: str) -> str:
    """Name of the Secret by which driver and executors know each other; a pipeline made anew under the name has its own."""
    return f"{pipeline}-spark-{uid[:8]}"


def revision_name(pipeline: str, revision: str) -> str:
    """Name of the ConfigMap with a revision's document."""
    return f"{pipeline}-{revision}"


def template_name(pipeline: str, digest: str) -> str:
    """Name of the ConfigMap with a template of executors' pods, by what is in it."""
    return f"{pipeline}-executor-{digest}"
