"""What is refused of streams without Spark: the whole matrix of plans and output modes."""

import json

import pytest
from documents.stream_plans import LATE, MODES, RANGE, ROWS, Row
from mainstem.spec.document import read_text
from mainstem.spec.graph import Graph
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.rules import check
from mainstem.spec.yamltext import Text


pytestmark = [pytest.mark.S19, pytest.mark.S20, pytest.mark.S21]


def said(row: Row, mode: str) -> list[tuple[str, bool]]:
    """Every reason, and whether it is a lint."""
    data = row.document(mode)
    problems = check(StreamingPipeline.model_validate(data), Text(data), {})
    return [(problem.reason, problem.warning) for problem in problems if problem.reason != "Unread"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", ROWS + LATE, ids=lambda row: row.id)
def test_refused_for_its_reason_and_no_other_is_needed(row: Row, mode: str) -> None:
    refused = [reason for reason, warning in said(row, mode) if not warning]
    assert (row.reason(mode) in refused) if row.reason(mode) else refused == []


@pytest.mark.parametrize(
    ("sql", "warned"),
    [
        ("SELECT a.k FROM a JOIN b ON a.k = b.k", True),
        ("SELECT a.k FROM a JOIN c ON a.k = c.k", True),
        (f"SELECT a.k FROM a JOIN b ON a.k = b.k AND b.ts {RANGE}", False),
        ("SELECT a.k FROM a JOIN b ON a.k = b.k AND a.ts = b.ts", False),
        ("SELECT a.k FROM a JOIN t ON a.k = t.k", False),
        ("SELECT a.k FROM a NATURAL JOIN b", False),
        ("SELECT a.k FROM a, b WHERE a.k = b.k", True),
        (f"SELECT a.k FROM a JOIN b ON b.ts {RANGE}", False),
    ],
)
def test_an_inner_join_that_keeps_all_is_told(sql: str, warned: bool) -> None:
    assert (("StateUnbounded", True) in said(Row(sql), "append")) is warned


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, my_count(v) AS n FROM c",  # perhaps an aggregate of the user's own
        "SELECT * FROM c PIVOT (sum(v) FOR k IN ('x'))",
        "SELECT * FROM c, LATERAL (SELECT count(*) AS n FROM t) u",
        "SELECT * FROM elsewhere",
    ],
)
def test_doubt_refuses_nothing(sql: str) -> None:
    for mode in MODES:
        assert [reason for reason, warning in said(Row(sql), mode) if not warning] in (
            [],
            ["UnknownRelation"],
        )


@pytest.mark.parametrize(
    "join",
    [
        ", b WHERE a.k IN (b.k)",
        "JOIN b ON NOT (a.k <> b.k)",
        "JOIN b ON equal_null(a.k, b.k)",
        "JOIN b ON mine(a.k, b.k)",
        "NATURAL JOIN b",
    ],
)
def test_an_equality_may_be_written_otherwise(join: str) -> None:
    assert [
        reason for reason, warning in said(Row(f"SELECT a.k FROM a {join}"), "append") if not warning
    ] == []


def test_a_text_beyond_all_depth_is_unknown() -> None:
    deep = " UNION ALL ".join(["SELECT k FROM a"] * 600)
    [document] = read_text(json.dumps(Row(deep).document("append")))
    assert Graph(document.pipeline).plan("v").streams in (True, None)


def test_a_problem_is_told_once_at_its_place() -> None:
    row = Row("SELECT u.k FROM t u LEFT JOIN w ON u.k = w.k", below="SELECT a.k FROM a")
    data = row.document("append")
    data["spec"]["queries"].append(data["spec"]["queries"][0] | {"name": "again"})
    problems = check(StreamingPipeline.model_validate(data), Text(data), {})
    assert [(p.path, p.reason) for p in problems if p.reason != "Unread"] == [
        ("spec.views[1].sql", "JoinNotAllowed")
    ]
