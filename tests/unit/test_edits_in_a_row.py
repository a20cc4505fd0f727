"""A second edit, before the first one was healthy or has failed: what works is the pipeline, not only its last document."""

from typing import Any

import pytest
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.ages import Ages
from unit.operator_steps import SPEC, body, ended, revision
from unit.test_operator_model import CHANGED, Life
from unit.test_preflights import NEW, OTHER, Event, runs_on, shown
from unit.test_unchecked_documents import healthy, starts


TAKEN_OVER = {**SPEC, "restart": {"policy": "Never"}}
FIRST, THIRD = (revision(body(each)).name for each in (CHANGED, TAKEN_OVER))


def edited_twice(*happened: Event, second: dict[str, Any] = OTHER) -> Life:
    """A healthy pipeline whose driver has applied a first edit, of which not every query runs yet, when a second one comes."""
    life = healthy()
    life.changes(CHANGED)
    life.the_driver_takes_over(touched="a")
    assert [each["outcome"] for each in life.status["history"]] == ["Progressing", "Healthy"]
    life.changes(second)
    for happens in happened:
        happens(life)
    return life


def next_driver(life: Life) -> str:
    """The revision of the driver that follows, after any pause."""
    for _ in range(3):
        life.time_passes(60)
        if life.pod is not None and pod_status.leaving(life.pod):
            life.the_pod_vanishes(heard=True)
    assert life.pod is not None
    assert not pod_status.over(life.pod)
    return pod_status.revision(life.pod)


def test_a_second_edit_that_only_a_new_driver_can_apply_is_checked_by_a_pod() -> None:
    life = edited_twice()
    assert runs_on(life, FIRST)
    assert life.preflight_pod is not None
    assert shown(life)[1] == "Applying"
    ends = f"until then revision {FIRST} runs on, for 10 minutes at most, because it has not been healthy"
    assert shown(life)[2].endswith(ends)
    life.the_preflight_ends((0, False))
    assert not runs_on(life, FIRST)
    assert next_driver(life) == NEW


def test_a_second_edit_that_a_pod_refuses_replaces_nothing() -> None:
    life = edited_twice(lambda life: life.the_preflight_ends((3, False)))
    life.time_passes(40_000)
    assert runs_on(life, FIRST)
    assert shown(life, "SpecValid")[0] == "False"


def test_a_driver_that_hangs_with_a_second_edit_is_replaced_only_once_a_pod_has_checked_it() -> None:
    life = edited_twice(second=TAKEN_OVER)
    life.time_passes(301)
    assert runs_on(life, FIRST)
    assert life.preflight_pod is not None
    life.the_preflight_ends((0, False))
    assert next_driver(life) == THIRD


def test_a_third_edit_is_checked_like_the_second_one() -> None:
    life = edited_twice(second=TAKEN_OVER)
    life.the_driver_takes_over(touched="a")
    assert [each["outcome"] for each in life.status["history"]] == ["Progressing", "Replaced", "Healthy"]
    life.changes(OTHER)
    assert life.pod is not None
    assert not pod_status.leaving(life.pod)
    assert life.preflight_pod is not None


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
@pytest.mark.parametrize(
    "ends",
    [
        lambda life: life.the_pod_vanishes(heard=True),
        lambda life: life.the_pod_is_evicted(),
        lambda life: life.the_driver_ends((0, "drained")),
        lambda life: life.the_driver_ends((6, "interrupted")),
    ],
    ids=["vanishes", "evicted", "drained", "interrupted"],
)
def test_a_driver_that_ends_through_no_fault_of_the_first_edit_is_followed_by_one_with_it(
    ends: Event, second: dict[str, Any]
) -> None:
    assert next_driver(edited_twice(ends, second=second)) == FIRST


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
@pytest.mark.parametrize("end", [(3, "failed"), (4, "failed")])
def test_a_second_edit_is_the_remedy_of_a_first_one_that_fails_itself(
    end: tuple[int, str | None], second: dict[str, Any]
) -> None:
    life = edited_twice(second=CHANGED)
    life.changes(second, asleep=True)
    life.the_driver_ends(end)
    assert next_driver(life) == revision(body(second)).name


