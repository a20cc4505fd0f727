"""`status.history`: the last ten revisions of a pipeline, what changed, and what became of each."""

import json
from typing import Any

import pytest
from mainstem.changes.consequences import RefusedQuery
from mainstem.changes.fields import changed_fields
from mainstem.language.model.status.pipeline_status import MAX_BYTES, Status
from mainstem.language.model.status.revision_history import KEPT_ENTRIES, MAX_CHANGES
from mainstem.names import UPDATE
from mainstem_operator.decisions import pipeline_status
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.validation.documents import DocumentChange, change, listed
from unit.operator_steps import (
    SPEC,
    at,
    body,
    condition,
    ended,
    next_step,
    reported,
    revision,
    running,
    status,
)


SLOWER = {
    **SPEC,
    "queries": [{**SPEC["queries"][0], "trigger": {"processingTime": "9s"}}, SPEC["queries"][1]],
}
OLD, NEW = revision(body()).name, revision(body(SLOWER)).name


def kept(made: dict[str, Any], next_plan: Plan) -> dict[str, Any]:
    """The pipeline with the status after a plan."""
    parts = {key: made["status"][key] for key in ("queries", "reported") if key in made.get("status", {})}
    return made | {"status": {**parts, **next_plan.status, **(next_plan.driver_part or {})}}


def entries(next_plan: Plan) -> list[tuple[str, int, str]]:
    return [(e["revision"], e["generation"], e["outcome"]) for e in next_plan.status["history"]]


def reporting(made: dict[str, Any], *states: str, runs: str) -> dict[str, Any]:
    part = reported(*states)
    part["reported"]["revision"] = runs
    return made | {"status": made.get("status", {}) | part}


def test_a_revision_progresses_gets_healthy_and_ends_with_the_next_one() -> None:
    first = next_step(body(), running(body()))
    assert entries(first) == [(OLD, 1, "Progressing")]
    made = reporting(kept(body(), first), "Running", "Idle", runs=OLD)
    healthy = next_step(made, running(body()), now=at(30))
    assert entries(healthy) == [(OLD, 1, "Healthy")]
    assert healthy.status["history"][0] == {
        "revision": OLD,
        "generation": 1,
        "outcome": "Healthy",
        "attempt": 1,
        "startTime": "2026-03-01T12:00:00Z",
    }
    changed = body(SLOWER, kept(made, healthy)["status"], generation=2)
    its_pod = running(body())
    its_pod["metadata"]["annotations"][UPDATE] = NEW
    changed["status"]["reported"]["revision"] = NEW
    taken = next_step(changed, its_pod, now=at(60), difference=("queries[a].trigger",))
    assert entries(taken) == [(NEW, 2, "Healthy"), (OLD, 1, "Healthy")]
    assert taken.status["history"][0]["changes"] == ["queries[a].trigger"]
    assert taken.status["history"][1]["endTime"] == "2026-03-01T12:01:00Z"
    Status.model_validate(kept(changed, taken)["status"])


