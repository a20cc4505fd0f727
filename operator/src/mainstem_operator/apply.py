"""A plan carried out, in its order: status, objects, the pod that goes, the pod that comes."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

from mainstem.names import (
    COMPONENT_LABEL,
    DRIVER,
    OPERATOR,
    PIPELINE_LABEL,
    SPARK_SECRET_KEY,
    driver_name,
    spark_secret_name,
)

from mainstem_operator import objects, pods
from mainstem_operator.cluster import BUDGET, CONFIG_MAP, POD, Cluster, Object, Refused
from mainstem_operator.judge import Revision
from mainstem_operator.metrics import STARTS
from mainstem_operator.observe import written_status
from mainstem_operator.plan import Plan, Start
from mainstem_operator.report import DRIVERS_PART
from mainstem_operator.settings import Settings


class NotYet(Exception):
    """Something must go first, and will by itself: the garbage collector takes what a deleted pipeline has left."""


KEPT_REVISIONS: Final = 5


async def write_status(cluster: Cluster, body: Mapping[str, Any], plan: Plan) -> Object | None:
    """Write what differs from what is there; the resource as it is then, or None where nothing was written."""
    now = written_status(body)
    written = None
    if plan.driver_part is not None and plan.driver_part != {
        key: now[key] for key in DRIVERS_PART if key in now
    }:
        # A driver may just be writing: what is to be tidied is only what was seen.
        written = await cluster.apply_status(body, plan.driver_part, DRIVER, unchanged=True)
    if plan.status and plan.status != {key: value for key, value in now.items() if key not in DRIVERS_PART}:
        written = await cluster.apply_status(body, plan.status, OPERATOR)
    return written


async def stop(cluster: Cluster, pod: Mapping[str, Any]) -> Object | None:
    """Tell the driver to go, within its own grace; the pod as it is then, None where it is gone."""
    of = pod["metadata"]
    return await cluster.delete(POD, of["namespace"], of["name"], of["uid"])


async def start(
    cluster: Cluster, body: Mapping[str, Any], asked: Start, settings: Settings, made_before: set[str]
) -> Object | None:
    """Make all that the driver needs, then its pod; None where a pod of its name is there already.

    `made_before` names what earlier tries of this very start have made: a try again writes only what is missing.

    Raises:
        Refused: the API server will not have one of them.
        NotYet: something else has to go first.
    """

    async def once(making: Callable[[], Awaitable[None]], manifest: Object) -> None:
        key = f"{manifest['kind']}/{manifest['metadata']['name']}"
        if key not in made_before:
            await making()
            made_before.add(key)

    revision = asked.revision
    wanted = objects.access(body, revision)
    if budget := objects.disruption_budget(body, revision):
        wanted.append(budget)
    elif asked.attempt > 1:
        of = body["metadata"]
        await cluster.delete(BUDGET, of["namespace"], driver_name(of["name"]))
    made = _files(body, revision, settings)
    if revision.scaled_out:
        made.append(_spark_secret(body))
    # Nobody may bind a role that is not there yet, so what binds comes last.
    bindings = [manifest for manifest in wanted if manifest["kind"] == "RoleBinding"]
    await asyncio.gather(
        *(once(partial(_made, cluster, each, asked), each) for each in wanted if each not in bindings),
        *(once(partial(_made_once, cluster, body, each), each) for each in made),
    )
    await asyncio.gather(*(once(partial(_made, cluster, each, asked), each) for each in bindings))
    pod = await cluster.create(pods.driver_pod(body, revision, settings, attempt=asked.attempt))
    if pod is not None:
        STARTS.inc()
    return pod


def _files(body: Mapping[str, Any], revision: Revision, settings: Settings) -> list[Object]:
    """The ConfigMaps that the driver's pod mounts."""
    executor = pods.executor_template(body, revision, settings)
    beside = [] if executor is None else [objects.template(body, executor)]
    return [objects.document(body, revision), *beside]


async def _made(cluster: Cluster, manifest: Object, asked: Start) -> None:
    """The object as it shall be. The first time it is hardly ever there, and to make it is cheaper than to merge it."""
    if asked.attempt == 1 and await cluster.create(manifest) is not None:
        return
    try:
        await cluster.apply(manifest, OPERATOR)
    except Refused as refused:
        if "Only one reference can have Controller set to true" in str(refused):
            raise _not_yet(manifest) from None
        raise


async def _made_once(cluster: Cluster, body: Mapping[str, Any], manifest: Object) -> None:
    """An object that never changes; what is there already must be this very pipeline's, or it will go in a moment."""
    if await cluster.create(manifest) is not None or manifest["kind"] != CONFIG_MAP.kind:
        return
    of = manifest["metadata"]
    found = await cluster.get(CONFIG_MAP, of["namespace"], of["name"])
    if found is None or not owned(found, body):
        raise _not_yet(manifest)


def owned(thing: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """True where an object belongs to this very pipeline, and not to one of its name that was there before."""
    owners = thing["metadata"].get("ownerReferences", ())
    return any(owner["uid"] == body["metadata"]["uid"] for owner in owners)


def _not_yet(manifest: Object) -> NotYet:
    name = f"{manifest['kind']} {manifest['metadata']['name']}"
    return NotYet(f"the {name} of a pipeline of this name that was deleted is still there")


async def probe(cluster: Cluster, body: Mapping[str, Any], revision: Revision, settings: Settings) -> None:
    """Ask the API server, without a trace, whether it would have the revision's driver.

    Raises:
        Refused: it would not.
    """
    pod = pods.driver_pod(body, revision, settings, attempt=0)
    name = driver_name(body["metadata"]["name"])
    pod["metadata"]["name"] = f"{name}-{revision.name}"
    if revision.pipeline.spec.driver.service_account_name is None:
        pod["spec"]["serviceAccountName"] = "default"  # its own comes with the start
    try:
        await cluster.create(pod, dry_run=True)
    except Refused as refused:  # in the words in which the driver itself would be
        raise Refused(refused.status, str(refused).replace(pod["metadata"]["name"], name)) from None


async def prune(cluster: Cluster, body: Mapping[str, Any], revision: Revision, settings: Settings) -> None:
    """Remove documents of old revisions, but for the newest few, and the one that runs, however old it is; so too the
    templates of executors.
    """
    of = body["metadata"]
    run = [each["metadata"]["name"] for each in _files(body, revision, settings)]
    for component in (objects.DOCUMENT, objects.TEMPLATE):
        labels = {PIPELINE_LABEL: of["name"], COMPONENT_LABEL: component}
        found = await cluster.list(CONFIG_MAP, of["namespace"], labels)
        found.sort(key=lambda item: str(item["metadata"]["creationTimestamp"]), reverse=True)
        for old in found[KEPT_REVISIONS:]:
            if old["metadata"]["name"] not in run:
                await cluster.delete(CONFIG_MAP, of["namespace"], old["metadata"]["name"])


def _spark_secret(body: Mapping[str, Any]) -> Object:
    """By what driver and executors know each other: made once, by chance, and never read by the operator."""
    of = body["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": objects.metadata(body, spark_secret_name(of["name"], of["uid"])),
        "type": "Opaque",
        "stringData": {SPARK_SECRET_KEY: secrets.token_hex(32)},
    }
