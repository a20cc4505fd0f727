"""The admission queue of first starts, by a clock that advances only while all wait."""

import asyncio
from typing import Any, cast

import aiohttp
import kopf
import pytest
import structlog
from mainstem_operator import handlers
from mainstem_operator.api.fence import Fence
from mainstem_operator.api.kubernetes_api import ApiError, ApiRejection
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.handlers import Operator
from mainstem_operator.loop.admission import CROWD as MANY
from mainstem_operator.loop.admission import PACE_SECONDS, AdmissionQueue
from mainstem_operator.loop.pipeline_cache import PipelineCache
from structlog.testing import LogCapture, ReturnLogger
from unit.operator_steps import SETTINGS, body
from unit.virtual_time import run


CROWD, LONGEST, PACE = 3, 30.0, 0.5


class Starts:
    """First starts through one queue: when each driver was created, and when each pipeline left the queue."""

    def __init__(self) -> None:
        self.queue = AdmissionQueue(CROWD, LONGEST, PACE)
        self.created: dict[str, float] = {}
        self.left: dict[str, float] = {}
        self.crowded: dict[str, bool] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def add(self, name: str, seconds: float, *, at: float = 0.0, namespace: str = "a") -> asyncio.Task[None]:
        task = asyncio.ensure_future(self._start(name, seconds, at, namespace))
        self._tasks.append(task)
        return task

    async def _start(self, name: str, seconds: float, at: float, namespace: str) -> None:
        clock = asyncio.get_running_loop()
        await asyncio.sleep(at)
        async with self.queue.first_start(namespace):
            self.crowded[name] = self.queue.is_crowded
            await asyncio.sleep(seconds)
            self.created[name] = clock.time()
        self.left[name] = clock.time()

    async def done(self) -> list[Any]:
        """What each start raised; nothing is left of them in the queue."""
        raised = await asyncio.gather(*self._tasks, return_exceptions=True)
        assert self.queue._namespaces == {}
        return raised


def test_a_single_pipeline_leaves_after_its_start_and_the_pause() -> None:
    async def work() -> None:
        starts = Starts()
        starts.add("first", 1.0)
        await starts.done()
        assert (starts.created, starts.left) == ({"first": 1.0}, {"first": 1.0 + PACE})

    run(work())


def test_a_pipeline_waits_until_all_others_of_its_namespace_have_a_driver() -> None:
    async def work() -> None:
        starts = Starts()
        starts.add("quick", 1.0)
        starts.add("later", 3.0, at=0.5)
        await starts.done()
        assert starts.created == {"quick": 1.0, "later": 3.5}
        assert starts.left == {"quick": 3.5 + PACE, "later": 3.5 + 2 * PACE}

    run(work())


def test_a_start_of_another_namespace_delays_no_pipeline() -> None:
    async def work() -> None:
        starts = Starts()
        starts.add("slow", 25.0, namespace="a")
        starts.add("quick", 1.0, namespace="b")
        await starts.done()
        assert starts.left["quick"] == 1.0 + PACE

    run(work())


def test_a_pipeline_waits_for_a_hanging_start_no_longer_than_the_limit() -> None:
    async def work() -> None:
        starts = Starts()
        starts.add("hangs", 80.0)
        starts.add("quick", 1.0)
        await starts.done()
        assert starts.left == {"quick": 1.0 + LONGEST + PACE, "hangs": 80.0 + PACE}

    run(work())


def test_pipelines_leave_one_after_the_other_in_the_order_of_their_arrival() -> None:
    async def work() -> None:
        starts = Starts()
        for index, name in enumerate("abcd"):
            starts.add(name, 1.0 + index / 100, namespace=name)
        await starts.done()
        assert list(starts.left) == list("abcd")
        assert [left - 1.0 for left in starts.left.values()] == pytest.approx(
            [PACE * n for n in (1, 2, 3, 4)]
        )

    run(work())


def test_the_queue_is_crowded_above_its_limit_over_all_namespaces() -> None:
    async def work() -> None:
        starts = Starts()
        for index, name in enumerate("abcd"):
            starts.add(name, 5.0, at=index, namespace=name)
        starts.add("e", 1.0, at=20.0)
        await starts.done()
        assert starts.crowded == {"a": False, "b": False, "c": False, "d": True, "e": False}

    run(work())


def test_a_cancelled_start_holds_no_other_pipeline_up() -> None:
    async def work() -> None:
        starts = Starts()
        cancelled = starts.add("cancelled", 25.0)
        starts.add("quick", 1.0)
        await asyncio.sleep(2.0)
        cancelled.cancel()
        [first, second] = await starts.done()
        assert isinstance(first, asyncio.CancelledError)
        assert second is None
        assert starts.left == {"quick": 2.0 + PACE}

    run(work())


def test_an_error_of_a_start_ends_its_place_in_the_queue_at_once() -> None:
    async def work() -> None:
        queue = AdmissionQueue(CROWD, LONGEST, PACE)
        with pytest.raises(ZeroDivisionError):
            async with queue.first_start("a"):
                raise ZeroDivisionError
        assert asyncio.get_running_loop().time() == 0.0
        assert queue._namespaces == {}

    run(work())


