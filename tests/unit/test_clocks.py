"""Clocks of other machines are wrong by an hour or a day: no wait of the operator depends on it."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.driver_deletion import CLEANUP_SECONDS
from mainstem_operator.decisions.observed_ages import with_ages
from mainstem_operator.decisions.plan import plan
from mainstem_operator.manifests.pods import deletion_seconds
from mainstem_operator.observed.ages import Ages, Moment
from mainstem_operator.observed.conditions import timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.validation.documents import validate
from unit.operator_steps import (
    BOUNDED,
    NOW,
    SETTINGS,
    at,
    body,
    condition,
    ended,
    reported,
    revision,
    running,
    status,
)


HOUR, DAY = 3600.0, 86400.0
SKEWS = pytest.mark.parametrize("skew", [-DAY, -HOUR, 0.0, HOUR, DAY])
"""Seconds by which the other machine's clock is ahead."""
DAILY = {**BOUNDED, "schedule": {"cron": "30 12 * * *"}}
CRON = {**BOUNDED, "schedule": {"cron": "*/10 * * * *"}}


class Watcher:
    """An operator that looks at one pipeline now and then; its own wall clock may jump, the monotonic one never."""

    def __init__(self) -> None:
        self.ages = Ages()

    def look(
        self, seconds: float, pipeline: dict[str, Any], pod: Any = None, jump: float = 0.0, **more: Any
    ) -> Plan:
        now = Moment(at(seconds + jump), 1000.0 + seconds)
        observed = Observation(
            body=pipeline, pod=pod, validation=validate(pipeline), now=now.wall, settings=SETTINGS, **more
        )
        return plan(with_ages(observed, self.ages, now))


def after(plan: Plan, pipeline: dict[str, Any]) -> dict[str, Any]:
    return {**pipeline, "status": {**pipeline.get("status", {}), **plan.status, **(plan.driver_part or {})}}


# -- the kubelet's clock


@SKEWS
@pytest.mark.parametrize("jump", [0.0, HOUR, -HOUR], ids=["steady", "jumps ahead", "jumps back"])
def test_backoff_after_a_driver_that_this_operator_observed_running(skew: float, jump: float) -> None:
    pipeline, operator = body(status=status("Running", body())), Watcher()
    operator.look(-60, pipeline, running(pipeline))
    dead = ended(pipeline, 4, "failed", "SinkRefused", started=-60 + skew, finished=skew)
    plan = operator.look(0, pipeline, dead)
    assert (plan.status["phase"], plan.requeue) == ("BackingOff", 5.0)
    assert plan.status["lastTermination"]["finishedAt"] == timestamp(NOW)
    assert condition(plan, "Ready")[2].endswith(f"the next start is at {timestamp(at(5))}")
    pipeline = after(plan, pipeline)
    later = operator.look(4, pipeline, dead, jump)
    assert (later.requeue, later.start, later.stop) == (1.0, None, False)
    assert condition(later, "Ready")[2] == condition(plan, "Ready")[2]
    assert operator.look(5, pipeline, dead, jump).stop


@SKEWS
def test_backoff_after_a_driver_that_this_operator_observed_only_at_its_end(skew: float) -> None:
    """It uses the node's time, but never waits longer than the backoff from now."""
    pipeline, operator = body(status=status("Running", body())), Watcher()
    dead = ended(pipeline, 4, "failed", "SinkRefused", started=-60 + skew, finished=skew - 2)
    plan = operator.look(0, pipeline, dead)
    waits = 5.0 if skew > 0 else 3.0 if skew == 0 else 0.0
    assert (0.0 if plan.stop else plan.requeue) == waits
    assert operator.look(5, after(plan, pipeline), dead).stop


@SKEWS
def test_an_operator_on_another_node_waits_no_longer_than_the_backoff(skew: float) -> None:
    """The previous operator wrote the time of the end by its own clock."""
    last = {
        "attempt": 1,
        "reason": "SinkRefused",
        "message": "because",
        "exitCode": 4,
        "finishedAt": timestamp(at(skew)),
    }
    pipeline = body(status=status("BackingOff", body(), lastTermination=last, restarts=1))
    operator = Watcher()
    plan = operator.look(0, pipeline)
    assert plan.start if skew < 0 else plan.requeue == 5.0
    assert operator.look(5, after(plan, pipeline)).start


@SKEWS
@pytest.mark.parametrize(("ran", "failures"), [(60, 4), (3600, 1)])
def test_the_run_time_of_a_driver_is_measured_by_the_clock_of_its_node(
    skew: float, ran: float, failures: int
) -> None:
    """`resetAfter`: beginning and end are of one clock."""
    pipeline, operator = body(status=status("Running", body(), restarts=3)), Watcher()
    operator.look(-60, pipeline, running(pipeline))
    dead = ended(pipeline, 4, "failed", "SinkRefused", started=skew - ran, finished=skew)
    assert operator.look(0, pipeline, dead).status["restarts"] == failures


