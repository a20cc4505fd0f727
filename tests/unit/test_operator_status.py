"""The status as a whole: it fits, it is one of the model's, whatever the driver and the scheduler say."""

import json
from typing import Any

import pytest
from harness.sampling import sampled
from mainstem.language.model.status.pipeline_status import MAX_BYTES, Status
from mainstem.runtime.driver.status_report import BUDGET
from mainstem_operator.decisions.pipeline_status import DRIVERS_PART
from unit.operator_steps import SPEC, at, body, ended, next_step, reported, revision, running, status


def wide(message: str) -> dict[str, Any]:
    """A driver's part about 64 queries that fills its budget."""
    name = "q" * 55
    query = {
        "state": "Failed",
        "reason": "R" * 128,
        "message": message,
        "lastProgressTime": "2026-03-01T00:00:00Z",
    }
    queries: list[dict[str, Any]] = [{"name": f"{name}{number}", **query} for number in range(64)]
    part: dict[str, Any] = {
        "summary": {"queries": "0/64", "executorsMessage": "x" * 1024},
        "reported": reported("Idle")["reported"],
    }
    part["queries"] = queries
    spare = (BUDGET - len(json.dumps(part))) // 64
    for entry in queries:
        entry["checkpoint"] = "c" * max(0, spare - 20)
    assert len(json.dumps(part)) <= BUDGET
    return part


MANY = {
    **SPEC,
    "queries": [{**SPEC["queries"][0], "name": f"{'q' * 55}{number}"} for number in range(64)],
    "checkpoints": {"location": "s3a://checkpoints/" + "c" * 900},
}
BROKEN = {
    **MANY,
    "queries": [{**query, "from": f"nothing_{number}"} for number, query in enumerate(MANY["queries"])],
}


@pytest.mark.parametrize("state", sampled(["Failed", "Restarting", "Starting", "Running"], every=2))
@pytest.mark.parametrize("document", [MANY, BROKEN], ids=["many", "broken"])
def test_the_longest_status_fits(state: str, document: dict[str, Any]) -> None:
    pipeline = body(MANY)
    part = wide("")
    part["queries"] = [{**query, "state": state} for query in part["queries"]]
    before = ended(pipeline, 4, "failed", "R" * 500)
    terminated = before["status"]["containerStatuses"][0]["state"]["terminated"]
    words = {"outcome": "failed", "reason": "R" * 128, "message": "m" * 900}
    words |= {"queries": [{"name": query["name"], "batch": 10**6} for query in MANY["queries"][:32]]}
    terminated["message"] = json.dumps(words)
    assert len(terminated["message"]) <= 4096
    dead = next_step({**pipeline, "status": status("Running", pipeline)}, before).status
    new = body(document, {**dead, **part, "attempt": 1}, generation=2)
    plan = next_step(new, running(pipeline), current=revision(pipeline), refused=None, now=at(1000))
    whole = {**part, **plan.status}
    Status.model_validate(whole)
    assert len(json.dumps(whole).encode()) <= MAX_BYTES
    assert not set(DRIVERS_PART) & plan.status.keys()
    again = next_step({**new, "status": whole}, running(pipeline), current=revision(pipeline), now=at(1001))
    assert again.status == plan.status
