"""Runs a command in a pod: creates it, waits for its start, streams its output, and deletes it in any case."""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from mainstem import reasons
from mainstem.cluster.running_pipeline import running_pipeline
from mainstem.cluster.user_api import UserApi
from mainstem.errors import NotReady
from mainstem.names import DRIVER_CONTAINER, driver_name

from mainstem_operator.kubectl_plugin import images
from mainstem_operator.manifests.command_pod import DOCUMENT, command_pod
from mainstem_operator.manifests.single_command import spark_options
from mainstem_operator.observed import pod_status
from mainstem_operator.validation.documents import Revision, recall


WRITING: Final = ("fork", "repartition", "rewind", "rm")
"""Commands that no driver may run beside."""
RUNNING_SPARK: Final = ("repartition",)
"""Commands that run Spark, with cores and heap of the driver."""
_PAUSE: Final = 0.5
_AFTER_THE_LOG: Final = 30.0
"""Seconds in which the kubelet reports the exit code after the log's end."""


def run(
    api: UserApi,
    pipeline: str,
    command: str,
    arguments: Sequence[str],
    *,
    image: str | None,
    timeout: float,
    write: Callable[[bytes], object],
) -> int:
    """Run `mainstem checkpoint` with the document that a pipeline runs; returns its exit code.

    Args:
        api: the API server, with the user's rights.
        pipeline: the name of the pipeline.
        command: the command of `mainstem checkpoint`.
        arguments: its further arguments.
        image: the image; None for that of the driver.
        timeout: seconds in which the pod has to start.
        write: takes the output.

    Raises:
        NotReady: `CheckpointInUse`, `NothingHasRun`, `ImageUnknown`, `CommandPodNotStarted`, `CommandPodLost`, or the API
            server does not answer or rejects a request.
    """
    body = api.pipeline(pipeline)
    driver = api.pod(driver_name(pipeline))
    if command in WRITING:
        refuse_running(pipeline, driver)
    revision = running_pipeline(body).revision
    current = recall(api.document(pipeline, revision), revision)
    named = image or current.pipeline.spec.image
    deployments = [] if named or driver else api.deployments(images.OPERATORS)
    settings = images.needed(images.settings_of(named, driver, deployments), pipeline)
    if image:
        current = _with_image(current, image)
    name = f"{pipeline[:40].rstrip('-')}-checkpoint-{secrets.token_hex(3)}"
    words = command_words(command, current, arguments)
    pod = command_pod(body, current, settings, name, words, runs_spark=command in RUNNING_SPARK)
    try:
        api.create_pod(pod)
        _await_start(api, name, timeout)
        for part in api.log(name, DRIVER_CONTAINER):
            write(part)
        return _exit_code(api, name)
    finally:
        api.delete_pod(name)


def command_words(command: str, revision: Revision, arguments: Sequence[str]) -> list[str]:
    """The command line in the pod. A command that runs Spark has cores and heap of the driver; the user's own options come
    after them, and win.
    """
    words = ["checkpoint", command, "-f", DOCUMENT]
    if command in RUNNING_SPARK:
        words += spark_options(revision.pipeline.spec.driver)
    return [*words, *arguments]


def refuse_running(pipeline: str, driver: Mapping[str, Any] | None) -> None:
    """Raise `CheckpointInUse` while a driver pod of the pipeline has not ended."""
    if driver is not None and not pod_status.over(driver):
        raise NotReady(
            f"the pipeline {pipeline} has the driver pod {driver['metadata']['name']}, which uses its checkpoints",
            reason=reasons.CHECKPOINT_IN_USE,
            remedy="suspend the pipeline, and wait until the driver has drained",
        )


def _with_image(revision: Any, image: str) -> Any:
    from dataclasses import replace

    spec = revision.pipeline.spec.model_copy(update={"image": image})
    return replace(revision, pipeline=revision.pipeline.model_copy(update={"spec": spec}))


def _await_start(api: UserApi, name: str, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        pod = api.pod(name)
        if pod is None:
            raise _lost(name)
        if pod_status.running(pod) or pod_status.over(pod):
            return
        if time.monotonic() > deadline:
            reason, message = pod_status.waits_for(pod)
            warning = pod_status.newest_warning(api.events(name))
            if warning is not None:
                reason, message = warning
            raise NotReady(
                f"the pod {name} did not start within {timeout:g} seconds: {message} ({reason})",
                reason=reasons.COMMAND_POD_NOT_STARTED,
            )
        time.sleep(_PAUSE)


def _exit_code(api: UserApi, name: str) -> int:
    deadline = time.monotonic() + _AFTER_THE_LOG
    while time.monotonic() < deadline:
        pod = api.pod(name)
        if pod is None:
            break
        if pod_status.over(pod) and (code := pod_status.ended(pod).exit_code) is not None:
            return code
        time.sleep(_PAUSE)
    raise _lost(name)


def _lost(name: str) -> NotReady:
    return NotReady(f"the pod {name} ended without an exit code", reason=reasons.COMMAND_POD_LOST)
