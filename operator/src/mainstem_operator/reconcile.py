"""One pipeline's loop: look, decide, write, until it is as it should be; woken by whatever may have changed it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from typing import Any, Final, NamedTuple

from mainstem.names import DOCUMENT_KEY, driver_name, revision_name

from mainstem_operator import apply, driverpod, ownership
from mainstem_operator.ages import Ages, Moment
from mainstem_operator.cluster import CONFIG_MAP, NO_ANSWER, POD, ApiError, Cluster, Object, Refused
from mainstem_operator.judge import Judgement, Revision
from mainstem_operator.metrics import RECONCILE_SECONDS
from mainstem_operator.observe import Observed, Refusal, StepFailure, written_status
from mainstem_operator.past import aged
from mainstem_operator.plan import CHANGING_SECONDS, Plan, plan
from mainstem_operator.podwarnings import PodWarnings
from mainstem_operator.report import Event
from mainstem_operator.retries import FailedStep, failed_step
from mainstem_operator.settings import Settings
from mainstem_operator.validation import Validators


Tell = Callable[[Event], None]
ASK_AGAIN_SECONDS: Final = 60.0
UNKNOWN_SECONDS: Final = 10.0
"""The same after an answer that says nothing of the pod, such as that a webhook does not answer."""
SLOW_SECONDS: Final = 3.0
"""After so long without an answer to a first start the status says so; webhooks may hang for half a minute."""
_STEPS: Final = 5
"""Steps in one look: each write is followed by another decision, and this is more than any chain of them needs."""


class Answer(NamedTuple):
    """What the API server said of a revision's driver: why it refuses it, nothing where it takes it."""

    revision: str
    refusal: Refusal | None
    heard: float
    patience: float = ASK_AGAIN_SECONDS

    @property
    def seconds_left(self) -> float:
        """Until the API server is asked again."""
        return max(0.0, self.heard + self.patience - time.monotonic())

    def holds_for(self, revision: str) -> bool:
        """True while there is no reason to ask again: a quota may be raised, a policy lifted, a name given up."""
        return self.revision == revision and (not self.refusal or self.seconds_left > 0)


@dataclass
class Pipeline:
    """What the operator remembers of one pipeline; all of it can be read anew.

    Attributes:
        body: the newest that was seen of the resource.
        pod: the newest that was seen of its driver's pod.
        gone: a pod's last words.
        buried: the uid of the last pod that is known to be gone.
        heard: when the pod was last read from the server itself, or heard of; None where it has to be read.
        judged: the judgement, and the generation it is of.
        current: what ran last, where the document is refused.
        refused: what the API server said of a revision's driver, and when.
        failed_step: the last start or stop, where the API server did not carry it out.
        ages: since when its facts are as they are, by the operator's own clock.
        created: when the resource was made, where the operator was there; by its own clock.
        made: names of the objects that tries of the start under way have made so far.
        warnings: what the events of pods that do not start say.
    """

    body: Object | None = None
    pod: Object | None = None
    gone: Object | None = None
    buried: str = ""
    heard: float | None = None
    judged: tuple[int, Judgement] | None = None
    current: Revision | None = None
    refused: Answer | None = None
    failed_step: FailedStep | None = None
    made: set[str] = field(default_factory=set)
    ages: Ages = field(default_factory=Ages)
    created: datetime | None = None
    warnings: PodWarnings = field(default_factory=PodWarnings)

    @property
    def pod_uid(self) -> str:
        """The uid of the driver's pod, empty where there is none."""
        return str(self.pod["metadata"]["uid"]) if self.pod else ""

    @property
    def failure(self) -> StepFailure | None:
        """The failed step, as the next decision needs it."""
        failed = self.failed_step
        if failed is None or failed.pod_uid != self.pod_uid:
            return None
        return StepFailure(failed.message, failed.seconds_left(time.monotonic()))

    @property
    def new(self) -> bool:
        """True where nothing was ever told of it, so that a start is most likely what is due."""
        return self.body is not None and not written_status(self.body)

    def saw(self, body: Mapping[str, Any]) -> None:
        """Take the resource as an event or an answer has it, unless a newer one is known."""
        if self.body is None or _version(body) >= _version(self.body):
            self.body = _lean(body)

    def saw_pod(self, pod: Mapping[str, Any], *, deleted: bool = False) -> None:
        """The same for the driver's pod."""
        if self.pod is not None and _version(pod) < _version(self.pod):
            return
        uid = pod["metadata"]["uid"]
        if uid == self.buried and not deleted:
            return  # an answer that the news of its end has overtaken
        if self.heard is not None:
            self.heard = time.monotonic()
        if deleted:
            self.gone, self.buried = _lean(pod), uid
        if not deleted:
            self.pod = _lean(pod)
        elif self.pod is None or self.pod["metadata"]["uid"] == pod["metadata"]["uid"]:
            self.pod = None

    def read(self, pod: Object | None) -> None:
        """Take the pod as the server has it now."""
        self.pod, self.heard = pod, time.monotonic()

    def stale(self, resync_seconds: float) -> bool:
        """True where the pod has to be read: no driver is judged lost by a cache, nor alive by one that is old.

        A watch that was broken off does not tell of what went meanwhile.
        """
        if self.pod is None or self.heard is None:
            return True
        patience = min(CHANGING_SECONDS, resync_seconds) if driverpod.changing(self.pod) else resync_seconds
        return time.monotonic() - self.heard >= patience