DEATHS = [(1, None), (137, None), (5, "failed")]
"""Ends of a driver that its document may cause, or the check of the next one, or something else."""


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
@pytest.mark.parametrize("is_read", [False, True], ids=["unread", "at-hand"])
@pytest.mark.parametrize("end", DEATHS)
def test_a_pod_checks_the_second_edit_once_a_driver_of_the_first_one_has_failed(
    end: tuple[int, str | None], is_read: bool, second: dict[str, Any]
) -> None:
    """Its check may be what ended the driver."""
    life = edited_twice(second=second if is_read else CHANGED)
    life.changes(second, asleep=True)
    life.the_driver_ends(end)
    assert next_driver(life) == FIRST
    assert life.preflight_pod is not None
    starts("Running", "Starting", pause=0)(life)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == FIRST
    life.the_preflight_ends((0, False))
    if second == OTHER:
        assert next_driver(life) == NEW
    else:
        assert pod_status.handed_revision(life.pod) == THIRD
        life.the_driver_ends((137, None))
        assert next_driver(life) == THIRD, "it is checked"


def test_a_second_edit_that_a_pod_refuses_is_no_remedy_of_a_driver_that_its_check_has_ended() -> None:
    life = edited_twice(lambda life: life.the_driver_ends((137, None)), second=TAKEN_OVER)
    assert next_driver(life) == FIRST
    life.the_preflight_ends((3, False))
    starts("Running", "Running", pause=0)(life)
    life.time_passes(40_000)
    assert runs_on(life, FIRST)


def test_a_third_edit_after_the_check_of_the_second_one_has_ended_the_driver_is_checked_by_a_pod() -> None:
    life = edited_twice(second=TAKEN_OVER)
    life.changes(OTHER, asleep=True)
    life.the_driver_ends((137, None))
    assert next_driver(life) == FIRST
    assert life.preflight_pod is not None
    life.the_preflight_ends((0, False))
    assert next_driver(life) == NEW


def test_the_document_that_worked_is_the_remedy_of_a_first_edit_whose_driver_has_failed() -> None:
    life = edited_twice(second=SPEC)
    life.the_driver_ends((137, None))
    assert next_driver(life) == revision(body(SPEC)).name
    assert life.preflight_pod is None


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
def test_an_edit_while_the_driver_is_replaced_for_the_one_before_is_checked_too(
    second: dict[str, Any],
) -> None:
    life = edited_twice(lambda life: life.the_driver_ends((0, "drained")), second=CHANGED)
    assert next_driver(life) == FIRST
    life.the_container_starts()
    life.changes({**OTHER, "timeZone": "Asia/Tokyo"})
    life.the_preflight_ends((0, False))
    assert life.status["phase"] == "Draining"
    life.changes(second)
    life.the_pod_vanishes(heard=False)
    life.turns()
    assert next_driver(life) == FIRST


@pytest.mark.parametrize("heard", [False, True])
def test_an_edit_that_comes_before_the_operator_knows_that_the_first_one_runs_is_checked_too(
    heard: bool,
) -> None:
    life = healthy()
    life.changes(CHANGED)
    life.the_driver_takes_over(touched="a", asleep=True)
    life.changes(TAKEN_OVER, asleep=True)
    life.the_pod_vanishes(heard=heard)
    life.turns()
    assert next_driver(life) == FIRST


def test_a_pod_checks_the_second_edit_while_the_first_one_pauses() -> None:
    life = edited_twice(second=CHANGED)
    life.changes(TAKEN_OVER, asleep=True)
    life.the_driver_ends((137, None))
    assert life.status["phase"] == "BackingOff"
    assert life.preflight_pod is not None


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
def test_drivers_of_a_first_edit_that_fail_again_and_again_spend_its_budget(second: dict[str, Any]) -> None:
    """Then the first edit has failed for good, and the second one is its remedy, checked or not."""
    life = edited_twice(second=second)
    for _ in range(CHANGED["restart"]["maxDriverRetries"]):
        life.the_driver_ends((137, None))
        assert next_driver(life) == FIRST
    life.the_driver_ends((137, None))
    assert next_driver(life) == revision(body(second)).name


def test_a_failure_of_the_document_that_worked_is_none_of_the_first_edit() -> None:
    life = healthy()
    life.the_driver_ends((1, None))
    life.time_passes(60)
    life.the_container_starts()
    life.the_driver_reports(["Idle", "Idle"])
    assert life.status["restarts"] == 1
    life.changes(CHANGED)
    life.the_driver_takes_over(touched="a")
    life.changes(OTHER)
    assert runs_on(life, FIRST)
    assert life.preflight_pod is not None


def fails_of_its_own(end: dict[str, Any]) -> Event:
    def happens(life: Life) -> None:
        life.follows = None
        life.transplant(end)
        life.turns()

    return happens


