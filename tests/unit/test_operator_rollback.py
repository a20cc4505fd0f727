"""A changed document that fails: the operator returns to the last healthy revision, and remembers the one that failed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from mainstem.changes.consequences import RefusedQuery
from mainstem.names import UPDATE
from mainstem_operator.decisions import revisions, rollback
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.history import driver_history
from mainstem_operator.decisions.observed_ages import with_ages
from mainstem_operator.decisions.plan import plan
from mainstem_operator.observed.ages import Ages
from mainstem_operator.observed.conditions import timestamp
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.revision_entries import last_healthy
from mainstem_operator.validation.documents import DocumentChange, validate
from unit.operator_steps import (
    NOW,
    SETTINGS,
    SPEC,
    at,
    body,
    condition,
    ended,
    moment,
    pod,
    reported,
    revision,
    running,
    status,
)


HEALTHY = body()
CHANGED = {**SPEC, "image": "registry.example/other:1"}
OLD, NEW = revision(HEALTHY).name, revision(body(CHANGED)).name
IMAGE = DocumentChange(driver=("spec.image",))
LATE = 601.0
"""Seconds after the deadline of the change."""


def history(
    outcome: str = "Progressing", *, before: str = "Healthy", attempt: int = 2
) -> list[dict[str, Any]]:
    """The changed revision runs since `NOW`, after the healthy one."""
    began = timestamp(NOW)
    return [
        {"revision": NEW, "generation": 2, "outcome": outcome, "attempt": attempt, "startTime": began},
        {
            "revision": OLD,
            "generation": 1,
            "outcome": before,
            "attempt": 1,
            "startTime": began,
            "endTime": began,
        },
    ]


def pipeline(phase: str = "Starting", spec: Mapping[str, Any] = CHANGED, **more: Any) -> dict[str, Any]:
    """The pipeline with the changed document, whose driver has the start number 2."""
    part = more.pop("part", {})
    known = {"history": history(), "attempt": 2} | more
    return body(spec, status(phase, body(CHANGED), **known) | part, generation=2)


def failed(*states: str, **query: Any) -> dict[str, Any]:
    """The report of the driver that runs the changed document."""
    part = reported(*states, attempt=2, **query)
    part["reported"]["revision"] = NEW
    return part


def look(
    made: Mapping[str, Any],
    its_pod: Mapping[str, Any] | None = None,
    *,
    seconds: float = 5,
    way_back: DocumentChange = IMAGE,
    ages: Ages | None = None,
    **more: Any,
) -> Observation:
    """What an operator sees so many seconds after the change, as `loop.observer` puts it together."""
    given: dict[str, Any] = {"validation": validate(made), "now": at(seconds), "settings": SETTINGS} | more
    observed = Observation(body=made, pod=its_pod, **given)
    observed = with_ages(observed, ages or Ages(), moment(at(seconds)))
    if rollback.target(observed, driver_history(observed)) is None:
        return observed
    return replace(observed, healthy=revision(HEALTHY), way_back=way_back, change=way_back)


def step(made: Mapping[str, Any], its_pod: Mapping[str, Any] | None = None, **more: Any) -> Plan:
    return plan(look(made, its_pod, **more))


def changed_pod(make: Any = pod, *arguments: Any, **more: Any) -> dict[str, Any]:
    """A pod of the changed document's driver."""
    made: dict[str, Any] = make(body(CHANGED, generation=2), *arguments, attempt=2, **more)
    made["spec"]["nodeName"] = "node-1"
    made["metadata"]["creationTimestamp"] = timestamp(NOW)
    return made


def waits(reason: str) -> dict[str, Any]:
    return changed_pod(pod, state={"waiting": {"reason": reason, "message": "because"}})


def unscheduled() -> dict[str, Any]:
    made = changed_pod(
        pod,
        conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}],
    )
    del made["spec"]["nodeName"]
    return made


def target(next_plan: Plan) -> str | None:
    """The revision to which the plan returns; `-` if it decides nothing."""
    written = next_plan.status.get("rollback")
    return "-" if written is None else written.get("target")


