"""The manifest of a pod that looks at a changed document beside the running driver; pure.

It has what the drivers of both documents have to reach the sources and the checkpoints: image and user's template of the
changed document, and the Secrets of both. It has no token for the API server, no probe and no port.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from mainstem.names import (
    DOCUMENT_DIR,
    DOCUMENT_KEY,
    DRIVER_CONTAINER,
    GROUP,
    REVISION,
    RUNNING_KEY,
    SECRETS_DIR,
    SPARK_SECRET_DIR,
    UPDATE_DIR,
    revision_name,
)

from mainstem_operator.manifests.objects import metadata
from mainstem_operator.manifests.pod_template import Object
from mainstem_operator.manifests.pods import driver_pod
from mainstem_operator.manifests.single_command import command_container, ending_after, mounts, used_volumes
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision


_NOT_MOUNTED: Final = (UPDATE_DIR, SPARK_SECRET_DIR)


class SidePod(NamedTuple):
    """What tells one kind of these pods from another.

    Attributes:
        name: its name; a fixed one, so a pipeline has at most one such pod.
        component: its label `app.kubernetes.io/component`.
        mark: the annotation that identifies what the pod carries out, and its value.
        arguments: the command line.
        seconds: when Kubernetes ends it.
        account: the service account.
        running: the name of the revision that runs.
        attempt: the driver start number that it has.
        sidecars: whether it has the further containers of the user's template.
        waits_for_running: whether it starts only once the running document exists, and the Secrets that only this names.
    """

    name: str
    component: str
    mark: tuple[str, str]
    arguments: Sequence[str]
    seconds: int
    account: str
    running: str
    attempt: int = 0
    sidecars: bool = False
    waits_for_running: bool = True


def side_pod(
    body: Mapping[str, Any], side: SidePod, wanted: Revision, running: Revision | None, settings: Settings
) -> Object:
    """The pod of a pipeline, from the changed document and the one that runs; None if that is not known."""
    new = driver_pod(body, wanted, settings, attempt=side.attempt, run="")
    spec, container = new["spec"], command_container(new)
    mounted = mounts(container, _NOT_MOUNTED)
    sidecars = [each for each in spec["containers"] if side.sidecars and each["name"] != DRIVER_CONTAINER]
    beside = []
    if running is not None:
        old = driver_pod(body, running, settings, attempt=side.attempt, run="")
        beside = _secrets_beside(container, old, optional=not side.waits_for_running)
    container |= {"args": list(side.arguments), "volumeMounts": [*mounted, *(mount for mount, _ in beside)]}
    document = next(each["name"] for each in mounted if each["mountPath"] == DOCUMENT_DIR)
    theirs = [mount for each in sidecars for mount in each.get("volumeMounts", ())]
    volumes = [each for each in used_volumes(spec, [*mounted, *theirs]) if each["name"] != document]
    about = _metadata(body, side, new)
    about["annotations"] |= dict([(REVISION, wanted.name), side.mark])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": about,
        "spec": spec
        | {
            "containers": [container, *sidecars],
            "volumes": [
                {"name": document, "projected": {"sources": _documents(body, wanted, side)}},
                *volumes,
                *(volume for _, volume in beside),
            ],
            "serviceAccountName": side.account,
        }
        | ending_after(side.seconds),
    }


def _metadata(body: Mapping[str, Any], side: SidePod, driver: Object) -> Object:
    """The metadata with the labels and annotations of the user's template: a store may identify a pod by them."""
    about, of_driver = metadata(body, side.name, side.component), driver["metadata"]
    annotations = of_driver["annotations"].items()
    return {
        **about,
        "labels": of_driver["labels"] | about["labels"],
        "annotations": {name: value for name, value in annotations if not name.startswith(f"{GROUP}/")},
    }


def _documents(body: Mapping[str, Any], wanted: Revision, side: SidePod) -> list[Object]:
    """Both documents in one folder, so that both find the same modules, and can share a Spark session."""
    pipeline, optional = body["metadata"]["name"], {} if side.waits_for_running else {"optional": True}
    return [
        {
            "configMap": {
                "name": revision_name(pipeline, revision),
                "items": [{"key": DOCUMENT_KEY, "path": file}],
                **more,
            }
        }
        for revision, file, more in (
            (wanted.name, DOCUMENT_KEY, {}),
            (side.running, RUNNING_KEY, optional),
        )
    ]


def _secrets_beside(container: Object, old: Object, *, optional: bool) -> list[tuple[Object, Object]]:
    """Mount and volume of each Secret that only the running document has; if `optional`, the pod also starts without them."""
    known = {each["mountPath"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in old["spec"]["volumes"]}
    missing = [
        each
        for each in command_container(old)["volumeMounts"]
        if each["mountPath"].startswith(f"{SECRETS_DIR}/") and each["mountPath"] not in known
    ]
    secrets = {
        name: each["secret"] | ({"optional": True} if optional else {})
        for name, each in volumes.items()
        if "secret" in each
    }
    return [
        ({**each, "name": name}, {"name": name, "secret": secrets[each["name"]]})
        for each, name in ((mount, f"mainstem-running-{index}") for index, mount in enumerate(missing))
    ]