a_server_that_never_answers = fails_of_its_own(ended(body(), 5, "failed", "BrokerUnreachable"))
a_container_that_never_starts = fails_of_its_own(ended(body(), 128, why="StartError"))


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
@pytest.mark.parametrize("stays", [a_server_that_never_answers, a_container_that_never_starts])
def test_a_pod_checks_the_second_edit_where_no_driver_of_the_first_one_runs(
    stays: Event, second: dict[str, Any]
) -> None:
    life = edited_twice(stays, second=second)
    assert next_driver(life) == FIRST
    assert life.preflight_pod is not None
    life.the_preflight_ends((0, False))
    if second == TAKEN_OVER:  # the driver would take it over, if it ran
        stays(life)
    assert next_driver(life) == revision(body(second)).name


@pytest.mark.parametrize("has_no_node", [False, True], ids=["runs", "has-no-node"])
def test_a_second_edit_waits_for_ten_minutes_at_most(has_no_node: bool) -> None:
    """No node has room for a pod beside a driver that takes too much: the second edit may be what helps."""
    life = edited_twice()
    if has_no_node:
        life.the_driver_ends((0, "drained"))
        assert next_driver(life) == FIRST
    life.time_passes(301)
    assert life.pod is not None
    assert not pod_status.leaving(life.pod)
    life.time_passes(301)
    assert next_driver(life) == NEW


def test_an_operator_that_starts_meanwhile_gives_the_check_its_time() -> None:
    life = edited_twice(second=CHANGED)
    life.time_passes(540)
    life.changes(OTHER)
    life.time_passes(60)
    life.ages = Ages()
    life.time_passes(60)
    assert runs_on(life, FIRST)
    assert life.preflight_pod is not None


@pytest.mark.parametrize("is_checked", [False, True], ids=["no-verdict", "checked"])
def test_a_second_edit_replaces_a_first_one_whose_pod_is_overdue(is_checked: bool) -> None:
    life = edited_twice(lambda life: life.the_driver_ends((137, None)), second=CHANGED)
    life.time_passes(60)
    life.time_passes(1800)
    assert life.status["phase"] == "Failed"
    life.changes(OTHER)
    assert life.preflight_pod is not None
    if is_checked:
        life.the_preflight_ends((0, False))
    else:
        life.time_passes(300)
        assert life.pod is not None
        assert pod_status.revision(life.pod) == FIRST
        life.time_passes(301)
    assert next_driver(life) == NEW


def test_a_second_edit_that_needs_no_other_pod_leaves_the_overdue_one_of_the_first_edit() -> None:
    """A pod of its own would not start either."""
    life = edited_twice(lambda life: life.the_driver_ends((137, None)), second=TAKEN_OVER)
    life.time_passes(60)
    life.time_passes(1800)
    assert next_driver(life) == FIRST
    starts("Running", "Running", pause=0)(life)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == THIRD


def test_a_second_edit_that_a_pod_has_refused_is_no_remedy_of_a_driver_that_hung() -> None:
    life = edited_twice(second=TAKEN_OVER)
    life.time_passes(301)
    life.the_preflight_ends((3, False))
    life.the_driver_ends((137, None))
    assert next_driver(life) == FIRST


def test_a_second_edit_is_the_remedy_of_a_first_one_whose_query_fails() -> None:
    life = edited_twice(second=CHANGED)
    life.changes(OTHER, asleep=True)
    life.the_driver_reports(["Failed", "Idle"])
    life.the_driver_ends((0, "drained"))
    assert next_driver(life) == NEW


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
@pytest.mark.parametrize("has_ended", [False, True])
def test_a_pod_of_the_first_edit_that_somebody_deletes_before_it_has_reported_is_followed_by_another_one(
    second: dict[str, Any], has_ended: bool
) -> None:
    life = edited_twice(lambda life: life.the_driver_ends((0, "drained")), second=CHANGED)
    assert next_driver(life) == FIRST
    life.the_container_starts()
    life.somebody_deletes_the_pod()
    assert life.status["phase"] == "Draining"
    life.changes(second)
    if has_ended:
        life.the_driver_ends((0, "drained"))
    life.the_pod_vanishes(heard=has_ended)
    life.turns()
    assert next_driver(life) == FIRST


@pytest.mark.parametrize("second", [OTHER, TAKEN_OVER], ids=["new-driver", "taken-over"])
def test_a_quota_that_refuses_the_next_pod_is_no_failure_of_the_first_edit(second: dict[str, Any]) -> None:
    life = edited_twice(second=second)
    life.the_server_refuses("exceeded quota")
    life.the_driver_ends((0, "drained"))
    life.time_passes(60)
    assert life.status["phase"] == "Failed"
    life.the_server_refuses(None)
    assert next_driver(life) == FIRST
