"""The sides of a join of streams of whose state the checks warn, and `explain` too."""

import pytest
from documents.join_shapes import BOTH, FEW, LEFT, MORE, NONE, RIGHT, Shape
from mainstem.explain.meaning import meaning
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.rules import check
from mainstem.spec.yamltext import Text


pytestmark = [pytest.mark.S21]

SAID = {NONE: "", LEFT: "its left side", RIGHT: "its right side", BOTH: "both sides"}


def warnings(shape: Shape, reason: str) -> list[str]:
    data = shape.document()
    problems = check(StreamingPipeline.model_validate(data), Text(data), {})
    assert all(problem.warning for problem in problems), problems
    return [problem.message for problem in problems if problem.reason == reason]


@pytest.mark.parametrize("shape", [*FEW, *MORE], ids=lambda shape: shape.sql)
def test_validate_and_explain_warn_of_the_same_sides(shape: Shape) -> None:
    assert all(kept or not reported for kept, reported in zip(shape.kept, shape.reported, strict=True))
    said = warnings(shape, "StateUnbounded")
    assert [SAID[shape.reported] in message for message in said] == ([True] if any(shape.reported) else [])
    [query] = meaning(StreamingPipeline.model_validate(shape.document()))["queries"]
    assert bool(query["state"]["warnings"]) is any(shape.reported)


@pytest.mark.parametrize(
    ("condition", "warned"),
    [
        ("b.ts <= a.ex", True),
        ("b.ts BETWEEN a.ts AND a.ex", True),
        ("b.ts - INTERVAL 1 HOUR < a.ex", True),
        ("b.ts BETWEEN a.ts AND a.ex AND b.ts <= a.ts + INTERVAL 1 DAY", False),
        ("b.ts BETWEEN a.ts AND a.ex AND a.ts = b.ts", False),
        ("b.ts >= a.ex", False),
        ("b.ex <= a.ts", False),
        ("b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR", False),
    ],
)
def test_a_bound_by_a_column_that_is_no_event_time_is_warned_of(condition: str, warned: bool) -> None:
    shape = Shape(f"SELECT a.k FROM a JOIN b ON a.k = b.k AND {condition}", NONE)
    said = warnings(shape, "JoinRowsLost")
    assert ["a.ex" in message and "'ts'" in message for message in said] == ([True] if warned else [])
