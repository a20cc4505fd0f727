"""A document that no driver has checked does not reach a pipeline whose document before works."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mainstem_operator.decisions.beside import trials
from mainstem_operator.decisions.pipeline_status import events
from mainstem_operator.decisions.unchecked import is_unchecked
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import find_condition
from mainstem_operator.observed.observation import last_revision
from mainstem_operator.observed.preflights import Preflight, Verdict
from mainstem_operator.validation.documents import DocumentChange
from unit.operator_steps import BOUNDED, SPEC, body, ended, observation, reported, revision, status
from unit.test_operator_model import CHANGED, Life


OLD, NEW = revision(body()).name, revision(body(CHANGED)).name
NEVER = {**SPEC, "restart": {"policy": "Never"}}
Event = Callable[[Life], None]


def healthy(document: dict[str, Any] = SPEC) -> Life:
    """A pipeline whose queries all run."""
    life = Life()
    life.applied(document, runs=True)
    life.the_driver_reports(["Running", "Idle"])
    return life


def changed(*happened: Event, document: dict[str, Any] = SPEC) -> Life:
    """A healthy pipeline whose driver has got a changed document, and has not answered; then more happens."""
    life = healthy(document)
    life.changes(CHANGED)
    for happens in happened:
        happens(life)
    return life


def dies(code: int = 137, outcome: str | None = None, *, ran: int = 9) -> Event:
    return lambda life: life.the_driver_ends((code, outcome), ran=ran)


def answers(reason: str) -> Event:
    return lambda life: life.the_driver_takes_over(reason)


def is_evicted(life: Life) -> None:
    life.the_pod_is_evicted()
    life.turns()


def vanishes(life: Life) -> None:
    life.the_pod_vanishes(heard=False)
    life.turns()


def the_operator_starts_again(life: Life) -> None:
    life.dies_after_the_status()


def is_deleted(life: Life, end: tuple[int, str | None] = (0, "drained")) -> None:
    """Somebody deletes the pod, and the driver ends like this."""
    life.somebody_deletes_the_pod()
    life.the_driver_ends(end)
    life.the_pod_vanishes(heard=True)
    life.turns()


def is_deleted_and_killed(life: Life) -> None:
    """As a driver that hangs is ended."""
    is_deleted(life, (137, None))


def starts(*states: str, pause: int = 60) -> Event:
    """The pause in seconds is over, and the next driver runs and has reported these states."""

    def happens(life: Life) -> None:
        life.time_passes(pause)
        life.the_container_starts()
        life.the_driver_reports(list(states))

    return happens


starts_again = starts("Running", "Idle")


def has_started_with(life: Life) -> str:
    """The revision of the next driver's start."""
    life.time_passes(301)
    assert life.pod is not None
    assert not pod_status.over(life.pod)
    return pod_status.revision(life.pod)


def applied(life: Life) -> tuple[str, str]:
    """Reason and message of `DocumentApplied`, which is False or absent."""
    condition = find_condition(life.status, "DocumentApplied") or {"reason": "-", "message": "-"}
    return condition["reason"], condition["message"]


@pytest.mark.parametrize(
    "end",
    [
        (dies(),),
        (dies(1),),
        (dies(6, "interrupted"),),
        (dies(5, "failed"),),
        (is_evicted,),
        (vanishes,),
        (is_deleted,),
        (dies(), the_operator_starts_again),
        (is_evicted, the_operator_starts_again),
        (lambda life: life.restarts(7), dies(0, "drained"), vanishes),
    ],
    ids=[
        "killed",
        "error",
        "interrupted",
        "outage",
        "evicted",
        "vanished",
        "deleted",
        "killed-and-operator-restarts",
        "evicted-and-operator-restarts",
        "restart-requested",
    ],
)
def test_the_successor_of_a_driver_that_has_not_answered_starts_with_the_document_before(
    end: tuple[Event, ...],
) -> None:
    life = changed(*end)
    assert has_started_with(life) == OLD
    assert applied(life) == (
        "Applying",
        f"the driver starts with revision {OLD}, and takes revision {NEW} over once a query runs",
    )
    life.the_container_starts()
    life.the_driver_reports(["Running", "Idle"])
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == NEW
    life.the_driver_takes_over()
    assert life.status["revision"] == NEW
    assert "unanswered" not in life.status