class Reconciler:
    """Carries pipelines to where their documents want them."""

    def __init__(self, cluster: Cluster, settings: Settings, validators: Validators) -> None:
        self._cluster = cluster
        self._settings = settings
        self._validators = validators

    async def turn(self, of: Pipeline, tell: Tell) -> Plan:
        """Look and act until nothing is left to write; the last plan says when to look again.

        Raises:
            Exception: the API server's errors; whoever calls waits and comes again.
        """
        started = time.perf_counter()
        for _ in range(_STEPS):
            seen = await self._observed(of)
            found = plan(seen)
            changed = await self._carried_out(of, found, tell)
            waits_for_others = found.start and not found.status and of.failed_step is None
            if not changed or found.finished or waits_for_others:
                break  # what there is to tell of a first start waits for the others' starts
        RECONCILE_SECONDS.observe(time.perf_counter() - started)
        if seen.refused and of.refused is not None and found.requeue is not None:
            found = replace(found, requeue=min(found.requeue, of.refused.seconds_left))
        if found.requeue is not None:
            found = replace(found, requeue=of.warnings.seconds_left(found.requeue))
        return found

    async def _observed(self, of: Pipeline) -> Observed:
        assert of.body is not None
        body = of.body
        judgement = await self._judgement(of, body)
        if of.stale(self._settings.resync_seconds) and not (of.new and _starts_at_once(body, judgement)):
            await self._met(of, body)
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
        name = written_status(body).get("revision") or (driverpod.revision(of.pod) if of.pod else "")
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
        runs = of.pod is not None and not driverpod.over(of.pod)
        if not again and (not runs or (of.pod and driverpod.revision(of.pod) == revision.name)):
            return None
        refusal, patience = _in_the_way(body, await self._read(body)), ASK_AGAIN_SECONDS
        try:
            if refusal is None:
                await apply.probe(self._cluster, body, revision, self._settings)
        except Refused as refused:
            refusal = ownership.refusal(refused)
        except (ApiError, ownership.NotYet, TimeoutError) as error:
            message = f"whether the API server takes the pod is not known: {error}"
            refusal, patience = Refusal(ownership.POD_REFUSED, message), UNKNOWN_SECONDS
        of.refused = Answer(revision.name, refusal, time.monotonic(), patience)
        return refusal

    async def _carried_out(self, of: Pipeline, found: Plan, tell: Tell) -> bool:
        """Do what the plan says; True where something was written, so that another look is due."""
        written = await self._write_status(of, found, tell)
        if found.stop and of.pod is not None:
            await self._attempted(of, self._stopped(of, of.pod))
            return True
        if found.start is not None:
            async with self._reported_when_slow(of, tell):
                await self._attempted(of, self._started(of, found))
            return True
        return written

    async def _attempted(self, of: Pipeline, step: Coroutine[Any, Any, None]) -> None:
        """Carry a step out; where the API server does not, remember why, and when it is tried again."""
        try:
            await step
        except (ApiError, ownership.NotYet, *NO_ANSWER) as error:
            of.failed_step = failed_step(of.failed_step, of.pod_uid, error, time.monotonic())
        else:
            of.failed_step = None
            of.made.clear()

    @contextlib.asynccontextmanager
    async def _reported_when_slow(self, of: Pipeline, tell: Tell) -> AsyncIterator[None]:
        """The status reports a first start to which the API server does not answer: a webhook may hang for minutes."""
        if not of.new:
            yield
            return
        report = asyncio.ensure_future(self._report_slow_start(of, tell))
        try:
            yield
        finally:
            report.cancel()
            await asyncio.wait([report])

    async def _report_slow_start(self, of: Pipeline, tell: Tell) -> None:
        await asyncio.sleep(SLOW_SECONDS)
        message = f"the API server has not answered for {SLOW_SECONDS:g} seconds"
        failure = StepFailure(message, retry_in=inf, is_pending=True)
        await self._write_status(of, plan(replace(await self._observed(of), failure=failure)), tell)

    async def _write_status(self, of: Pipeline, found: Plan, tell: Tell) -> bool:
        assert of.body is not None
        written = await apply.write_status(self._cluster, of.body, found)
        if written is None:
            return False
        of.saw(written)
        for event in found.events:
            tell(event)
        return True

    async def _stopped(self, of: Pipeline, pod: Object) -> None:
        if driverpod.over(pod):
            of.gone = pod
        left = await apply.stop(self._cluster, pod)
        if left is None:
            of.pod, of.buried = None, pod["metadata"]["uid"]
        else:
            of.saw_pod(left)

    async def _started(self, of: Pipeline, found: Plan) -> None:
        assert of.body is not None
        assert found.start is not None
        revision = found.start.revision
        try:
            pod = await apply.start(self._cluster, of.body, found.start, self._settings, of.made)
        except Refused as refused:
            of.made.clear()  # what was made may be what is missing
            refusal = ownership.refusal(refused)
            of.refused = Answer(revision.name, refusal, time.monotonic())
            return
        if pod is None:
            # One of its name is there: this driver, made before the operator was killed, or a stranger.
            of.refused = Answer(revision.name, await self._met(of, of.body), time.monotonic())
            if of.pod is None and of.refused.refusal is None:
                raise ownership.NotYet("the pod of the driver before is just going")
            return
        of.saw_pod(pod)
        if found.start.attempt > apply.KEPT_REVISIONS:
            await apply.prune(self._cluster, of.body, revision, self._settings)

    async def _met(self, of: Pipeline, body: Mapping[str, Any]) -> Refusal | None:
        """Take the pod of the driver's name as the driver, where it is; else the refusal."""
        pod = await self._read(body)
        refusal = _in_the_way(body, pod)
        of.read(None if refusal else pod)
        return refusal

    async def _read(self, body: Mapping[str, Any]) -> Object | None:
        of = body["metadata"]
        return await self._cluster.get(POD, of["namespace"], driver_name(of["name"]))


