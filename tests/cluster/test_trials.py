"""A change is tried on a cluster, in a pod beside the running driver: it differs, and is applied only once it is promoted."""

import json
from typing import Any

import pytest
from cluster.deployment import Pipeline, within
from cluster.test_lives import small, uid


pytestmark = [
    pytest.mark.bare,
    pytest.mark.S37,
    pytest.mark.timeout(900),
    pytest.mark.full(
        gate="apiserver/test_operator_trials.py::test_a_change_is_tried_beside_the_driver_and_applied_only_on_request"
    ),
]


def numbers(condition: str) -> list[dict[str, Any]]:
    return [{"name": "numbers", "sql": f"SELECT value FROM ticks WHERE {condition}"}]


def batch(pipeline: Pipeline) -> int:
    [query] = pipeline.status()["queries"]
    return int(query.get("batch", -1))


def trial_pod(pipeline: Pipeline) -> dict[str, Any] | None:
    text = pipeline.kubectl("get", "pod", f"{pipeline.name}-trial", "-o", "json", "--ignore-not-found")
    return json.loads(text) if text.strip() else None


def trial(pipeline: Pipeline, phase: str, seconds: int) -> dict[str, Any]:
    """`status.trial`, once it has a phase."""
    try:
        reached: dict[str, Any] = within(
            seconds,
            f"the trial {phase}",
            lambda: (known := pipeline.status().get("trial", {})).get("phase") == phase and known,
        )
    except AssertionError as error:
        log = pipeline.kubectl("logs", f"{pipeline.name}-trial") if trial_pod(pipeline) else "no trial pod"
        raise AssertionError(f"{error}\n{pipeline.diagnosis()}\n{log}") from None
    return reached


def test_a_change_that_alters_rows_waits_beside_the_running_driver_until_it_is_promoted(
    pipeline: Pipeline,
) -> None:
    document = small(
        pipeline.name, views=numbers("value % 2 = 0"), trial={"batches": 2, "timeout": "10 minutes"}
    )
    document["spec"]["queries"][0]["from"] = "numbers"
    pipeline.apply(document)
    pipeline.wait("Ready", 240)
    within(90, "five batches", lambda: batch(pipeline) >= 4)
    driver, first = uid(pipeline), pipeline.status()["revision"]
    pipeline.patch(views=numbers("value % 3 = 0"))
    trial(pipeline, "Running", 60)
    began = batch(pipeline)
    result = trial(pipeline, "Differs", 480)
    [query] = result["queries"]
    assert (query["name"], query["outcome"]) == ("show", "differs")
    assert query["onlyOld"] > 0
    assert query["onlyNew"] > 0
    assert pipeline.condition("DocumentApplied")["reason"] == "TrialDiffers"
    assert "only old" in pipeline.kubectl("logs", f"{pipeline.name}-trial")
    assert batch(pipeline) > began, "the driver wrote no batch during the trial"
    assert (uid(pipeline), pipeline.status()["revision"]) == (driver, first)
    code, text = pipeline.plugin("promote", pipeline.name)
    assert (code, result["revision"] in text) == (0, True), text
    within(120, "the promoted revision", lambda: pipeline.status()["revision"] == result["revision"])
    pipeline.wait("Ready", 120)
    assert trial(pipeline, "Promoted", 1)["revision"] == result["revision"]
    assert uid(pipeline) == driver, "the running driver takes the document over"
    within(60, "no trial pod", lambda: trial_pod(pipeline) is None)
    applied = batch(pipeline)
    within(60, "further batches", lambda: batch(pipeline) > applied)
    code, text = pipeline.plugin("promote", pipeline.name)
    assert (code, "[NothingOnTrial]" in text) == (5, True), text
