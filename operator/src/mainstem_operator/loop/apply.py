"""Applies a plan in its order: status, deletion of the old pod, objects, creation of the new pod."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

from mainstem.names import (
    COMPONENT_LABEL,
    DRIVER,
    FINALIZER,
    OPERATOR,
    PIPELINE_LABEL,
    SPARK_SECRET_KEY,
    driver_name,
    revision_name,
    spark_secret_name,
)

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import (
    BUDGET,
    CONFIG_MAP,
    PIPELINE,
    POD,
    ApiError,
    ApiRejection,
    Kind,
    KubernetesApi,
    Object,
)
from mainstem_operator.decisions import revisions
from mainstem_operator.decisions.actions import Plan, Start
from mainstem_operator.decisions.pipeline_status import DRIVERS_PART
from mainstem_operator.manifests import objects, pods
from mainstem_operator.metrics import STARTS
from mainstem_operator.observed.observation import written_status
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Revision


KEPT_REVISIONS: Final = 5


class PipelineDeleted(Exception):
    """The resource was deleted before the operator created anything for it."""


async def write_status(cluster: KubernetesApi, body: Mapping[str, Any], plan: Plan) -> Object | None:
    """Write the parts of the status that differ. Return the resource as it is then, or None if nothing was written."""
    now = written_status(body)
    written = None
    if plan.driver_part is not None and plan.driver_part != {
        key: now[key] for key in DRIVERS_PART if key in now
    }:
        # A driver may write at the same time: only replace the version that the plan has read.
        written = await cluster.apply_status(body, plan.driver_part, DRIVER, unchanged=True)
    if plan.status and plan.status != {key: value for key, value in now.items() if key not in DRIVERS_PART}:
        written = await cluster.apply_status(body, plan.status, OPERATOR)
    return written


async def hold(cluster: KubernetesApi, body: Mapping[str, Any]) -> Object | None:
    """Write a missing finalizer: then a deletion waits for the driver. Return the resource as it is then.

    Raises:
        PipelineDeleted: the resource is deleted.
    """
    about = body["metadata"]
    if FINALIZER in about.get("finalizers", ()):
        return None
    only = {key: about[key] for key in ("name", "namespace", "uid")} | {"finalizers": [FINALIZER]}
    manifest = {"apiVersion": PIPELINE.api_version, "kind": PIPELINE.kind, "metadata": only}
    try:
        return await cluster.apply(manifest, OPERATOR)
    except ApiError:
        existing = await _existing(cluster, manifest)
        now = existing["metadata"] if existing else {}
        if now.get("uid") != about["uid"] or now.get("deletionTimestamp"):
            raise PipelineDeleted from None
        raise


async def stop(cluster: KubernetesApi, pod: Mapping[str, Any], grace: float | None) -> Object | None:
    """Delete the driver pod, with a grace period in seconds or its own. Return the pod if it still exists then, else None."""
    return await cluster.delete(POD, pod, grace=grace)


async def start(
    cluster: KubernetesApi, body: Mapping[str, Any], order: Start, settings: Settings, made_before: set[str]
) -> Object | None:
    """Create all that the driver needs, then its pod; None if a pod of its name exists.

    `made_before` names the objects that earlier attempts of this start have created: a retry writes only missing ones.

    Raises:
        NameTaken: an object of another owner has a name that the driver needs.
        ApiRejection: the API server rejects one of them.
        DeletionPending: another object must be deleted first.
    """

    async def once(making: Callable[[], Awaitable[None]], manifest: Object) -> None:
        key = f"{manifest['kind']}/{manifest['metadata']['name']}"
        if key not in made_before:
            await making()
            made_before.add(key)

    revision = order.revision
    wanted = _changing(body, revision)
    if written_status(body) and revision.pipeline.spec.driver.pod_disruption_budget is None:
        await _remove_budget(cluster, body)
    made = _files(body, revision, settings)
    if revision.scaled_out:
        made.append(_spark_secret(body))
    # A binding needs an existing role, so bindings come last.
    bindings = [manifest for manifest in wanted if manifest["kind"] == "RoleBinding"]
    await asyncio.gather(
        *(once(partial(_made, cluster, body, each, order), each) for each in wanted if each not in bindings),
        *(once(partial(made_once, cluster, body, each), each) for each in made),
    )
    await asyncio.gather(*(once(partial(_made, cluster, body, each, order), each) for each in bindings))
    pod = await cluster.create(
        pods.driver_pod(body, revision, settings, attempt=order.attempt, run=order.run)
    )
    if pod is not None:
        STARTS.inc()
    return pod


def _changing(body: Mapping[str, Any], revision: Revision) -> list[Object]:
    """The objects whose content may change between starts."""
    budget = objects.disruption_budget(body, revision)
    return [*objects.access(body, revision), *([budget] if budget else [])]


def _files(body: Mapping[str, Any], revision: Revision, settings: Settings) -> list[Object]:
    """The ConfigMaps that the driver pod mounts."""
    executor = pods.executor_template(body, revision, settings)
    beside = [] if executor is None else [objects.template(body, executor)]
    return [objects.document(body, revision), *beside]


async def _made(cluster: KubernetesApi, body: Mapping[str, Any], manifest: Object, order: Start) -> None:
    """Create or update an object. At the first start it hardly ever exists, so there is no read before."""
    if order.attempt == 1 and await cluster.create(manifest) is not None:
        return
    if manifest["kind"] == BUDGET.kind:
        # An older operator created it with maxUnavailable. Apply cannot remove that field, and the server rejects both.
        await _remove_budget(cluster, body)
    existing = await _existing(cluster, manifest)
    if existing is None:
        if await cluster.create(manifest) is None:
            await require_owned(cluster, body, manifest)
        return
    ownership.require(manifest["kind"], existing, body)
    only = {**manifest["metadata"], "uid": existing["metadata"]["uid"]}
    try:
        await cluster.apply({**manifest, "metadata": only}, OPERATOR)
    except ApiRejection:
        await require_owned(cluster, body, manifest)  # another object may have its name meanwhile
        raise


async def made_once(cluster: KubernetesApi, body: Mapping[str, Any], manifest: Object) -> None:
    """Create an object that never changes. Secrets are not read: their name contains the pipeline's uid.

    Raises:
        NameTaken, DeletionPending: as `require_owned`.
        ApiRejection: the API server rejects it.
    """
    if await cluster.create(manifest) is None and manifest["kind"] == CONFIG_MAP.kind:
        await require_owned(cluster, body, manifest)


async def require_owned(cluster: KubernetesApi, body: Mapping[str, Any], manifest: Object) -> None:
    """Return if no object has the manifest's name, or if this pipeline owns it.

    Raises:
        NameTaken: it has another owner.
        DeletionPending: it belongs to a deleted pipeline of the same name.
    """
    existing = await _existing(cluster, manifest)
    if existing is not None:
        ownership.require(manifest["kind"], existing, body)


async def _existing(cluster: KubernetesApi, manifest: Object) -> Object | None:
    """The metadata of the object with a manifest's kind and name."""
    kind, about = Kind(manifest["apiVersion"], manifest["kind"]), manifest["metadata"]
    return await cluster.get(kind, about["namespace"], about["name"], metadata_only=True)


