"""Conditions, backoff, schedules: the algebra under the plan."""

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from cronsim import CronSim
from harness.work import at_most
from hypothesis import given, settings
from hypothesis import strategies as st
from mainstem.language.model.deployment import Schedule
from mainstem.language.model.pipeline import Restart
from mainstem.language.model.status.pipeline_status import Phase
from mainstem_operator.decisions.pipeline_status import events
from mainstem_operator.decisions.schedule import slots
from mainstem_operator.observed.conditions import (
    AT_REST,
    CHECKPOINT_COMPATIBLE,
    DEPENDENTS,
    DERIVED,
    DOCUMENT_APPLIED,
    ENDED,
    FALSE,
    ONLY_FALSE,
    TRUE,
    UNKNOWN,
    Condition,
    parsed,
    rendered,
    timestamp,
    with_summary,
)
from unit.operator_steps import NOW, at


STATUS = st.sampled_from([TRUE, FALSE, UNKNOWN])
FOUND = st.dictionaries(st.sampled_from([*DEPENDENTS, "Degraded", "DataFlowing"]), STATUS).map(
    lambda chosen: [
        Condition(name, status, "QueryFailed" if name == "Degraded" else f"{name}Is{status}", "m")
        for name, status in chosen.items()
    ]
)


PHASES = st.sampled_from(get_args(Phase))


@given(FOUND, PHASES)
def test_ready_shows_the_first_condition_that_is_not_true(conditions: list[Condition], phase: str) -> None:
    ready, *rest = with_summary(conditions, phase)
    assert [entry for entry in rest if entry.type not in DERIVED] == conditions
    assert ready.type == "Ready"
    by_type = {entry.type: entry for entry in conditions}
    chain = [by_type.get(name) for name in DEPENDENTS if name in by_type or name not in ONLY_FALSE]
    first = next((entry for entry in chain if entry is None or entry.status != TRUE), None)
    if all(entry is not None and entry.status == TRUE for entry in chain):
        assert ready == Condition("Ready", TRUE, "Running", "every query is active")
    elif first is None:
        assert ready == Condition("Ready", UNKNOWN, "NotYetKnown")
    else:
        at_rest = first.type == "DriverRunning" and phase in AT_REST
        assert ready[1:] == (TRUE if at_rest else first.status, first.reason, first.message)


@given(FOUND, PHASES)
def test_a_pipeline_is_ready_or_reconciling_or_stalled(conditions: list[Condition], phase: str) -> None:
    """Exactly one of the three is True, and the two that do not hold are absent: so kstatus asks for it."""
    derived = {entry.type: entry for entry in with_summary(conditions, phase) if entry.type in DERIVED}
    assert [name for name, entry in derived.items() if entry.status == TRUE] == (
        ["Ready"] if len(derived) == 1 else [name for name in derived if name != "Ready"]
    )
    assert len(derived) <= 2
    by_type = {entry.type: entry for entry in conditions}
    if "Stalled" in derived:
        refused = any(
            by_type[name].status == FALSE for name in ("SpecValid", CHECKPOINT_COMPATIBLE) if name in by_type
        )
        assert phase in ENDED or refused or by_type["Degraded"].reason == "QueryFailed"
    for name in ("Reconciling", "Stalled"):
        if name in derived:
            assert derived[name][2:] == derived["Ready"][2:]


@given(FOUND, FOUND, st.integers(1, 9))
def test_a_transition_time_changes_only_with_the_status(
    before: list[Condition], after: list[Condition], hours: int
) -> None:
    later = NOW + timedelta(hours=hours)
    old = rendered(before, (), 1, NOW)
    new = rendered(after, old, 2, later)
    known = {entry["type"]: entry for entry in old}
    for entry in new:
        was = known.get(entry["type"])
        kept = was is not None and was["status"] == entry["status"]
        assert parsed(entry["lastTransitionTime"]) == (NOW if kept else later)
        assert entry["observedGeneration"] == 2
    assert rendered(after, new, 2, later + timedelta(hours=1)) == new


@given(FOUND)
def test_no_event_without_a_transition(conditions: list[Condition]) -> None:
    status = {
        "phase": "Running",
        "conditions": rendered(
            with_summary([*conditions, Condition("DriverRunning", TRUE, "R")], "Running"), (), 1, NOW
        ),
    }
    assert events(status, status) == ()
    assert events(status, {}) == ()


@given(FOUND)
def test_the_event_ready_is_posted_only_if_ready_is_true(conditions: list[Condition]) -> None:
    entries = rendered(
        with_summary([*conditions, Condition("DriverRunning", TRUE, "R")], "Running"), (), 1, NOW
    )
    posted = events({"phase": "Starting"}, {"phase": "Running", "conditions": entries})
    [ready] = [entry for entry in entries if entry["type"] == "Ready"]
    assert ("Ready" in [event.reason for event in posted]) == (ready["status"] == TRUE)


