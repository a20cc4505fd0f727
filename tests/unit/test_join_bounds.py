"""The sides of a join of streams of whose state the checks warn, and `explain` too."""

import pytest
from documents.join_shapes import BOTH, FEW, LEFT, MORE, NONE, RIGHT, Shape
from mainstem.errors import Problem
from mainstem.explain.meaning import meaning
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.rules.registry import check
from mainstem.language.yaml.yamltext import YamlText


pytestmark = [pytest.mark.S21]

SIDES = {NONE: "", LEFT: "its left side", RIGHT: "its right side", BOTH: "both sides"}


def warnings(shape: Shape, reason: str) -> list[str]:
    problems = checked(shape)
    assert all(problem.warning or problem.reason == "JoinRowsLost" for problem in problems), problems
    return [problem.message for problem in problems if problem.reason == reason]


def checked(shape: Shape) -> list[Problem]:
    data = shape.document()
    return check(Graph(StreamingPipeline.model_validate(data)), YamlText(data), {})


@pytest.mark.parametrize("shape", [*FEW, *MORE], ids=lambda shape: shape.sql)
def test_validate_and_explain_warn_of_the_same_sides(shape: Shape) -> None:
    assert all(kept or not reported for kept, reported in zip(shape.kept, shape.reported, strict=True))
    text = warnings(shape, "StateUnbounded")
    assert [SIDES[shape.reported] in message for message in text] == ([True] if any(shape.reported) else [])
    [query] = meaning(Graph(StreamingPipeline.model_validate(shape.document())))["queries"]
    assert bool(query["state"]["warnings"]) is any(shape.reported)


@pytest.mark.parametrize(
    ("condition", "level"),
    [
        ("b.ts BETWEEN a.ts AND a.ex", "error"),
        ("b.ts > a.ts AND a.ex > b.ts", "error"),
        ("a.ts <= b.ts AND b.ts - INTERVAL 1 HOUR < a.ex", "error"),
        ("b.ts <= a.ex", "warning"),
        ("b.ts - INTERVAL 1 HOUR < a.ex", "warning"),
        ("b.ts BETWEEN a.ts - INTERVAL 1 HOUR AND a.ex", "warning"),
        ("b.ts BETWEEN a.ex - INTERVAL 1 HOUR AND a.ex", "warning"),
        ("b.ts <= a.ts AND b.ts <= a.ex", "none"),
        ("b.ts BETWEEN a.ts AND a.ex AND b.ts <= a.ts + INTERVAL 1 DAY", "none"),
        ("b.ts BETWEEN a.ts AND a.ex AND a.ts = b.ts", "none"),
        ("b.ts >= a.ex", "none"),
        ("b.ex <= a.ts", "none"),
        ("b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR", "none"),
    ],
)
def test_a_join_bound_that_loses_rows_is_rejected(condition: str, level: str) -> None:
    shape = Shape(f"SELECT a.k FROM a JOIN b ON a.k = b.k AND {condition}", NONE)
    problems = [problem for problem in checked(shape) if problem.reason == "JoinRowsLost"]
    assert all("a.ex" in problem.message and "'ts'" in problem.message for problem in problems)
    assert ["warning" if problem.warning else "error" for problem in problems] == [level] * (level != "none")