async def _remove_budget(cluster: KubernetesApi, body: Mapping[str, Any]) -> None:
    """Delete the budget of an earlier start; a user's budget with the driver's name stays."""
    about = body["metadata"]
    existing = await cluster.get(BUDGET, about["namespace"], driver_name(about["name"]), metadata_only=True)
    if existing is not None and ownership.owned(existing, body):
        await cluster.delete(BUDGET, existing)


async def probe(
    cluster: KubernetesApi, body: Mapping[str, Any], revision: Revision, settings: Settings
) -> None:
    """Ask the API server in a dry run whether it accepts the driver pod of a revision, and whether its names are free.

    Raises:
        NameTaken: an object of another owner has a name that the driver needs.
        ApiRejection: it rejects the pod.
    """
    needed = [*_changing(body, revision), *_files(body, revision, settings)]
    await asyncio.gather(*(require_owned(cluster, body, manifest) for manifest in needed))
    pod = pods.driver_pod(body, revision, settings, attempt=0, run="")
    name = driver_name(body["metadata"]["name"])
    pod["metadata"]["name"] = f"{name}-{revision.name}"
    if revision.pipeline.spec.driver.service_account_name is None:
        pod["spec"]["serviceAccountName"] = "default"  # the start creates its own account
    try:
        await cluster.create(pod, dry_run=True)
    except ApiRejection as refused:  # with the name of the real pod in the message
        raise ApiRejection(refused.status, str(refused).replace(pod["metadata"]["name"], name)) from None


async def prune(
    cluster: KubernetesApi,
    body: Mapping[str, Any],
    revision: Revision,
    settings: Settings,
    *,
    in_use: Iterable[str] = (),
) -> None:
    """Delete the documents and executor templates of old revisions. The newest ones stay, and, however old they are, those of
    the running revision, the documents of the revisions `in_use`, and those to which a rollback may return.
    """
    about = body["metadata"]
    kept = [*in_use, *revisions.protected(written_status(body))]
    run = [
        *(revision_name(about["name"], name) for name in kept),
        *(each["metadata"]["name"] for each in _files(body, revision, settings)),
    ]
    for component in (objects.DOCUMENT, objects.TEMPLATE):
        labels = {PIPELINE_LABEL: about["name"], COMPONENT_LABEL: component}
        listed = await cluster.list(CONFIG_MAP, about["namespace"], labels)
        owned = [item for item in listed if ownership.owned(item, body)]
        owned.sort(key=lambda item: str(item["metadata"]["creationTimestamp"]), reverse=True)
        for old in owned[KEPT_REVISIONS:]:
            if old["metadata"]["name"] not in run:
                await cluster.delete(CONFIG_MAP, old)


def _spark_secret(body: Mapping[str, Any]) -> Object:
    """The secret with which driver and executors authenticate: generated randomly once, never read by the operator."""
    about = body["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": objects.metadata(body, spark_secret_name(about["name"], about["uid"])),
        "type": "Opaque",
        "stringData": {SPARK_SECRET_KEY: secrets.token_hex(32)},
    }