def test_while_no_driver_runs_the_condition_shows_what_the_next_one_starts_with() -> None:
    life = changed(is_evicted)
    assert life.status["phase"] == "BackingOff"
    reason, message = applied(life)
    assert reason == "Applying"
    assert message == (
        f"no driver has checked revision {NEW}; the next one starts with revision {OLD}, and takes the other over once a "
        "query runs"
    )
    ready = find_condition(life.status, "Ready")
    assert ready is not None
    assert ready["reason"] == "Evicted", "why no driver runs comes first"


def test_an_edit_after_the_death_waits_for_the_next_driver_too() -> None:
    assert has_started_with(edited_after_a_death()) == OLD


@pytest.mark.parametrize(
    ("happened", "document"),
    [
        ((dies(4, "failed"),), SPEC),
        ((dies(3, "failed"),), SPEC),
        ((lambda life: life.the_driver_reports(["Running", "Failed"]), dies()), SPEC),
        ((lambda life: life.suspends(suspend=True), dies(0, "drained"), vanishes), SPEC),
    ],
    ids=[
        "queries-failed",
        "refused-by-spark",
        "a-query-failed",
        "suspended",
    ],
)
def test_the_changed_document_starts_at_once_where_the_one_before_does_not_work(
    happened: tuple[Event, ...], document: dict[str, Any]
) -> None:
    life = changed(*happened, document=document)
    if life.body["spec"].get("suspend"):
        life.suspends(suspend=False)
    if life.pod is not None and pod_status.leaving(life.pod):
        life.the_driver_ends((0, "drained"))
        life.the_pod_vanishes(heard=True)
    assert has_started_with(life) == NEW


def edited_after_a_death(document: dict[str, Any] = SPEC) -> Life:
    """A pipeline whose driver was killed, and whose document is changed after that."""
    life = healthy(document)
    life.the_driver_ends((137, None))
    life.changes(CHANGED)
    return life


def dies_at_its_start(life: Life) -> None:
    starts("Starting", "Starting", pause=301)(life)
    life.the_driver_ends((137, None))


def test_a_document_that_is_never_restarted_is_replaced() -> None:
    assert has_started_with(edited_after_a_death(NEVER)) == NEW


def test_a_document_that_does_not_start_twice_is_replaced() -> None:
    """The edit may be the remedy, although no driver lives long enough to check it."""
    life = edited_after_a_death()
    dies_at_its_start(life)
    assert life.status["unanswered"] == {"revision": NEW, "drivers": 0, "starts": 1, "reason": "Killed"}
    assert has_started_with(life) == OLD
    dies_at_its_start(life)
    assert has_started_with(life) == NEW
    assert "unanswered" not in life.status


def test_deaths_of_long_ago_do_not_count() -> None:
    life = healthy()
    for _ in range(3):
        life.the_driver_reports(["Running", "Idle"])
        life.the_driver_ends((137, None))
        starts_again(life)
    assert life.status["restarts"] == 3
    life.time_passes(10**7)
    life.changes(CHANGED)
    is_evicted(life)
    assert has_started_with(life) == OLD


def test_a_document_with_which_two_drivers_fail_is_held_back() -> None:
    life = changed(dies())
    assert life.status["unanswered"] == {"revision": NEW, "drivers": 1, "starts": 0, "reason": "Killed"}
    starts_again(life)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == NEW
    life.the_driver_ends((137, None))
    starts_again(life)
    assert (pod_status.revision(life.pod), pod_status.handed_revision(life.pod)) == (OLD, OLD)
    assert life.status["restarts"] == 0, "they are no failures of the document before"
    reason, message = applied(life)
    assert reason == "NeverAnswered"
    assert message.startswith(
        f"2 drivers in a row had revision {NEW}, and failed before they had applied or refused it, the last one with Killed; "
        "the previous document remains in use. Change the document, or set another spec.restartNonce"
    )
    conditions = {entry["type"]: entry["status"] for entry in life.status["conditions"]}
    assert (conditions["Stalled"], conditions["SpecValid"]) == ("True", "True")
    first = life.status["history"][0]
    assert (first["revision"], first["outcome"], first["reason"]) == (NEW, "Rejected", "NeverAnswered")
    life.time_passes(40_000)
    life.the_driver_ends((137, None), ran=40_000)
    starts_again(life)
    assert pod_status.handed_revision(life.pod) == OLD