TWICE = {"restarts": 2, "lastFailure": {"class": "Driver", "reason": "Error", "attempt": 3, "inARow": 2}}
TABLE: list[tuple[str, dict[str, Any], dict[str, Any] | None, dict[str, Any], bool]] = [
    # what happens | the pipeline | its pod | what else is known | whether it is rolled back
    ("image missing, within its deadline", pipeline(), waits("ErrImagePull"), {"seconds": 299}, False),
    ("image missing, after its deadline", pipeline(), waits("ImagePullBackOff"), {"seconds": 301}, True),
    (
        "image missing, and the change does not concern it",
        pipeline(),
        waits("ImagePullBackOff"),
        {"seconds": LATE, "way_back": DocumentChange()},
        False,
    ),
    ("Secret missing", pipeline(), waits("CreateContainerConfigError"), {"seconds": 301}, True),
    ("no node, and the change does not concern the pod", pipeline(), unscheduled(), {"seconds": LATE}, False),
    (
        "no node for a larger pod",
        pipeline(),
        unscheduled(),
        {"seconds": LATE, "way_back": DocumentChange(driver=("spec.driver.resources",))},
        True,
    ),
    ("the driver starts", pipeline(), changed_pod(running), {"seconds": 599}, False),
    ("the driver never reports", pipeline(), changed_pod(running), {"seconds": LATE}, True),
    ("Spark rejects the document", pipeline(), changed_pod(ended, 3, "failed", "SpecInvalid"), {}, True),
    ("all queries fail", pipeline(), changed_pod(ended, 4, "failed", "QueryFailed"), {}, True),
    ("the driver crashes once", pipeline(), changed_pod(ended, 1), {}, False),
    ("the driver crashes twice", pipeline(attempt=3, **TWICE), ended(body(CHANGED), 1, attempt=3), {}, True),
    (
        "the driver crashes once, and had failed before it took the change over",
        pipeline(attempt=3, history=history(attempt=3), **TWICE),
        ended(body(CHANGED), 1, attempt=3),
        {},
        False,
    ),
    (
        "it is evicted",
        pipeline(),
        changed_pod(pod, phase="Failed", reason="Evicted"),
        {"seconds": LATE},
        False,
    ),
    ("it is drained", pipeline(), changed_pod(ended, 0, "drained"), {"seconds": LATE}, False),
    (
        "no broker at the start",
        pipeline(),
        changed_pod(ended, 5, "failed", "BrokerUnreachable"),
        {"seconds": LATE},
        False,
    ),
    (
        "no broker at the start, and the change concerns connections",
        pipeline(),
        changed_pod(ended, 5, "failed", "BrokerUnreachable"),
        {"seconds": LATE, "way_back": DocumentChange(driver=("spec.connections[broker]",))},
        True,
    ),
    ("a query fails", pipeline(part=failed("Failed", "Idle")), changed_pod(running), {}, True),
    ("a query restarts", pipeline(part=failed("Restarting", "Idle")), changed_pod(running), {}, False),
    (
        "a query restarts until the end",
        pipeline(part=failed("Restarting", "Idle")),
        changed_pod(running),
        {"seconds": LATE},
        True,
    ),
    (
        "a query waits for a topic until the end",
        pipeline(part=failed("Waiting", reason="TopicNotFound")),
        changed_pod(running),
        {"seconds": LATE},
        True,
    ),
    (
        "a query waits for a store until the end",
        pipeline(part=failed("Waiting", reason="StoreUnreachable")),
        changed_pod(running),
        {"seconds": LATE},
        False,
    ),
    (
        "a query waits for the end of another query until the end",
        pipeline(part=failed("Waiting", reason="WriterNotEnded")),
        changed_pod(running),
        {"seconds": LATE},
        False,
    ),
    (
        "no batch until the end",
        pipeline(part=failed("Starting")),
        changed_pod(running),
        {"seconds": LATE},
        True,
    ),
    (
        "a query ends a long batch of the document before",
        pipeline(part=failed("Starting", updating=True)),
        changed_pod(running),
        {"seconds": LATE},
        False,
    ),
    (
        "a newer driver has a checkpoint",
        pipeline(part=failed("Failed", reason="Fenced")),
        changed_pod(running),
        {},
        False,
    ),
    (
        "healthy, and fails soon",
        pipeline(part=failed("Failed"), history=history("Healthy")),
        changed_pod(running),
        {"seconds": 500},
        True,
    ),
    (
        "healthy, and fails later",
        pipeline(part=failed("Failed"), history=history("Healthy")),
        changed_pod(running),
        {"seconds": LATE},
        False,
    ),
    (
        "healthy, and waits later",
        pipeline(part=failed("Waiting"), history=history("Healthy")),
        changed_pod(running),
        {"seconds": 500},
        False,
    ),
    (
        "the one before was not healthy",
        pipeline(part=failed("Failed"), history=history(before="Failed")),
        changed_pod(running),
        {},
        False,
    ),
    (
        "nothing ran before",
        pipeline(part=failed("Failed"), history=history()[:1]),
        changed_pod(running),
        {},
        False,
    ),
    (
        "rollback.policy is Never",
        pipeline(spec={**CHANGED, "rollback": {"policy": "Never"}}, part=failed("Failed")),
        changed_pod(running),
        {},
        False,
    ),
    (
        "a shorter deadline",
        pipeline(spec={**CHANGED, "rollback": {"progressDeadline": "1 minute"}}, part=failed("Starting")),
        changed_pod(running),
        {"seconds": 61},
        True,
    ),
]