UPDATING: list[tuple[str, list[str], str, str]] = [
    # what runs | states of the queries a, b, c | those that still end a batch of the document before | outcome
    ("both run their new plans", ["Running", "Idle"], "", "Healthy"),
    ("a batch of the old plan", ["Running", "Idle"], "a", "Progressing"),
    ("an idle query that has not stopped yet", ["Running", "Idle"], "b", "Progressing"),
    ("one new plan without a batch, one old plan", ["Starting", "Running"], "b", "Progressing"),
    ("both are old", ["Running", "Running"], "ab", "Progressing"),
    ("a query that has failed under the old plan", ["Failed", "Idle"], "a", "Progressing"),
    ("a query that restarts under the old plan", ["Restarting", "Idle"], "a", "Progressing"),
    ("a query that has failed under the new plan", ["Failed", "Idle"], "b", "Progressing"),
    ("a query that leaves the document", ["Running", "Idle", "Running"], "c", "Progressing"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("states", "updating", "outcome"), [row[1:] for row in UPDATING], ids=[row[0] for row in UPDATING]
)
def test_a_revision_is_healthy_only_once_every_query_runs_its_plan(
    states: list[str], updating: str, outcome: str
) -> None:
    made = reporting(kept(body(), next_step(body(), running(body()))), "Running", "Idle", runs=OLD)
    made = body(SLOWER, kept(made, next_step(made, running(body())))["status"], generation=2)
    its_pod = running(body())
    its_pod["metadata"]["annotations"][UPDATE] = NEW
    made = reporting(made, *states, runs=NEW)
    made["status"]["queries"] = [
        query | ({"updating": True} if query["name"] in updating else {})
        for query in made["status"]["queries"]
    ]
    taken = next_step(made, its_pod, now=at(60))
    assert entries(taken)[0] == (NEW, 2, outcome)
    active = condition(taken, "QueriesActive")
    assert (active[0] == "True") == (outcome == "Healthy")
    failed = [name for name, state in zip("ab", states, strict=False) if state == "Failed"]
    if set(failed) <= set(updating) and outcome != "Healthy":
        assert active[1] == "QueriesStarting"
        assert active[2].endswith(f"still end a batch of the document before: {', '.join(updating)}")
    Status.model_validate(kept(made, taken)["status"])


def test_a_revision_that_never_got_healthy_is_replaced() -> None:
    made = body(SLOWER, kept(body(), next_step(body(), running(body())))["status"], generation=2)
    starts = next_step(made, None, gone=ended(body(), 0, "drained"))
    assert entries(starts) == [(NEW, 2, "Progressing"), (OLD, 1, "Replaced")]


def test_a_refused_change_is_an_entry_once_and_the_running_revision_continues() -> None:
    made = reporting(body(status=status("Running", body())), "Running", "Idle", runs=OLD)
    made = body(SLOWER, kept(made, next_step(made, running(body())))["status"], generation=2)
    refused = {"refused_changes": (RefusedQuery("a", "m"),), "current": revision(body())}
    first = next_step(made, running(body()), difference=("queries[a].trigger",), **refused)
    assert entries(first) == [(NEW, 2, "Rejected"), (OLD, 1, "Healthy")]
    assert first.status["history"][0]["reason"] == "CheckpointIncompatible"
    assert first.status["history"][0]["changes"] == ["queries[a].trigger"]
    again = next_step(kept(made, first), running(body()), now=at(300), **refused)
    assert again.status["history"] == first.status["history"]


def test_a_permanent_failure_after_all_were_active_ends_the_health_of_a_revision() -> None:
    made = reporting(body(), "Running", "Idle", runs=OLD)
    made = kept(made, next_step(made, running(body())))
    broken = next_step(reporting(made, "Failed", "Idle", runs=OLD), running(body()))
    assert entries(broken) == [(OLD, 1, "Failed")]
    waits = next_step(reporting(made, "Restarting", "Idle", runs=OLD), running(body()))
    assert entries(waits) == [(OLD, 1, "Healthy")]
    mended = next_step(reporting(kept(made, broken), "Running", "Idle", runs=OLD), running(body()))
    assert entries(mended) == [(OLD, 1, "Healthy")]


def test_an_upgrade_of_the_operator_writes_no_history_until_something_else_changes() -> None:
    made = reporting(body(), "Running", "Idle", runs=OLD)
    made = kept(made, next_step(made, running(body())))
    del made["status"]["history"]
    same = next_step(made, running(body()), now=at(60))
    assert same.status == {
        key: value for key, value in made["status"].items() if key not in ("queries", "reported")
    }
    changed = body(SLOWER, made["status"], generation=2)
    known = {"current": revision(body()), "change": DocumentChange()}
    assert entries(next_step(changed, running(body()), **known)) == [(OLD, 1, "Healthy")]


def entry(number: int, outcome: str, *, ended: bool = True) -> dict[str, Any]:
    time = "2026-03-01T11:00:00Z"
    return {
        "revision": f"{number:08d}",
        "generation": number,
        "outcome": outcome,
        "startTime": time,
        **({"endTime": time} if ended else {}),
    }


def test_ten_entries_stay_and_refused_ones_never_push_out_what_runs_or_the_healthy_one_before() -> None:
    before = [
        *(entry(number, "Rejected") for number in range(30, 20, -1)),
        {**entry(20, "Progressing", ended=False), "revision": OLD},
        entry(19, "Replaced"),
        entry(18, "Healthy"),
    ][: KEPT_ENTRIES + 3]
    made = body(status=status("Starting", body(), history=before))
    after = next_step(made, running(body())).status["history"]
    assert len(after) == KEPT_ENTRIES
    assert [each["generation"] for each in after[-2:]] == [20, 18]
    assert after[0]["generation"] == 30


def test_the_history_gives_way_if_the_status_is_too_long() -> None:
    long = [
        {**entry(number, "Healthy"), "changes": ["x" * 80] * MAX_CHANGES} for number in range(KEPT_ENTRIES)
    ]
    whole = {"conditions": [{"type": "Ready", "message": "m" * 4096}] * 10, "history": long}
    fitted = pipeline_status.fitted(whole, {"queries": [{"message": "m" * (MAX_BYTES - 6 * 1024)}]})
    assert len(json.dumps(fitted)) < 6 * 1024
    assert [each["revision"] for each in fitted["history"]] == [each["revision"] for each in long]


@pytest.mark.parametrize(
    ("changed", "fields"),
    [
        (SLOWER, ["queries[a].trigger"]),
        ({**SPEC, "image": "registry.example/other:1"}, ["image"]),
        ({**SPEC, "driver": {"heap": "900m"}}, ["driver.heap"]),
        ({**SPEC, "queries": SPEC["queries"][:1]}, ["queries[b]"]),
        ({**SPEC, "queries": SPEC["queries"][::-1]}, ["queries"]),
        ({**SPEC, "restart": {"backoff": "9 seconds"}}, ["restart.backoff"]),
        ({**SPEC, "spark": {"conf": {"spark.sql.x": "1"}}}, ["spark.conf"]),
        ({**SPEC, "queries": [{**SPEC["queries"][0], "to": [{"name": "out", "console": {"numRows": 5}}]}, SPEC["queries"][1]]}, ["queries[a].to"]),
        ({**SPEC, "rollback": {"policy": "Never"}}, []),
    ],
)  # fmt: skip
def test_the_changes_name_items_and_fields(changed: dict[str, Any], fields: list[str]) -> None:
    old, new = revision(body()), revision(body(changed))
    assert list(change(old.text, new.text).fields) == fields


def test_a_long_list_of_changes_ends_with_a_number() -> None:
    fields = listed([f"queries[{number}].{'x' * 90}" for number in range(20)])
    assert len(fields) == MAX_CHANGES
    assert fields[-1] == "13 more"
    assert max(map(len, fields)) == 80
    assert changed_fields(revision(body()).pipeline.spec, revision(body()).pipeline.spec) == []


def test_the_policy_of_the_rollback_is_no_part_of_the_revision() -> None:
    assert revision(body({**SPEC, "rollback": {"policy": "Never"}})).name == OLD
