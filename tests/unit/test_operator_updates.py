"""A changed document goes to the running driver; a new driver replaces it only if that cannot or does not apply the document."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from mainstem.names import UPDATE
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.updates import APPLY_SECONDS
from mainstem_operator.manifests import objects, pods
from mainstem_operator.observed.rejections import StepFailure
from mainstem_operator.settings import Settings
from mainstem_operator.validation.documents import DocumentChange, change
from unit.operator_steps import (
    SETTINGS,
    SPEC,
    at,
    body,
    condition,
    ended,
    next_step,
    pod,
    reported,
    revision,
    running,
    status,
)


OLD = body()
WANTED = {**SPEC, "queries": [{**SPEC["queries"][0], "pool": {"weight": 4}}, SPEC["queries"][1]]}
NEW_NAME, OLD_NAME = revision(body(WANTED)).name, revision(OLD).name


def pipeline(spec: Mapping[str, Any] = WANTED, *, runs: str = OLD_NAME, **report: Any) -> dict[str, Any]:
    """The pipeline with the changed document, after the driver has reported that it runs a revision."""
    part = reported("Running", "Idle")
    part["reported"] |= {"revision": runs, **report}
    return body(spec, status("Running", OLD) | part, generation=2)


def healthy(changed: dict[str, Any]) -> dict[str, Any]:
    """The pipeline, whose old document has been healthy."""
    entry = {
        "revision": OLD_NAME,
        "generation": 1,
        "outcome": "Healthy",
        "startTime": "2026-01-01T00:00:00Z",
        "attempt": 1,
    }
    return {**changed, "status": changed["status"] | {"history": [entry]}}


def without_revision() -> dict[str, Any]:
    """The pipeline, after a driver of an older release has reported."""
    made = pipeline()
    del made["status"]["reported"]["revision"]
    return made


def driver(*, handed: str = "") -> dict[str, Any]:
    """The pod of the driver, which started with the old document."""
    made = running(OLD)
    if handed:
        made["metadata"]["annotations"][UPDATE] = handed
    return made


def step(changed: Mapping[str, Any], its_pod: Mapping[str, Any], **more: Any) -> Plan:
    given = {"current": revision(OLD), "change": DocumentChange(), **more}
    return next_step(changed, its_pod, **given)


def refusal(reason: str, *, retried: bool = False) -> dict[str, Any]:
    return {"revision": NEW_NAME, "reason": reason, "message": "because", "retried": retried}


def test_a_running_driver_gets_the_changed_document_and_continues() -> None:
    plan = step(pipeline(), driver())
    assert plan.update is not None
    assert (plan.update.name, plan.stop, plan.start) == (NEW_NAME, False, None)
    assert (plan.status["phase"], plan.status["revision"]) == ("Running", OLD_NAME)
    assert condition(plan, "DocumentApplied")[:2] == ("False", "Applying")
    assert condition(plan, "Ready")[:2] == ("False", "Applying")
    assert condition(plan, "Reconciling")[:2] == ("True", "Applying")
    assert plan.requeue is not None
    assert plan.requeue <= APPLY_SECONDS + 1


def test_a_driver_that_has_started_and_not_reported_yet_gets_the_document_once_it_has_reported() -> None:
    waits = step(pipeline(attempt=0), driver())
    assert (waits.update, waits.stop) == (None, False)
    assert condition(waits, "Ready")[:2] == ("False", "Applying")
    assert "once a query runs" in condition(waits, "DocumentApplied")[2]
    assert waits.requeue is not None
    assert waits.requeue <= APPLY_SECONDS + 1
    after = pipeline() | {"status": pipeline()["status"] | waits.status}
    assert step(after, driver()).update is not None


def test_a_document_is_handed_over_once() -> None:
    plan = step(pipeline(), driver(handed=NEW_NAME))
    assert (plan.update, plan.stop) == (None, False)
    _, reason, message = condition(plan, "DocumentApplied")
    assert reason == "Applying"
    assert f"the driver checks revision {NEW_NAME}" in message
    assert f"until then it runs revision {OLD_NAME}. Without an answer within 60 seconds" in message


def test_once_the_driver_runs_the_document_the_pipeline_is_ready() -> None:
    before = pipeline() | {"status": pipeline()["status"] | step(pipeline(), driver()).status}
    after = {
        **before,
        "status": before["status"] | {"reported": before["status"]["reported"] | {"revision": NEW_NAME}},
    }
    plan = next_step(after, driver(handed=NEW_NAME))
    assert (plan.update, plan.stop, plan.status["revision"]) == (None, False, NEW_NAME)
    assert condition(plan, "DocumentApplied") == ("-", "-", "-")
    assert condition(plan, "Ready")[0] == "True"
    assert [(event.type, event.reason) for event in plan.events] == [("Normal", "DocumentApplied")]


def test_an_undone_change_is_handed_over_too() -> None:
    """The driver may take the change over at any moment, although it has not reported that yet."""
    undone = pipeline(SPEC)
    plan = next_step(undone, driver(handed=NEW_NAME))
    assert plan.update is not None
    assert plan.update.name == OLD_NAME


@pytest.mark.parametrize(
    ("changed", "its_pod", "more", "why"),
    [
        (
            pipeline(),
            driver(),
            {"change": DocumentChange(driver=("spec.image",))},
            "only a new driver can apply spec.image",
        ),
        (pipeline(), driver(), {"change": None}, "the running document is not known"),
        (pipeline(refused=refusal("NewDriverNeeded")), driver(handed=NEW_NAME), {}, "because"),
        (without_revision(), driver(), {}, "cannot apply a document"),
        (
            pipeline(),
            driver(handed=NEW_NAME),
            {"update_age": APPLY_SECONDS + 1},
            "applied the document within 60",
        ),
        (pipeline(attempt=0), driver(), {"update_age": APPLY_SECONDS + 1}, "reported within 60 seconds"),
        (pipeline(attempt=0), pod(OLD), {"current": None, "change": None}, "cannot apply a document"),
        (
            pipeline(attempt=0),
            driver(),
            {"change": DocumentChange(driver=("spec.image",))},
            "only a new driver can apply spec.image",
        ),
    ],
    ids=[
        "needs-driver",
        "unknown",
        "driver-refuses",
        "older-driver",
        "slow-and-never-healthy",
        "never-reports",
        "never-ran-and-is-unknown",
        "not-reported-and-needs-driver",
    ],
)
def test_a_new_driver_replaces_one_that_cannot_or_does_not_apply_the_document(
    changed: dict[str, Any],
    its_pod: dict[str, Any],
    more: dict[str, Any],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if age := more.pop("update_age", None):
        aged(monkeypatch, age)
    plan = step(changed, its_pod, **more)
    assert (plan.stop, plan.update) == (True, None)
    state, reason, message = condition(plan, "DriverRunning")
    assert (state, reason) == ("False", "Updating")
    assert why in message


def aged(monkeypatch: pytest.MonkeyPatch, age: float) -> None:
    monkeypatch.setattr(
        "unit.operator_steps.with_ages", lambda observed, *_: replace(observed, update_age=age)
    )


def test_a_driver_of_a_healthy_document_that_does_not_answer_keeps_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No other driver has checked the changed document; `lastTransitionTime` shows since when it waits."""
    aged(monkeypatch, APPLY_SECONDS + 1)
    working = healthy(pipeline())
    plan = step(working, driver(handed=NEW_NAME))
    assert (plan.stop, plan.start, plan.update) == (False, None, None)
    state, reason, message = condition(plan, "DocumentApplied")
    assert (state, reason) == ("False", "NotAnswered")
    assert message == (
        f"the driver has neither applied nor refused revision {NEW_NAME}; it continues with revision {OLD_NAME}"
    )
    assert condition(plan, "Ready")[:2] == ("False", "NotAnswered")
    assert [(event.type, event.reason) for event in plan.events] == [("Warning", "NotAnswered")]
    later = {**working, "status": working["status"] | plan.status}
    for age in (10**6, 0):  # the operator may have started again
        aged(monkeypatch, age)
        again = step(later, driver(handed=NEW_NAME))
        assert (again.stop, condition(again, "DocumentApplied")[1], again.events) == (
            False,
            "NotAnswered",
            (),
        )