@pytest.mark.parametrize(
    ("made", "its_pod", "more", "back"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_only_a_failure_that_the_change_can_have_caused_rolls_it_back(
    made: dict[str, Any], its_pod: dict[str, Any] | None, more: dict[str, Any], back: bool
) -> None:
    next_plan = step(made, its_pod, **more)
    assert target(next_plan) == (OLD if back else "-")
    assert condition(next_plan, "RolledBack")[0] == ("True" if back else "-")
    if back:
        assert next_plan.stop


def test_a_failed_new_query_ends_the_wait_only_at_the_deadline() -> None:
    """The others run, so there is time to mend its input by hand."""
    added = [*CHANGED["queries"], {**SPEC["queries"][0], "name": "c"}]
    made = pipeline(spec={**CHANGED, "queries": added}, part=failed("Idle", "Idle", "Failed"))
    name = revision(made).name
    made["status"]["reported"]["revision"] = name
    made["status"]["history"][0]["revision"] = name
    its_pod = changed_pod(running)
    its_pod["metadata"]["annotations"]["mainstem.dev/revision"] = name
    assert target(step(made, its_pod)) == "-"
    assert target(step(made, its_pod, seconds=LATE)) == OLD


def test_the_user_sees_what_failed_what_runs_and_what_to_do() -> None:
    next_plan = step(pipeline(), waits("ImagePullBackOff"), seconds=301)
    state, reason, message = condition(next_plan, "RolledBack")
    assert (state, reason) == ("True", "RolledBack")
    assert message == (
        f"revision {NEW} failed: ImagePullBackOff: because; revision {OLD} runs in its place. Change the document, or "
        "set another spec.restartNonce to try the same one again"
    )
    assert condition(next_plan, "Ready")[:2] == ("False", "RolledBack")
    assert condition(next_plan, "Stalled")[:2] == ("True", "RolledBack")
    assert next_plan.status["reason"] == "RolledBack"
    assert [event.reason for event in next_plan.events].count("RolledBack") == 1
    assert condition(next_plan, "DriverRunning")[1] == "RolledBack"
    [entry, before] = next_plan.status["history"]
    assert (entry["outcome"], entry["reason"], before["outcome"]) == (
        "RolledBack",
        "ImagePullBackOff",
        "Healthy",
    )


def after(made: dict[str, Any], next_plan: Plan) -> dict[str, Any]:
    parts = {key: made["status"][key] for key in ("queries", "summary", "reported") if key in made["status"]}
    return made | {"status": {**parts, **next_plan.status, **(next_plan.driver_part or {})}}


def test_the_healthy_revision_starts_and_starts_again_after_a_failure_and_a_restart_of_the_operator() -> None:
    made = pipeline()
    made = after(made, step(made, waits("ImagePullBackOff"), seconds=301))
    starts = step(made, None, seconds=310)
    assert starts.start is not None
    assert (starts.start.revision.name, starts.start.attempt) == (OLD, 3)
    assert starts.start.run == "generation-2-rollback"
    made = after(made, starts)
    assert [entry["outcome"] for entry in made["status"]["history"]] == [
        "Progressing",
        "RolledBack",
        "Healthy",
    ]
    crashed = ended(HEALTHY, 1, attempt=3, finished=400)
    backs_off = step(made, crashed, seconds=401)
    assert (backs_off.status["phase"], condition(backs_off, "Ready")[1]) == ("BackingOff", "RolledBack")
    again = step(after(made, backs_off), None, seconds=500, gone=crashed)
    assert again.start is not None
    assert (again.start.revision.name, again.start.attempt) == (OLD, 4)


def test_the_running_driver_gets_the_healthy_document_back() -> None:
    its_pod = running(HEALTHY, attempt=2)
    its_pod["metadata"]["annotations"][UPDATE] = NEW
    made = pipeline("Running", part=failed("Failed", "Idle"))
    next_plan = step(made, its_pod, way_back=DocumentChange())
    assert (next_plan.update and next_plan.update.name, next_plan.stop) == (OLD, False)
    assert condition(next_plan, "DocumentApplied")[0] == "-"
    made = after(made, next_plan)
    refused = {"revision": OLD, "reason": "UNRESOLVED_COLUMN", "message": "because", "retried": False}
    made["status"]["reported"] |= {"refused": refused}
    its_pod["metadata"]["annotations"][UPDATE] = OLD
    assert step(made, its_pod, way_back=DocumentChange()).stop, "a driver that refuses it is replaced"
    made["status"]["reported"] = {**made["status"]["reported"], "revision": OLD}
    del made["status"]["reported"]["refused"]
    made["status"]["queries"][0]["state"] = "Running"
    runs = step(made, its_pod, way_back=DocumentChange())
    assert (runs.update, runs.stop, runs.start) == (None, False, None)
    assert condition(runs, "QueriesActive")[0] == "True"
    assert condition(runs, "Ready")[:2] == ("False", "RolledBack")


@pytest.mark.parametrize(
    ("part", "possible"),
    [
        (failed("Failed", batch=7), False),
        (failed("Failed", batch=None), True),
        ({}, True),
    ],
    ids=["committed", "no batch", "never ran"],
)
def test_no_rollback_to_a_checkpoint_that_the_changed_document_has_written(
    part: dict[str, Any], possible: bool
) -> None:
    for query in part.get("queries", ()):
        if query["batch"] is None:
            del query["batch"]
    misreads = DocumentChange((RefusedQuery("a", "the query 'a' misreads"),), ("spec.image",))
    its_pod = changed_pod(running) if part else waits("ImagePullBackOff")
    next_plan = step(pipeline(part=part), its_pod, seconds=301, way_back=misreads)
    assert target(next_plan) == (OLD if possible else None)
    if not possible:
        assert not next_plan.stop
        state, reason, message = condition(next_plan, "RolledBack")
        assert (state, reason) == ("False", "RollbackNotPossible")
        assert "the query 'a' misreads" in message
        assert condition(next_plan, "Stalled")[0] == "True"
        assert [event.reason for event in next_plan.events].count("RollbackNotPossible") == 1
        assert next_plan.status["history"][0]["outcome"] == "Failed"


def test_a_revision_that_could_not_be_rolled_back_and_gets_active_has_not_failed() -> None:
    record = {"revision": NEW, "reason": "QueryFailed", "message": "m", "time": timestamp(NOW)}
    made = pipeline("Degraded", part=failed("Running", "Idle"), rollback=record)
    next_plan = step(made, changed_pod(running))
    assert "rollback" not in next_plan.status
    assert condition(next_plan, "RolledBack")[0] == "-"
    assert condition(next_plan, "Ready")[0] == "True"


RECORD = {"revision": NEW, "target": OLD, "reason": "QueryFailed", "message": "m", "time": timestamp(NOW)}


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        (CHANGED, OLD),
        ({**CHANGED, "rollback": {"policy": "Never"}}, OLD),
        ({**CHANGED, "restartNonce": "2"}, NEW),
        (SPEC, OLD),
        (
            {**SPEC, "image": "registry.example/other:2"},
            revision(body({**SPEC, "image": "registry.example/other:2"})).name,
        ),
    ],
    ids=["unchanged", "only the policy", "another nonce", "undone", "edited"],
)
def test_a_failed_revision_is_tried_again_only_after_an_edit(spec: dict[str, Any], want: str) -> None:
    made = pipeline("Draining", spec, rollback=RECORD)
    next_plan = step(made, None)
    assert next_plan.start is not None
    assert next_plan.start.revision.name == want
    assert ("rollback" in next_plan.status) == (spec.get("image") == CHANGED["image"] and want == OLD)