@pytest.mark.parametrize(
    ("phase", "revision", "posted"),
    [
        ("Starting", "old", ["Ready", "DocumentApplied"]),
        ("Running", "old", ["DocumentApplied"]),
        ("Running", "new", ["Ready"]),  # the change was undone
    ],
)
def test_a_document_that_is_applied_and_a_start_that_ends_have_an_event_each(
    phase: str, revision: str, posted: list[str]
) -> None:
    healthy = [Condition(name, TRUE, "R", "m") for name in ("SpecValid", "DriverRunning", "QueriesActive")]
    applying = Condition(DOCUMENT_APPLIED, FALSE, "Applying", "m")
    before = rendered(with_summary([*healthy, applying], "Running"), (), 1, NOW)
    after = rendered(with_summary(healthy, "Running"), before, 1, NOW)
    old = {"phase": phase, "revision": revision, "conditions": before}
    new = {"phase": "Running", "revision": "new", "conditions": after}
    assert [event.reason for event in events(old, new)] == posted


@given(st.integers(0, 200), st.integers(1, 600), st.integers(1, 600))
def test_waits_grow_up_to_the_maximum(count: int, backoff: int, more: int) -> None:
    restart = Restart.model_validate(
        {"backoff": f"{backoff} seconds", "maxBackoff": f"{backoff + more} seconds"}
    )
    waits = [restart.wait_seconds(number) for number in (count, count + 1)]
    assert waits[0] <= waits[1] <= backoff + more
    assert restart.wait_seconds(0) == 0
    assert restart.wait_seconds(1) == backoff


def schedule(cron: str, zone: str = "UTC") -> Schedule:
    return Schedule.model_validate({"cron": cron, "timeZone": zone})


SLOTS = [
    # what, last, now -> due, next
    ("before the first", "0 3 * * *", "UTC", "2026-03-01T04:00:00Z", "2026-03-01T12:00:00Z", None, "2026-03-02T03:00:00Z"),
    ("at the second", "0 3 * * *", "UTC", "2026-03-01T03:00:00Z", "2026-03-02T03:00:00Z", "2026-03-02T03:00:00Z", "2026-03-03T03:00:00Z"),
    ("missed a week", "0 3 * * *", "UTC", "2026-03-01T03:00:00Z", "2026-03-08T12:00:00Z", "2026-03-08T03:00:00Z", "2026-03-09T03:00:00Z"),
    ("missed years", "0 3 1 1 *", "UTC", "2020-01-01T03:00:00Z", "2026-12-31T12:00:00Z", "2026-01-01T03:00:00Z", "2027-01-01T03:00:00Z"),
    ("in a zone", "0 3 * * *", "Europe/Zurich", "2026-03-01T03:00:00Z", "2026-03-02T02:00:00Z", "2026-03-02T02:00:00Z", "2026-03-03T02:00:00Z"),
    ("the hour that is not there", "30 2 * * *", "Europe/Zurich", "2026-03-28T01:30:00Z", "2026-03-29T12:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"),
    ("the hour that is there twice", "30 2 * * *", "Europe/Zurich", "2026-10-24T00:30:00Z", "2026-10-25T12:00:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "cron", "zone", "last", "now", "due", "following"), SLOTS)
def test_a_schedule_has_a_due_slot_and_a_next_slot(
    case: str, cron: str, zone: str, last: str, now: str, due: str | None, following: str
) -> None:
    due_and_next = slots(schedule(cron, zone), parsed(last), parsed(now))
    assert (due_and_next[0] and timestamp(due_and_next[0]), timestamp(due_and_next[1])) == (due, following)


@settings(max_examples=40)
@given(
    cron=st.sampled_from(["*/15 * * * *", "0 3 * * *", "30 */2 * * *", "0 0 1 * *", "5 4 * * MON"]),
    zone=st.sampled_from(["UTC", "Europe/Zurich", "Asia/Kolkata"]),
    start=st.datetimes(datetime(2025, 1, 1), datetime(2026, 12, 31)),  # noqa: DTZ001 - a zone is put on below
    span=st.integers(1, 45 * 86400),
)
def test_slots_match_a_walk_through_all_slots(cron: str, zone: str, start: datetime, span: int) -> None:
    last = start.replace(tzinfo=UTC, microsecond=0)
    now = last + timedelta(seconds=span)
    from zoneinfo import ZoneInfo

    walked = None
    for slot in CronSim(cron, last.astimezone(ZoneInfo(zone))):
        if slot.astimezone(UTC) > now:
            break
        walked = slot.astimezone(UTC)
    due, following = slots(schedule(cron, zone), last, now)
    assert due == walked
    assert following > now
    again, later = slots(schedule(cron, zone), due or last, following)
    assert again == following, "what is to come is what is due then"
    assert later > following


def test_years_of_minutes_are_skipped() -> None:
    with at_most(100_000):
        due, _ = slots(schedule("* * * * *"), at(-20 * 365 * 86400), NOW)
    assert due == NOW