def test_a_document_that_could_not_be_handed_over_shows_why(monkeypatch: pytest.MonkeyPatch) -> None:
    aged(monkeypatch, APPLY_SECONDS + 1)
    failure = StepFailure("configmaps is forbidden", retry_in=5)
    plan = step(healthy(pipeline()), driver(), failure=failure)
    assert condition(plan, "DocumentApplied")[1] == "Applying"
    assert "configmaps is forbidden" in condition(plan, "DocumentApplied")[2]


@pytest.mark.parametrize(
    "changed", [pipeline(attempt=0), healthy(pipeline(attempt=0))], ids=["never-healthy", "healthy"]
)
def test_a_start_goes_on_and_takes_the_change_afterwards(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise repeated edits could keep a pipeline down."""
    aged(monkeypatch, APPLY_SECONDS + 1)
    starts = step(changed, pod(OLD))
    assert (starts.stop, starts.start, starts.update) == (False, None, None)
    assert condition(starts, "DocumentApplied")[:2] == ("False", "Applying")
    assert condition(starts, "Ready")[1] == condition(starts, "DriverRunning")[1], (
        "why it does not run comes first"
    )


def test_a_driver_that_has_not_run_is_replaced_if_the_change_needs_fewer_secrets() -> None:
    current = replace(revision(OLD), required=frozenset({"lake"}))
    for changed in (pipeline(attempt=0), healthy(pipeline(attempt=0))):
        assert step(changed, pod(OLD), current=current).stop
        assert not step(changed, pod(OLD)).stop


def test_a_driver_that_has_not_run_is_replaced_if_the_settings_of_the_operator_change_also_while_a_change_waits() -> (
    None
):
    waiting = healthy(pipeline(attempt=0))
    other = Settings(driver_image="registry.example/mainstem:2")
    assert step(waiting, pod(OLD), settings=other).stop
    assert not step(waiting, pod(OLD)).stop


def test_a_driver_of_a_healthy_document_that_does_not_report_keeps_running(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    aged(monkeypatch, 10**6)
    retried = refusal("TopicNotFound", retried=True)  # by the driver before
    waits = step(healthy(pipeline(attempt=0, refused=retried)), driver())
    assert (waits.stop, waits.start, waits.update) == (False, None, None)
    assert condition(waits, "DocumentApplied")[:2] == ("False", "NotAnswered")


def test_a_document_that_spark_refuses_stops_nothing() -> None:
    plan = step(pipeline(refused=refusal("UNRESOLVED_COLUMN")), driver(handed=NEW_NAME))
    assert (plan.stop, plan.update, plan.status["revision"]) == (False, None, OLD_NAME)
    assert condition(plan, "SpecValid") == (
        "False",
        "UNRESOLVED_COLUMN",
        "because; the previous document remains in use",
    )
    assert condition(plan, "Stalled")[0] == "True"
    assert condition(plan, "DriverRunning")[0] == "True"


def test_a_document_that_misreads_a_checkpoint_stops_nothing() -> None:
    plan = step(pipeline(refused=refusal("CheckpointIncompatible")), driver(handed=NEW_NAME))
    assert (plan.stop, plan.update) == (False, None)
    assert condition(plan, "SpecValid")[0] == "True"
    assert condition(plan, "CheckpointCompatible")[:2] == ("False", "CheckpointIncompatible")


def test_a_document_whose_topic_is_missing_waits_in_the_driver() -> None:
    plan = step(pipeline(refused=refusal("TopicNotFound", retried=True)), driver(handed=NEW_NAME))
    assert (plan.stop, plan.update) == (False, None)
    assert condition(plan, "DocumentApplied")[:2] == ("False", "TopicNotFound")
    assert condition(plan, "Reconciling")[0] == "True"
    assert [(event.type, event.reason) for event in plan.events][-1] == ("Warning", "TopicNotFound")


def test_after_a_refused_document_a_failed_driver_starts_with_the_previous_one() -> None:
    changed = pipeline(refused=refusal("UNRESOLVED_COLUMN"))
    plan = step(changed, ended(OLD, 1))
    assert condition(plan, "SpecValid")[:2] == ("False", "UNRESOLVED_COLUMN")
    later = {**changed, "status": changed["status"] | plan.status}
    plan = next_step(later, None, current=revision(OLD), now=at(30))
    assert plan.start is not None
    assert plan.start.revision.name == OLD_NAME
    waiting = next_step(later, pod(OLD, attempt=2), current=revision(OLD))
    assert (waiting.stop, waiting.update) == (False, None)


def test_a_failed_step_is_repeated_and_shown() -> None:
    failure = StepFailure("the API server does not answer", retry_in=5)
    plan = step(pipeline(), driver(), failure=failure)
    assert (plan.update, plan.stop) == (None, False)
    assert "the API server does not answer" in condition(plan, "DocumentApplied")[2]


def test_the_deletion_of_a_driver_gives_it_the_time_of_the_document_that_it_runs() -> None:
    longer = {**SPEC, "drain": {"timeout": "10 minutes"}}
    name = revision(body(longer)).name
    suspended = pipeline({**longer, "suspend": True}, runs=name)
    plan = next_step(suspended, driver(handed=name))
    assert (plan.stop, plan.grace) == (True, 630.0)
    assert next_step(pipeline({**SPEC, "suspend": True}), driver()).grace is None


def test_the_operator_compares_what_a_driver_can_take_over() -> None:
    old = revision(OLD).text
    assert change(old, revision(body(WANTED)).text).driver == ()
    image = revision(body({**SPEC, "image": "registry.example/other:1"})).text
    assert change(old, image).driver == ("spec.image",)


def test_the_file_of_the_document_names_driver_and_revision() -> None:
    made = objects.update(OLD, revision(body(WANTED)), 3, 1)
    assert made["metadata"]["name"] == "ticks-update"
    assert list(made["data"]) == [f"3-{NEW_NAME}.yaml", "3.number"]
    mounted = pods.driver_pod(OLD, revision(OLD), SETTINGS, attempt=1, run="")["spec"]
    [volume] = [each for each in mounted["volumes"] if each["name"] == "mainstem-update"]
    assert volume["configMap"] == {"name": "ticks-update", "optional": True}
