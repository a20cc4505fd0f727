"""Rules that only hold on a cluster: ordered checks of a document, each yields problems; pure."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from mainstem import names, reasons
from mainstem.errors import Problem
from mainstem.language.analysis.folders import normal
from mainstem.language.model.pipeline import PipelineSpec, StreamingPipeline
from mainstem.language.rules.connectors.owned_options import OWNED_IN_PODS
from mainstem.language.rules.connectors.paths import paths
from mainstem.language.yaml.yamltext import Path, render_path
from mainstem.names import DRIVER_CONTAINER, EXECUTOR_CONTAINER


_OF_THE_POD: Final = (
    *("/proc", "/sys", "/dev", "/run/secrets", "/var/run/secrets"),
    *("/etc/mainstem", names.SCRATCH_DIR),
)
"""Folders that the kernel, Kubernetes and Mainstem put into a pod: its token, its credentials, its environment."""


def checkpoint_durable(pipeline: StreamingPipeline) -> Iterator[Problem]:
    """A checkpoint must outlive its pod: on an object store, or on a volume that every pod of the pipeline mounts."""
    location = pipeline.spec.checkpoints.location
    if location.startswith("s3a://"):
        return
    for key, container, template in _pods(pipeline.spec):
        mounts = _mounts(template, container, lasting=True)
        if not any(_within(normal(location), mount) for mount in mounts):
            message = f"{location} would be lost with the pod; use s3a://, or mount a persistent volume there in {key}.template"
            yield _problem("spec.checkpoints.location", message, reasons.CHECKPOINT_NOT_DURABLE)
            return


def data_mounted(pipeline: StreamingPipeline) -> Iterator[Problem]:
    """Input and output must be on an object store, or on a volume that every pod of the pipeline mounts."""
    for path, text in paths(pipeline.spec):
        if path[0] == "checkpoints" or not _is_local(text):
            continue
        for key, container, template in _pods(pipeline.spec):
            mounts = _mounts(template, container, lasting=False)
            if _climbs(text) or not any(_within(normal(text), mount) for mount in mounts):
                message = f"{text} is a local folder of the pod; use s3a://, or mount a volume there in {key}.template"
                yield _problem(render_path(("spec", *path)), message, reasons.PATH_NOT_MOUNTED)
                break


def code_not_of_the_pod(pipeline: StreamingPipeline) -> Iterator[Problem]:
    """Schemas and jars must be in the image or on a mounted volume, and not among the pod's own files."""
    for path, text in _files(pipeline.spec):
        folder = next((folder for folder in _OF_THE_POD if _within(normal(text), folder)), None)
        if folder or ".." in text.split("/"):
            message = (
                f"{text} is in {folder}, which a document must not read; put the file into the image or on a volume"
                if folder
                else f"{text} contains '..'; use an absolute path in the image or on a volume"
            )
            yield _problem(render_path(("spec", *path)), message, reasons.PATH_NOT_MOUNTED)


def pod_properties(pipeline: StreamingPipeline) -> Iterator[Problem]:
    """`spark.conf` must not set a property that Mainstem sets in every pod."""
    for key in pipeline.spec.spark.conf:
        if key in OWNED_IN_PODS:
            instead = OWNED_IN_PODS[key]
            advice = f"use {instead}" if instead else "remove it"
            message = f"{key} is set by Mainstem in every pod; {advice}"
            yield _problem(f"spec.spark.conf[{key}]", message, reasons.OWNED_CONF)


CHECKS: Final[tuple[Callable[[StreamingPipeline], Iterator[Problem]], ...]] = (
    checkpoint_durable,
    data_mounted,
    code_not_of_the_pod,
    pod_properties,
)


def check(pipeline: StreamingPipeline) -> list[Problem]:
    """All problems of a document that is valid outside a cluster."""
    return [problem for policy in CHECKS for problem in policy(pipeline)]


def _pods(spec: PipelineSpec) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The pipeline's kinds of pods: the field, the container, the template."""
    yield "driver", DRIVER_CONTAINER, spec.driver.template
    if spec.executors.wanted:
        yield "executors", EXECUTOR_CONTAINER, spec.executors.template


def _files(spec: PipelineSpec) -> Iterator[tuple[Path, str]]:
    """Files that the driver reads while it builds queries: schemas and jars."""
    for index, source in enumerate(spec.sources):
        if source.files and source.files.schema_file:
            yield ("sources", index, "files", "schemaFile"), source.files.schema_file
        kind = source.decode.choice() if source.decode else ""
        file = getattr(source.decode.member(kind), "schema_file", None) if source.decode else None
        if file:
            yield ("sources", index, "decode", kind, "schemaFile"), file
    for index, function in enumerate(spec.functions):
        if function.java and function.java.jar:
            yield ("functions", index, "java", "jar"), function.java.jar


def _is_local(path: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path) is None or path.startswith("file:")


def _climbs(path: str) -> bool:
    """True for a glob that may leave its folder: {a,../../etc}."""
    return ".." in path and re.search(r"[*?\[\]{}\\]", path) is not None


def _mounts(template: dict[str, Any], container: str, *, lasting: bool) -> Iterator[str]:
    """The mount paths of a container's volumes; with `lasting`, only of volumes that outlive the pod."""
    spec = template.get("spec", {})
    passing = {"emptyDir", "ephemeral"} if lasting else set()
    volumes = {volume["name"] for volume in spec.get("volumes", ()) if not passing & volume.keys()}
    for each in spec.get("containers", ()):
        if each["name"] == container:
            for mount in each.get("volumeMounts", ()):
                if mount.get("name") in volumes:
                    yield normal(mount.get("mountPath", ""))


def _within(folder: str, above: str) -> bool:
    return folder == above or folder.startswith(above.rstrip("/") + "/")


def _problem(path: str, message: str, reason: reasons.Reason) -> Problem:
    return Problem(1, 1, path, message, reason)
