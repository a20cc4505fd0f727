"""The manifest of the pod that tries a changed document beside the running driver; pure.

It has what the drivers of both documents have to reach the sources and the checkpoints: image and user's template of the
changed document, and the Secrets of both. It has no token for the API server, no sidecar, no probe and no port.
"""

from collections.abc import Mapping
from typing import Any, Final

from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Trial as TrialSettings
from mainstem.names import (
    DOCUMENT_DIR,
    DOCUMENT_KEY,
    GROUP,
    REVISION,
    RUNNING_KEY,
    SECRETS_DIR,
    SPARK_SECRET_DIR,
    TERMINATION_LOG,
    TRIAL,
    UPDATE_DIR,
    driver_name,
    revision_name,
    trial_name,
)

from mainstem_operator.manifests.objects import metadata
from mainstem_operator.manifests.pod_template import Object
from mainstem_operator.manifests.pods import driver_pod
from mainstem_operator.manifests.single_command import (
    command_container,
    ending_after,
    mounts,
    spark_options,
    used_volumes,
)
from mainstem_operator.observed.trials import Trial
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import DocumentChange, Revision


COMPONENT: Final = "trial"
_NOT_MOUNTED: Final = (UPDATE_DIR, SPARK_SECRET_DIR)
_MARGIN_SECONDS: Final = 60
"""How much later than the operator the kubelet ends the pod, for example while no operator runs."""


def trial_pod(
    body: Mapping[str, Any],
    trial: Trial,
    wanted: Revision,
    running: Revision,
    change: DocumentChange,
    settings: Settings,
) -> Object:
    """The pod that runs `mainstem trial` with both documents.

    Args:
        body: the resource of the pipeline.
        trial: the trial that the pod carries out.
        wanted: the changed document.
        running: the document that runs.
        change: what the change does: the trial concerns the changed queries, or all if a new driver is needed.
        settings: the settings of the operator.
    """
    chosen = wanted.pipeline.spec.trial or TrialSettings()
    new = driver_pod(body, wanted, settings, attempt=0, run="")
    old = driver_pod(body, running, settings, attempt=0, run="")
    spec, container = new["spec"], command_container(new)
    mounted = mounts(container, _NOT_MOUNTED)
    beside = _secrets_beside(container, old)
    container |= {
        "args": _arguments(wanted, chosen, change),
        "volumeMounts": [*mounted, *(mount for mount, _ in beside)],
    }
    document = next(each["name"] for each in mounted if each["mountPath"] == DOCUMENT_DIR)
    volumes = [each for each in used_volumes(spec, mounted) if each["name"] != document]
    about = _metadata(body, new)
    about["annotations"] |= {REVISION: wanted.name, TRIAL: trial.identity}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": about,
        "spec": spec
        | {
            "containers": [container],
            "volumes": [
                {"name": document, "projected": {"sources": _documents(body, wanted, running)}},
                *volumes,
                *(volume for _, volume in beside),
            ],
            "serviceAccountName": _account(body, wanted, running),
        }
        | ending_after(int(seconds(chosen.timeout)) + _MARGIN_SECONDS),
    }


def _metadata(body: Mapping[str, Any], driver: Object) -> Object:
    """The metadata with the labels and annotations of the user's template: a store may identify a pod by them."""
    about, of_driver = metadata(body, trial_name(body["metadata"]["name"]), COMPONENT), driver["metadata"]
    annotations = of_driver["annotations"].items()
    return {
        **about,
        "labels": of_driver["labels"] | about["labels"],
        "annotations": {name: value for name, value in annotations if not name.startswith(f"{GROUP}/")},
    }


def _arguments(wanted: Revision, chosen: TrialSettings, change: DocumentChange) -> list[str]:
    queries = () if change.driver else change.replaced
    return [
        "trial",
        f"{DOCUMENT_DIR}/{DOCUMENT_KEY}",
        "--against",
        f"{DOCUMENT_DIR}/{RUNNING_KEY}",
        "--batches",
        str(chosen.batches),
        *spark_options(wanted.pipeline.spec.driver),
        "--summary",
        TERMINATION_LOG,
        *(part for query in queries for part in ("--query", query)),
    ]


def _documents(body: Mapping[str, Any], wanted: Revision, running: Revision) -> list[Object]:
    """Both documents in one folder, so that both find the same modules, and can share a Spark session."""
    pipeline = body["metadata"]["name"]
    return [
        {
            "configMap": {
                "name": revision_name(pipeline, revision.name),
                "items": [{"key": DOCUMENT_KEY, "path": file}],
            }
        }
        for revision, file in ((wanted, DOCUMENT_KEY), (running, RUNNING_KEY))
    ]


def _secrets_beside(container: Object, old: Object) -> list[tuple[Object, Object]]:
    """Mount and volume of each Secret that only the running document has."""
    known = {each["mountPath"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in old["spec"]["volumes"]}
    missing = [
        each
        for each in command_container(old)["volumeMounts"]
        if each["mountPath"].startswith(f"{SECRETS_DIR}/") and each["mountPath"] not in known
    ]
    return [
        ({**each, "name": name}, {**volumes[each["name"]], "name": name})
        for each, name in ((mount, f"mainstem-running-{index}") for index, mount in enumerate(missing))
    ]


def _account(body: Mapping[str, Any], wanted: Revision, running: Revision) -> str:
    """The service account: the one that the changed document names, else the one that the running driver has."""
    named = (revision.pipeline.spec.driver.service_account_name for revision in (wanted, running))
    return next((name for name in named if name), driver_name(body["metadata"]["name"]))
