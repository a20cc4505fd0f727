"""A document with which a running query could not continue from its checkpoint: the driver continues with the earlier one."""

from typing import Any

import pytest
from mainstem.changes.consequences import RefusedQuery
from mainstem_operator.decisions import checkpoints
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.observed.conditions import timestamp
from mainstem_operator.validation.documents import DocumentChange, change
from unit.operator_steps import (
    NOW,
    SPEC,
    at,
    body,
    condition,
    ended,
    next_step,
    observation,
    pod,
    reported,
    revision,
    running,
    status,
)


REFUSED = (RefusedQuery("a", "the query 'a' cannot continue from its checkpoint: spec.views[v].sql: m"),)
OLD = body(status=status("Running", body()) | reported("Running", "Idle"))
NEW = body(SPEC, OLD["status"], generation=2, timeZone="Europe/Zurich")
FALSE = {
    "type": "CheckpointCompatible",
    "status": "False",
    "reason": "CheckpointIncompatible",
    "message": "m",
    "lastTransitionTime": timestamp(NOW),
    "observedGeneration": 2,
}
KEPT = NEW | {"status": NEW["status"] | {"conditions": [FALSE]}}


def refused(pipeline: dict[str, Any], its_pod: dict[str, Any] | None = None, **more: Any) -> Plan:
    return next_step(pipeline, its_pod, current=revision(OLD), refused_changes=REFUSED, **more)


def after(plan: Plan, pipeline: dict[str, Any]) -> dict[str, Any]:
    return pipeline | {"status": {**pipeline["status"], **plan.status, **(plan.driver_part or {})}}


def test_a_refused_change_leaves_the_running_driver_alone() -> None:
    plan = refused(NEW, running(OLD))
    assert (plan.status["phase"], plan.stop, plan.start) == ("Running", False, None)
    state, reason, message = condition(plan, "CheckpointCompatible")
    assert (state, reason) == ("False", "CheckpointIncompatible")
    assert message.startswith("the query 'a' cannot continue from its checkpoint: spec.views[v].sql: m; ")
    assert "undo the change" in message
    assert condition(plan, "Ready") == condition(plan, "CheckpointCompatible")
    assert condition(plan, "Stalled")[:2] == ("True", "CheckpointIncompatible")
    assert condition(plan, "SpecValid")[:2] == ("True", "Accepted")
    assert [condition(plan, each)[0] for each in ("DriverRunning", "QueriesActive")] == ["True", "True"]
    assert (plan.status["revision"], plan.status["observedGeneration"]) == (revision(OLD).name, 2)
    assert plan.status["reason"] == "CheckpointIncompatible"


def test_a_refused_change_is_one_event_and_its_undoing_clears_it() -> None:
    plan = refused(NEW, running(OLD))
    assert [(event.type, event.reason) for event in plan.events] == [("Warning", "CheckpointIncompatible")]
    again = refused(after(plan, NEW), running(OLD))
    assert (again.status, again.events) == (plan.status, ())
    undone = next_step(after(plan, NEW) | {"spec": OLD["spec"]}, running(OLD))
    assert condition(undone, "CheckpointCompatible")[0] == "-"
    assert condition(undone, "Ready")[:2] == ("True", "Running")
    assert not undone.stop


def test_a_change_that_is_not_refused_stops_the_driver() -> None:
    plan = next_step(NEW, running(OLD), current=revision(OLD))
    assert (plan.status["phase"], plan.stop) == ("Draining", True)


def test_the_earlier_document_restarts_while_its_change_is_refused() -> None:
    dead = ended(OLD, 4, "failed", "SinkRefused")
    waits = refused(NEW, dead)
    assert (waits.status["phase"], condition(waits, "CheckpointCompatible")[0]) == ("BackingOff", "False")
    starts = refused(after(waits, NEW), gone=dead, now=at(5))
    assert starts.start is not None
    assert (starts.start.revision.name, starts.start.attempt) == (revision(OLD).name, 2)


def test_a_long_message_keeps_the_ways_out() -> None:
    plan = next_step(
        NEW, running(OLD), current=revision(OLD), refused_changes=(RefusedQuery("a", "x" * 9000),)
    )
    assert condition(plan, "CheckpointCompatible")[2].endswith("checkpoint.onChange: keep")


@pytest.mark.parametrize(
    ("pipeline", "its_pod", "protected"),
    [
        (NEW, running(OLD), True),
        (NEW, running(OLD, attempt=2), False),
        (body(SPEC, status("Starting", OLD), generation=2), pod(OLD), False),
        (NEW, ended(OLD, 4), False),
        (NEW, None, False),
        (KEPT, None, True),
        (KEPT, ended(OLD, 4), True),
        (KEPT, running(OLD, attempt=2), True),
        (body(SPEC, KEPT["status"], generation=3), None, False),
        (body(SPEC, KEPT["status"], generation=2, suspend=True), running(OLD), False),
        (body(SPEC, KEPT["status"], generation=2, deleted=True), running(OLD), False),
    ],
    ids=[
        "a driver that has reported",
        "a driver that has not reported",
        "a pod that waits",
        "a driver that has ended",
        "no driver",
        "refused before, no driver",
        "refused before, the driver has ended",
        "refused before, the next driver has not reported",
        "another change after a refused one, no driver",
        "suspended",
        "deleted",
    ],
)
def test_only_a_driver_that_runs_or_is_kept_is_protected(
    pipeline: dict[str, Any], its_pod: dict[str, Any] | None, protected: bool
) -> None:
    is_protected = checkpoints.has_driver(pipeline, its_pod) and checkpoints.guarded(
        observation(pipeline, its_pod)
    )
    assert is_protected is protected


@pytest.mark.parametrize(
    ("state", "counts"),
    [
        ("Running", True),
        ("Idle", True),
        ("Starting", True),
        ("Restarting", True),
        ("Stopped", True),
        ("Drained", True),
        ("Interrupted", True),
        ("Failed", False),
        ("Waiting", False),
        ("Suspended", False),
        ("Completed", False),
    ],
)
def test_only_a_query_that_runs_protects_its_driver(state: str, counts: bool) -> None:
    observed = observation(body(status=status("Running", body()) | reported(state, "Running")))
    assert checkpoints.in_use(observed, DocumentChange(REFUSED)) == (REFUSED if counts else ())


def test_a_query_that_the_driver_does_not_report_does_not_count() -> None:
    observed = observation(body(status=status("Running", body()) | reported("Running")))
    assert checkpoints.in_use(observed, DocumentChange((RefusedQuery("new", "m"),))) == ()


@pytest.mark.parametrize(("on_change", "names"), [("refuse", ["a"]), ("keep", []), ("newGeneration", [])])
def test_documents_are_compared_by_their_texts(on_change: str, names: list[str]) -> None:
    def text(length: str, **checkpoint: str) -> str:
        sql = f"SELECT window(timestamp, '{length}') AS w, count(*) AS n FROM ticks GROUP BY window(timestamp, '{length}')"
        spec = {
            **SPEC,
            "views": [{"name": "v", "sql": sql}],
            "queries": [
                {**SPEC["queries"][0], "from": "v", "outputMode": "complete", "checkpoint": checkpoint},
                SPEC["queries"][1],
            ],
        }
        return revision(body(spec)).text

    compared = change(text("1 minute"), text("5 minutes", onChange=on_change))
    assert [each.query for each in compared.refused] == names
    assert compared.driver == (
        ("the empty checkpoint of the query a",) if on_change == "newGeneration" else ()
    )
    assert change(text("1 minute"), text("1 minute")) == DocumentChange()
