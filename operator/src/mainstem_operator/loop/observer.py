"""One look at a pipeline: what the operator remembers of it, and what has to be read from the API server or asked of it."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mainstem.names import DOCUMENT_KEY, driver_name, revision_name

from mainstem_operator.api import ownership
from mainstem_operator.api.kubernetes_api import CONFIG_MAP, POD, ApiError, Cluster, Object, Refused
from mainstem_operator.decisions.history import aged
from mainstem_operator.loop import apply
from mainstem_operator.loop.pipeline_cache import ASK_AGAIN_SECONDS, Answer, Pipeline
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.ages import Moment
from mainstem_operator.observed.conditions import find_condition
from mainstem_operator.observed.observation import Observed, Refusal, written_status
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import Judgement, Revision
from mainstem_operator.validation.worker_pool import Validators


UNKNOWN_SECONDS: Final = 10.0
"""The same as `ASK_AGAIN_SECONDS`, for an answer that says nothing of the pod, such as that a webhook does not answer."""


class Observer:
    """Looks at pipelines."""

    def __init__(self, cluster: Cluster, settings: Settings, validators: Validators) -> None:
        self._cluster = cluster
        self._settings = settings
        self._validators = validators

    async def observed(self, of: Pipeline) -> Observed:
        """What is known of the pipeline now, read where that is due.

        Raises:
            Exception: the API server's errors.
        """
        assert of.body is not None
        body = of.body
        judgement = await self._judgement(of, body)
        if of.stale(self._settings.resync_seconds) and not (of.new and _starts_at_once(body, judgement)):
            await self._find_pod(of, body)
        warnings = of.warnings
        await warnings.read(self._cluster, body, of.pod)
        seen = Observed(
            body=body,
            pod=of.pod,
            gone=of.gone,
            judgement=judgement,
            current=await self._current(of, body, judgement),
            refused=await self._refusal(of, body, judgement),
            now=datetime.now(UTC),
            settings=self._settings,
            failure=of.failure,
            created=of.created,
            driver_warning=warnings.driver.warning if warnings.driver else None,
            executors_warning=warnings.executors.warning if warnings.executors else None,
        )
        return aged(seen, of.ages, Moment(seen.now, time.monotonic()))

    async def _judgement(self, of: Pipeline, body: Mapping[str, Any]) -> Judgement:
        generation = int(body["metadata"]["generation"])
        if of.judged is None or of.judged[0] != generation:
            of.judged = (generation, await self._validators.judge(body))
            of.refused = None
            of.failed_step = None
            of.made.clear()
        return of.judged[1]

    async def _current(self, of: Pipeline, body: Mapping[str, Any], judgement: Judgement) -> Revision | None:
        """What ran last, read from its ConfigMap, where the document of today is refused."""
        name = written_status(body).get("revision") or (pod_status.revision(of.pod) if of.pod else "")
        if judgement.revision is not None or not name:
            return None
        if of.current is None or of.current.name != name:
            of.current = await self._recalled(body, name)
        return of.current

    async def _recalled(self, body: Mapping[str, Any], name: str) -> Revision | None:
        of = body["metadata"]
        found = await self._cluster.get(CONFIG_MAP, of["namespace"], revision_name(of["name"], name))
        if found is None:
            return None
        return await self._validators.recall(of["namespace"], found["data"][DOCUMENT_KEY], name)

    async def _refusal(self, of: Pipeline, body: Mapping[str, Any], judgement: Judgement) -> Refusal | None:
        """Why the driver that the document asks for cannot be made; asked before what runs is stopped for it."""
        revision = judgement.revision
        if revision is None or body["metadata"].get("deletionTimestamp"):
            return None
        if of.refused is not None and of.refused.holds_for(revision.name):
            return of.refused.refusal
        again = _said_before(body) if of.refused is None else of.refused.revision == revision.name
        runs = of.pod is not None and not pod_status.over(of.pod)
        if not again and (not runs or (of.pod and pod_status.revision(of.pod) == revision.name)):
            return None
        pod, refusal, patience = await self._read(body), None, ASK_AGAIN_SECONDS
        try:
            _require(pod, body)
            await apply.probe(self._cluster, body, revision, self._settings)
        except Refused as refused:
            refusal = ownership.refusal(refused)
        except (ApiError, ownership.NotYet, TimeoutError) as error:
            if isinstance(error, ownership.NotYet) and not runs:
                return None  # the start waits for it
            message = f"the operator does not know whether the API server accepts the driver pod: {error}"
            refusal, patience = Refusal(ownership.POD_REFUSED, message), UNKNOWN_SECONDS
        of.refused = Answer(revision.name, refusal, time.monotonic(), patience)
        return refusal

    async def require_pod(self, of: Pipeline, body: Mapping[str, Any]) -> None:
        """Take the pod of the driver's name as the driver.

        Raises:
            NameTaken: it is somebody else's.
            NotYet: it is of a deleted pipeline of the same name, or has gone in the meantime.
        """
        pod = await self._find_pod(of, body)
        if pod is None:
            raise ownership.NotYet("the pod of the previous driver is being deleted")
        _require(pod, body)

    async def _find_pod(self, of: Pipeline, body: Mapping[str, Any]) -> Object | None:
        """The pod of the driver's name, remembered where it is the driver."""
        pod = await self._read(body)
        of.read(pod if pod is not None and ownership.owned(pod, body) else None)
        return pod

    async def _read(self, body: Mapping[str, Any]) -> Object | None:
        of = body["metadata"]
        return await self._cluster.get(POD, of["namespace"], driver_name(of["name"]))


def _require(pod: Object | None, body: Mapping[str, Any]) -> None:
    """Pass where the driver's name is free, or the pod that has it is the driver; raises as `ownership.require`."""
    if pod is not None:
        ownership.require(POD.kind, pod, body)


def _starts_at_once(body: Mapping[str, Any], judgement: Judgement) -> bool:
    """True where a new pipeline gets its driver now: whether there is a pod, the making of one tells."""
    suspended, deleted = body["spec"].get("suspend"), body["metadata"].get("deletionTimestamp")
    return judgement.revision is not None and not suspended and not deleted


def _said_before(body: Mapping[str, Any]) -> bool:
    """True where the status has it that the driver was refused: an operator that starts asks, and announces no start."""
    status = written_status(body)
    said = find_condition(status, "SpecValid")
    is_of_today = status.get("observedGeneration") == body["metadata"]["generation"]
    return (
        is_of_today and said is not None and said["reason"] in (ownership.NAME_TAKEN, ownership.POD_REFUSED)
    )