@pytest.mark.parametrize("end", [dies(), dies(1), dies(0), dies(5, "failed")])
@pytest.mark.parametrize("retries", [0, 1, None])
def test_the_check_of_a_document_spends_no_budget_of_the_one_before(end: Event, retries: int | None) -> None:
    spec = SPEC if retries is None else {**SPEC, "restart": {"maxDriverRetries": retries}}
    life = changed(end, starts_again, end, starts_again, document=spec)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == revision(body(spec)).name
    assert applied(life)[0] == "NeverAnswered"


@pytest.mark.parametrize("reason", ["SpecInvalid", "TopicMissing"], ids=["refused for good", "tries again"])
def test_a_driver_that_has_answered_holds_no_document_back(reason: str) -> None:
    life = changed(*[answers(reason), dies(), starts_again] * 3)
    assert "unanswered" not in life.status
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == NEW
    life.the_driver_takes_over(reason)
    if reason == "SpecInvalid":
        condition = find_condition(life.status, "SpecValid") or {}
        assert (condition["status"], condition["reason"]) == ("False", "SpecInvalid")


def test_a_pod_that_the_api_server_refuses_is_no_failure_of_the_document_before() -> None:
    life = changed()
    life.the_server_refuses("exceeded quota")
    life.the_driver_ends((137, None))
    life.time_passes(301)
    life.the_server_refuses(None)
    assert has_started_with(life) == OLD


def test_a_pod_that_finds_no_node_is_no_failure_of_the_document_before() -> None:
    life = changed(is_evicted)
    life.time_passes(301)
    for _ in range(3):
        life.time_passes(40_000)
    assert life.status["phase"] == "Failed"
    assert has_started_with(life) == OLD


def test_a_held_back_document_starts_once_the_one_before_has_failed_for_good() -> None:
    life = held_back(dies(3, "failed"))
    assert has_started_with(life) == NEW
    assert "unanswered" not in life.status
    outcomes = [(entry["revision"], entry["outcome"]) for entry in life.status["history"]]
    assert outcomes == [(NEW, "Progressing"), (NEW, "Rejected"), (OLD, "Failed")]


def test_a_document_with_a_trial_waits_for_the_next_driver() -> None:
    life = healthy()
    life.the_driver_ends((137, None))
    life.changes({**CHANGED, "trial": {}})
    assert life.status["trial"]["phase"] == "Pending"
    assert has_started_with(life) == OLD
    life.the_container_starts()
    life.the_driver_reports(["Running", "Idle"])
    assert life.status["trial"]["phase"] == "Running"


@pytest.mark.parametrize(
    "end", [is_evicted, vanishes, dies(6, "interrupted"), is_deleted, is_deleted_and_killed]
)
def test_ends_that_no_driver_has_caused_hold_no_document_back(end: Event) -> None:
    life = changed(*[end, starts_again] * 3)
    assert "unanswered" not in life.status
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == NEW


def held_back(*happened: Event) -> Life:
    return changed(dies(), starts_again, dies(), starts_again, *happened)


@pytest.mark.parametrize(
    "restarts",
    [
        (lambda life: life.restarts(7), dies(0, "drained"), vanishes),
        (lambda life: life.restarts(7), vanishes),
        (dies(), lambda life: life.restarts(7)),
    ],
    ids=["drained", "vanished", "after-another-death"],
)
def test_another_restart_nonce_lets_a_driver_try_the_document_again(restarts: tuple[Event, ...]) -> None:
    life = held_back(*restarts)
    assert has_started_with(life) == OLD
    starts_again(life)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == NEW
    assert "unanswered" not in life.status


def test_a_suspension_lets_a_driver_start_with_the_document() -> None:
    life = held_back(lambda life: life.suspends(suspend=True), dies(0, "drained"), vanishes)
    life.suspends(suspend=False)
    assert has_started_with(life) == NEW


@pytest.mark.parametrize("meanwhile", [(), (is_evicted, starts_again)], ids=["at once", "evicted"])
def test_another_document_is_handed_over(meanwhile: tuple[Event, ...]) -> None:
    another = {**CHANGED, "restart": {"maxDriverRetries": 9}}
    life = held_back(lambda life: life.changes(another), *meanwhile)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == OLD
    assert "unanswered" not in life.status
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) not in (OLD, NEW)