def test_a_suspended_pipeline_remembers_the_failed_revision() -> None:
    made = pipeline("Suspended", {**CHANGED, "suspend": True}, rollback=RECORD)
    next_plan = step(made, None)
    assert next_plan.status["rollback"] == RECORD
    assert condition(next_plan, "Ready")[:2] == ("True", "Suspended")
    assert condition(next_plan, "RolledBack")[0] == "-"


def test_an_outage_begins_the_deadline_again() -> None:
    ages, its_pod = Ages(), changed_pod(running)

    def due(states: str, seconds: float, **query: Any) -> str | None:
        made = pipeline(part=failed(states, **query))
        observed = Observation(
            body=made, pod=its_pod, validation=validate(made), now=at(seconds), settings=SETTINGS
        )
        observed = with_ages(observed, ages, moment(at(seconds)))
        return rollback.target(observed, driver_history(observed))

    assert due("Starting", 0) is None
    assert due("Waiting", 100, reason="BrokerUnreachable") is None
    assert due("Starting", 1000) is None
    assert due("Starting", 1500) is None
    assert due("Starting", 1601) == OLD


@pytest.mark.parametrize("is_new_operator", [False, True], ids=["same operator", "new operator"])
@pytest.mark.parametrize(
    ("healthy", "back"), [(True, "-"), (False, OLD)], ids=["it was healthy", "it never was"]
)
def test_nothing_begins_the_deadline_of_a_healthy_revision_again(
    healthy: bool, back: str, is_new_operator: bool
) -> None:
    ages, known = Ages(), history("Healthy" if healthy else "Progressing")

    def returns(seconds: float, its_pod: Mapping[str, Any], **more: Any) -> str | None:
        made = pipeline(**{"history": known} | more)
        return target(step(made, its_pod, seconds=seconds, ages=Ages() if is_new_operator else ages))

    assert returns(0, changed_pod(running), part=failed("Idle" if healthy else "Starting")) == "-"
    assert returns(LATE, changed_pod(ended, 0, "drained"), part=failed("Idle")) == "-"
    crashed = ended(body(CHANGED), 1, attempt=20, started=LATE + 90, finished=LATE + 100)
    ran = {"type": "DriverRunning", "status": "False", "reason": "Error", "message": "m"}
    ran["lastTransitionTime"] = timestamp(at(LATE))
    once = {"class": "Driver", "reason": "Error", "attempt": 19, "inARow": 1}
    again = {"attempt": 20, "restarts": 1, "lastFailure": once, "conditions": [ran]}
    assert returns(LATE + 100, crashed, **again) == back