def _in_the_way(body: Mapping[str, Any], pod: Object | None) -> Refusal | None:
    """The refusal where a pod of the driver's name is not the driver; None where it is, or where there is none."""
    if pod is None or ownership.owned(pod, body):
        return None
    return ownership.refusal(ownership.NameTaken(POD.kind, pod["metadata"]["name"]))


def _starts_at_once(body: Mapping[str, Any], judgement: Judgement) -> bool:
    """True where a new pipeline gets its driver now: whether there is a pod, the making of one tells."""
    suspended, deleted = body["spec"].get("suspend"), body["metadata"].get("deletionTimestamp")
    return judgement.revision is not None and not suspended and not deleted


def _said_before(body: Mapping[str, Any]) -> bool:
    """True where the status has it that the driver was refused: an operator that starts asks, and announces no start."""
    status = written_status(body)
    return status.get("observedGeneration") == body["metadata"]["generation"] and any(
        condition["type"] == "SpecValid"
        and condition["reason"] in (ownership.NAME_TAKEN, ownership.POD_REFUSED)
        for condition in status.get("conditions", ())
    )


def _lean(thing: Mapping[str, Any]) -> Object:
    """Without the list of who wrote what, which is the larger half."""
    about = {key: value for key, value in thing["metadata"].items() if key != "managedFields"}
    return {**thing, "metadata": about}


def _version(thing: Mapping[str, Any]) -> int:
    return int(thing["metadata"]["resourceVersion"])