def test_a_document_that_the_driver_had_applied_is_the_last_one_also_if_its_pod_is_gone_at_once() -> None:
    life = changed()
    life.the_driver_takes_over(asleep=True)
    vanishes(life)
    assert last_revision(life.body, None) == NEW
    assert has_started_with(life) == NEW


def test_a_report_of_an_earlier_driver_does_not_name_the_last_document() -> None:
    part = reported("Running", attempt=1)
    part["reported"]["revision"] = NEW
    assert last_revision(body(SPEC, status("Starting", body(), attempt=2) | part), None) == OLD


def waiting(spec: dict[str, Any]) -> dict[str, Any]:
    """The pipeline with a changed document, after a driver with the healthy one before has reported."""
    part = reported("Running", "Idle")
    part["reported"]["revision"] = OLD
    entry = {"revision": OLD, "generation": 1, "outcome": "Healthy", "startTime": "2026-01-01T00:00:00Z"}
    return body(spec, status("Running", body(), history=[entry]) | part, generation=2)


PASSED = Preflight("a/b", "spec.image needs a new driver", Verdict.PASSED)


@pytest.mark.parametrize(
    ("difference", "expected"),
    [
        ({}, True),
        ({"change": DocumentChange(driver=("spec.image",))}, True),
        ({"change": DocumentChange(driver=("spec.image",)), "preflight": PASSED}, False),
        ({"change": None}, False),
        ({"current": None}, False),
        ({"current": revision(body(BOUNDED))}, False),
        ({"current": replace(revision(body()), required=frozenset({"lake"}))}, False),
    ],
    ids=[
        "unchecked",
        "needs-driver",
        "preflight-passed",
        "not-compared",
        "unknown",
        "ends-by-itself",
        "needs-fewer-secrets",
    ],
)
def test_what_the_next_driver_starts_with(difference: dict[str, Any], expected: bool) -> None:
    pipeline = waiting(CHANGED)
    given = {"current": revision(body()), "change": DocumentChange(), **difference}
    assert is_unchecked(observation(pipeline, ended(body(), 137), **given)) is expected
    pipeline["status"]["reported"].pop("revision")  # a driver of an older release
    assert not is_unchecked(observation(pipeline, ended(body(), 137), **given))


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("Starting", "Starting"), OLD),
        (("Starting", "Waiting"), OLD),
        (("Starting", "Running"), NEW),
        (("Waiting", "Idle"), NEW),
        (("Waiting", "Suspended"), NEW),
        (("Restarting", "Starting"), NEW),
    ],
)
def test_a_driver_gets_the_change_once_a_query_runs(states: tuple[str, ...], expected: str) -> None:
    """So a death before that is due to the document before, and one after it may be due to the check of the other."""
    life = changed(is_evicted, starts(*states))
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == expected


def test_a_driver_whose_queries_do_not_start_gets_the_change_after_a_minute() -> None:
    life = changed(is_evicted, starts("Starting", "Waiting"))
    life.time_passes(60)
    life.time_passes(1)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == NEW


@pytest.mark.parametrize("last", [("Starting", "Starting"), ("Restarting", "Restarting")])
def test_a_death_with_the_change_at_hand_counts_whatever_the_queries_do(last: tuple[str, ...]) -> None:
    life = changed()
    for _ in range(2):
        life.the_driver_reports(list(last))
        life.the_driver_ends((137, None))
        starts_again(life)
    assert applied(life)[0] == "NeverAnswered"


@pytest.mark.parametrize("ran", [9, 40_000])
def test_a_driver_that_runs_or_answers_begins_the_count_again(ran: int) -> None:
    life = changed(dies(), starts_again, answers("TopicMissing"), dies(ran=ran), starts_again)
    assert "unanswered" not in life.status
    life.the_driver_ends((137, None))
    dies_at_its_start(life)
    assert life.status["unanswered"]["starts"] == 1
    starts_again(life)
    assert life.status["unanswered"] == {"revision": NEW, "drivers": 1, "starts": 0, "reason": "Killed"}
    is_evicted(life)
    dies_at_its_start(life)
    assert has_started_with(life) == OLD