@pytest.mark.parametrize(
    "edited",
    [
        {**CHANGED, "queries": [{**SPEC["queries"][0], "from": "nothing"}]},
        {**CHANGED, "timeZone": "Asia/Tokyo"},
    ],
    ids=["invalid", "another revision"],
)
def test_an_edit_that_is_undone_does_not_begin_the_deadline_of_a_healthy_revision_again(
    edited: dict[str, Any],
) -> None:
    ages, known = Ages(), history("Healthy")

    def returns(
        seconds: float, its_pod: Mapping[str, Any], spec: Mapping[str, Any], **more: Any
    ) -> str | None:
        made = pipeline(spec=spec, **{"history": known} | more)
        return target(step(made, its_pod, seconds=seconds, ages=ages))

    assert returns(0, changed_pod(running), CHANGED, part=failed("Idle")) == "-"
    assert returns(LATE, changed_pod(running), edited, part=failed("Idle")) == "-"
    crashed = ended(body(CHANGED), 1, attempt=20, started=LATE + 90, finished=LATE + 100)
    once = {"class": "Driver", "reason": "Error", "attempt": 19, "inARow": 1}
    assert returns(LATE + 100, crashed, CHANGED, attempt=20, restarts=1, lastFailure=once) == "-"


def test_the_deadline_of_a_revision_that_is_healthy_at_once_begins_with_it() -> None:
    ages = Ages()

    def returns(seconds: float, **more: Any) -> str | None:
        return target(step(pipeline(**more), changed_pod(running), seconds=seconds, ages=ages))

    before = {**history()[1], "startTime": timestamp(NOW)}
    del before["endTime"]
    assert returns(LATE, history=[before], part=failed("Idle")) == "-"
    now, taken_over = timestamp(at(2 * LATE)), history("Healthy")
    taken_over[0]["startTime"] = now
    assert returns(2 * LATE, history=taken_over, part=failed("Idle")) == "-"
    assert returns(2 * LATE + 100, history=taken_over, part=failed("Failed")) == OLD


def test_a_revision_to_which_a_rollback_has_returned_is_not_rolled_back_to_an_older_one() -> None:
    [_, before] = history()
    older = {**before, "revision": "00000000"}
    returned = {key: value for key, value in before.items() if key != "endTime"} | {"outcome": "Progressing"}
    entries = [returned, {**before, "revision": NEW, "outcome": "RolledBack"}, before, older]
    assert last_healthy({"history": entries}, OLD) is None
    assert last_healthy({"history": [returned, older]}, OLD) == "00000000"


def test_documents_that_a_rollback_may_need_are_protected() -> None:
    assert revisions.protected({"history": history()}) == {OLD}
    assert revisions.protected({"history": history("Healthy")}) == {OLD, NEW}
    assert revisions.protected({"history": history(before="Failed"), "rollback": RECORD}) == {OLD}
    assert revisions.protected({}) == frozenset()
