"""Gives a running driver another document, in three writes, so that a cut between them is seen and repaired."""

from collections.abc import Mapping
from typing import Any

from mainstem.names import OPERATOR, UNFINISHED, UPDATE, UPDATE_NUMBER

from mainstem_operator.api.kubernetes_api import POD, KubernetesApi
from mainstem_operator.loop.apply import made_once, prune, require_owned
from mainstem_operator.manifests import objects
from mainstem_operator.observed import hand_overs, pod_status
from mainstem_operator.observed.pod_status import Object
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision


async def announce(
    cluster: KubernetesApi, body: Mapping[str, Any], pod: Object, revision: Revision
) -> Object:
    """Mark the pod of a running driver that is about to get another document, and return it. If the operator dies before it has
    handed the document over, the mark lets it do that again: nobody knows then which document the driver has.

    Raises:
        NameTaken: an object of another owner has a name that the document needs.
        ApiRejection: the API server rejects an object.
    """
    number = hand_overs.next_number(body, pod)
    await made_once(cluster, body, objects.document(body, revision))
    await require_owned(cluster, body, objects.update(body, revision, pod_status.attempt(pod), number))
    return await _annotated(cluster, pod, UNFINISHED, number)


async def hand_over(
    cluster: KubernetesApi,
    body: Mapping[str, Any],
    pod: Object,
    revision: Revision,
    settings: Settings,
) -> Object:
    """Give a running driver another document, after `announce`. Return its pod, whose annotation names the document.

    The change of the annotation also lets the kubelet replace the file at once; otherwise it takes up to two minutes.

    Raises:
        ApiRejection: the API server rejects an object.
    """
    number = hand_overs.handed_number(pod)
    await cluster.apply(objects.update(body, revision, pod_status.attempt(pod), number), OPERATOR)
    handed = await _annotated(cluster, pod, revision.name, number)
    # New executors mount the document of the driver's start.
    await prune(cluster, body, revision, settings, in_use=[pod_status.revision(pod)])
    return handed


async def _annotated(cluster: KubernetesApi, pod: Object, update: str, number: int) -> Object:
    about = {key: pod["metadata"][key] for key in ("name", "namespace", "uid")}
    metadata = {**about, "annotations": {UPDATE: update, UPDATE_NUMBER: str(number)}}
    return await cluster.apply(
        {"apiVersion": POD.api_version, "kind": POD.kind, "metadata": metadata}, OPERATOR
    )