def test_starts_in_vain_of_before_a_trial_do_not_count_after_it() -> None:
    life = healthy()
    life.changes({**CHANGED, "trial": {}})
    life.the_driver_ends((137, None))
    dies_at_its_start(life)
    dies_at_its_start(life)
    starts_again(life)
    life.time_passes(1800)
    life.promotes()
    is_evicted(life)
    assert has_started_with(life) == OLD


def test_a_document_that_has_failed_and_was_rolled_back_is_not_counted() -> None:
    life = changed()
    life.the_driver_takes_over()
    life.the_driver_reports(["Failed", "Idle"])
    assert life.status["rollback"]["target"] == OLD
    life.the_driver_takes_over()
    life.the_driver_reports(["Idle", "Idle"])
    life.the_driver_ends((137, None))
    for _ in range(3):
        dies_at_its_start(life)
    assert "unanswered" not in life.status


def test_a_document_that_spark_has_refused_is_no_remedy() -> None:
    life = changed(answers("SpecInvalid"), dies())
    for _ in range(3):
        dies_at_its_start(life)
    assert has_started_with(life) == OLD


def test_a_failure_with_the_change_at_hand_has_a_class_a_pause_and_no_budget() -> None:
    life = changed(dies(), document={**SPEC, "restart": {"maxDriverRetries": 0}})
    failure = life.status["lastFailure"]
    assert (failure["class"], failure["reason"], failure["inARow"]) == ("Change", "Killed", 1)
    assert (life.status["phase"], life.status["restarts"]) == ("BackingOff", 0)


def test_failures_of_long_ago_spend_no_budget_of_a_document_that_has_run_since() -> None:
    limited = {**SPEC, "restart": {"maxDriverRetries": 1}}
    life = healthy(limited)
    life.the_driver_ends((137, None))
    starts_again(life)
    assert life.status["restarts"] == 1
    life.changes(CHANGED)
    life.the_driver_ends((137, None), ran=40_000)
    assert life.status["restarts"] == 0
    assert has_started_with(life) == revision(body(limited)).name


@pytest.mark.parametrize(
    ("happened", "document"),
    [
        ((dies(),), NEVER),
        ((dies(), starts_again, dies(3, "failed")), SPEC),
        ((dies(), starts_again, dies(4, "failed")), SPEC),
        ((dies(), starts_again, dies(), starts_again, dies(4, "failed")), SPEC),
    ],
    ids=["never-restarted", "refused-by-spark", "queries-failed", "held-back-and-queries-failed"],
)
def test_what_ends_the_document_before_for_good_starts_the_changed_one(
    happened: tuple[Event, ...], document: dict[str, Any]
) -> None:
    life = changed(*happened, document=document)
    assert has_started_with(life) == NEW
    assert "unanswered" not in life.status


def test_a_driver_that_does_not_report_has_a_reason() -> None:
    life = changed(is_evicted)
    life.time_passes(60)
    life.the_container_starts()
    assert applied(life)[0] == "Applying"
    life.time_passes(60)
    life.time_passes(1)
    assert applied(life) == (
        "NotAnswered",
        f"the driver has not reported, so it has not got revision {NEW}; it starts with revision {OLD}",
    )


@pytest.mark.parametrize(("replaced", "phase"), [((), "Skipped"), (("a",), "Pending")])
def test_a_change_that_restarts_no_query_has_no_trial_after_a_death_either(
    replaced: tuple[str, ...], phase: str
) -> None:
    pipeline = waiting({**CHANGED, "trial": {}})
    given = {"current": revision(body()), "change": DocumentChange(replaced=replaced), "unchecked": True}
    trial = trials.decided(observation(pipeline, ended(body(), 137), **given)).trial
    assert trial is not None
    assert trial.phase == phase


def test_a_start_with_a_document_is_no_takeover() -> None:
    waits = [{"type": "DocumentApplied", "status": "False", "reason": "Applying", "message": ""}]
    ready = [{"type": "Ready", "status": "False", "reason": "DriverStarting", "message": ""}]
    old = {"phase": "BackingOff", "revision": OLD, "attempt": 1, "conditions": [*waits, *ready]}
    new = {
        "phase": "Starting",
        "revision": NEW,
        "attempt": 2,
        "conditions": [*ready, {**ready[0], "type": "DriverRunning"}],
    }
    assert [event.reason for event in events(old, new)] == ["DriverStarting"]
    assert [event.reason for event in events(old, {**new, "attempt": 1})][-1] == "DocumentApplied"