class Reconciles:
    """Stands for the reconciler: records the pipelines that reach it, and whether the finalizer comes first."""

    def __init__(self) -> None:
        self.finalizer_first: list[bool] = []

    async def reconcile(self, cache: PipelineCache, _: Any) -> Plan:
        self.finalizer_first.append(cache.finalizer_first)
        await asyncio.sleep(0.1)
        return Plan({}, requeue=5.0)


def operator_with(reconciles: Reconciles) -> Operator:
    operator = Operator(SETTINGS, Fence())
    operator._reconciler = cast("Any", reconciles)
    return operator


def pipeline(number: int, **more: Any) -> kopf.Body:
    resource = body(**more)
    resource["metadata"] |= {"name": f"ticks-{number}", "uid": f"uid-{number}"}
    return kopf.Body(cast("Any", resource))


async def added(operator: Operator, resource: kopf.Body) -> None:
    event = cast("Any", {"object": {"metadata": dict(resource["metadata"])}})
    await operator.pipeline_seen(uid=str(resource.meta.uid), body=resource, event=event, type="ADDED")


class Fails(Reconciles):
    """Stands for a reconciler that always fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def reconcile(self, cache: PipelineCache, _: Any) -> Plan:
        raise self._error


def test_an_operator_that_ends_reports_no_pipeline_as_failed() -> None:
    async def work() -> None:
        operator, resource, errors = operator_with(Fails(RuntimeError("Session is closed"))), pipeline(1), []
        operator._log_error = lambda *error: errors.append(error)  # type: ignore[method-assign]
        loop = operator._loop_for("uid-1", resource)
        assert await operator._turn(loop, resource, 0) == (None, False)
        await operator.ended()
        assert await operator._turn(loop, resource, 0) == (None, False)
        assert len(errors) == 1

    run(work())


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (ApiError(503, "etcdserver: leader changed"), False),
        (ApiError(409, "the object has been modified", "Conflict"), False),
        (ApiRejection(403, "exceeded quota"), False),
        (ConnectionRefusedError(), False),
        (TimeoutError(), False),
        (aiohttp.ServerDisconnectedError(), False),
        (KeyError("spec"), True),
        (RuntimeError("Session is closed"), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_only_a_fault_of_the_operator_is_logged_with_its_place(
    monkeypatch: pytest.MonkeyPatch, error: Exception, is_fault: bool
) -> None:
    """What mends itself is one line, and only the first of consecutive ones is more than a detail."""
    monkeypatch.setattr(handlers, "_post", lambda *_: None)
    operator, resource, lines = operator_with(Fails(error)), pipeline(1), LogCapture()
    # A logger of its own: what an earlier test configured for the process may leave out details.
    operator._log = structlog.wrap_logger(
        ReturnLogger(), processors=[lines], wrapper_class=structlog.make_filtering_bound_logger(0)
    )

    async def work() -> None:
        loop = operator._loop_for("uid-1", resource)
        for failures in range(3):
            await operator._turn(loop, resource, failures)

    run(work())
    assert [(line["log_level"], line["exc_info"]) for line in lines.entries] == [
        ("error", is_fault),
        ("debug", False),
        ("debug", False),
    ]
    assert all(line["error"] and line["kind"] == type(error).__name__ for line in lines.entries)


def test_a_new_pipeline_enters_the_queue_once() -> None:
    async def work() -> None:
        reconciles, resource, clock = Reconciles(), pipeline(1), asyncio.get_running_loop()
        operator = operator_with(reconciles)
        await added(operator, resource)
        assert clock.time() == pytest.approx(0.1 + PACE_SECONDS)
        loop = operator._loops["uid-1"]
        assert await operator._reconcile(loop, resource, failures=0) == (5.0, False)
        assert clock.time() == pytest.approx(0.2 + PACE_SECONDS)
        assert reconciles.finalizer_first == [True, True]

    run(work())


def test_a_pipeline_with_a_status_or_a_deletion_does_not_enter_the_queue() -> None:
    async def work() -> None:
        reconciles, clock = Reconciles(), asyncio.get_running_loop()
        operator = operator_with(reconciles)
        for resource in (pipeline(1, status={"phase": "Running"}), pipeline(2, deleted=True)):
            loop = operator._loop_for(str(resource.meta.uid), resource)
            await operator._reconcile(loop, resource, failures=0)
            assert not loop.pipeline.is_admitted
        assert clock.time() == pytest.approx(0.2)

    run(work())


def test_the_finalizers_of_a_crowd_are_written_after_the_drivers() -> None:
    async def work() -> None:
        reconciles = Reconciles()
        operator = operator_with(reconciles)
        await asyncio.gather(*(added(operator, pipeline(number)) for number in range(MANY + 5)))
        assert reconciles.finalizer_first == [True] * MANY + [False] * 5

    run(work())