# -- the driver's clock


@SKEWS
def test_a_driver_is_not_reporting_three_minutes_after_its_last_report(skew: float) -> None:
    pipeline = body(status=status("Running", body()) | reported("Running", "Running", seconds=skew))
    operator = Watcher()
    assert condition(operator.look(0, pipeline, running(pipeline)), "Degraded")[0] == "False"
    assert condition(operator.look(180, pipeline, running(pipeline)), "Degraded")[0] == "False"
    silent = operator.look(181, pipeline, running(pipeline))
    assert condition(silent, "Degraded")[1] == "DriverNotReporting"
    pipeline = after(silent, pipeline)
    assert (
        condition(Watcher().look(200, pipeline, running(pipeline)), "Degraded")[1] == "DriverNotReporting"
    ), "an operator that is new takes nothing back"
    pipeline["status"] = pipeline["status"] | reported("Running", "Running", seconds=200 + skew)
    assert condition(operator.look(201, pipeline, running(pipeline)), "Degraded")[0] == "False"


@SKEWS
@pytest.mark.parametrize(("since", "stalled"), [(590.0, "False"), (610.0, "True")])
def test_a_batch_stalls_by_the_clock_of_the_driver(skew: float, since: float, stalled: str) -> None:
    progress = timestamp(at(skew - since + 20))
    pipeline = body(
        status=status("Running", body()) | reported("Running", seconds=skew, lastProgressTime=progress)
    )
    operator = Watcher()
    operator.look(0, pipeline, running(pipeline))
    assert condition(operator.look(20, pipeline, running(pipeline)), "DataStalled")[0] == stalled


# -- the API server's clock


@SKEWS
def test_a_deletion_waits_for_the_grace_period_of_the_driver(skew: float) -> None:
    pipeline, operator = body(status=status("Running", body()), deleted=True), Watcher()
    pipeline["metadata"]["deletionTimestamp"] = timestamp(at(skew))
    deadline = deletion_seconds(revision(pipeline)) + CLEANUP_SECONDS
    plan = operator.look(0, pipeline, running(pipeline))
    assert (plan.stop, plan.finished) == (True, False), "also one that was deleted while nobody looked"
    going = running(pipeline, leaving=True)
    assert not operator.look(deadline - 1, pipeline, going).finished
    assert operator.look(deadline, pipeline, going).finished


@SKEWS
@pytest.mark.parametrize("created", [NOW, None], ids=["it was there", "it finds it"])
def test_the_first_run_is_at_the_first_slot(skew: float, created: datetime | None) -> None:
    pipeline, operator = body(CRON), Watcher()
    pipeline["metadata"]["creationTimestamp"] = timestamp(at(skew))
    plan = operator.look(0, pipeline, created=created)
    if skew < 0 and created is None:
        assert plan.start, "created an hour ago by the API server's clock: the missed run starts"
        return
    assert (plan.status["phase"], plan.start) == ("Scheduled", None)
    assert plan.status["schedule"] == {"nextTime": timestamp(NOW + timedelta(minutes=10))}
    pipeline = after(plan, pipeline)
    assert not operator.look(599, pipeline, created=created).start
    assert operator.look(600, pipeline, created=created).start
    assert Watcher().look(600, pipeline).start, "an operator that is new"


# -- the clock of the operator before


@pytest.mark.parametrize(
    ("last", "due"),
    [
        (
            -DAY,
            1800.0,
        ),  # yesterday at 12:00: the run of 12:30 yesterday starts now, by the rule for missed slots
        (-1800 - 82800, 1800.0),
        (1800.0, 1800 + DAY),  # the next slot: it has run, a moment before the clock went back
        (1800 + DAY, 1800.0),  # tomorrow's
        (1800 + 30 * DAY, 1800.0),
    ],
)
def test_a_last_run_in_the_future_was_recorded_by_a_wrong_clock(last: float, due: float) -> None:
    done = {"attempt": 1, "outcome": "completed", "reason": "Completed", "finishedAt": timestamp(NOW)}
    schedule = {"lastTime": timestamp(at(last)), "nextTime": timestamp(at(last + DAY))}
    pipeline, operator = (
        body(DAILY, status=status("Scheduled", body(DAILY), lastTermination=done, schedule=schedule)),
        Watcher(),
    )
    plan = operator.look(0, pipeline)
    if last == -DAY:
        assert plan.start
        return
    assert plan.start is None
    pipeline = after(plan, pipeline)
    assert operator.look(due - 1, pipeline).start is None
    assert operator.look(due, pipeline).start
