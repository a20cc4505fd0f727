"""Streaming plans that are rejected without Spark: the whole matrix of plans and output modes."""

import json

import pytest
from documents.stream_plans import LATE, MODES, RANGE, ROWS, SILENT, Row
from harness.documents import pipeline_head
from mainstem.language.analysis.eligibility import obstacles
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.rules.registry import check
from mainstem.language.yaml.yamltext import YamlText


pytestmark = [pytest.mark.S19, pytest.mark.S20, pytest.mark.S21]


FUNCTIONS = ("mine", "my_count")


def reasons_of(row: Row, mode: str) -> list[tuple[str, bool]]:
    """Every reason, and whether it is a warning."""
    data = row.document(mode)
    data["spec"]["functions"] = [{"name": name, "java": {"class": "com.example.F"}} for name in FUNCTIONS]
    problems = check(Graph(StreamingPipeline.model_validate(data)), YamlText(data), {})
    return [(problem.reason, problem.warning) for problem in problems if problem.reason != "UnusedSource"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", [*ROWS, *LATE, SILENT], ids=lambda row: row.id)
def test_a_plan_is_rejected_only_for_its_reason(row: Row, mode: str) -> None:
    refused = [reason for reason, warning in reasons_of(row, mode) if not warning]
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
def test_an_inner_join_that_keeps_all_rows_is_a_warning(sql: str, warned: bool) -> None:
    assert (("StateUnbounded", True) in reasons_of(Row(sql), "append")) is warned


def test_groups_by_the_start_of_a_window_that_are_kept_for_ever_are_a_warning() -> None:
    sql = "SELECT w.start, count(*) AS n FROM (SELECT window(ts, '1 hour') AS w FROM a) GROUP BY w.start"
    assert reasons_of(Row(sql), "update") == [("StateUnbounded", True)]
    assert reasons_of(Row(sql), "complete") == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, my_count(v) AS n FROM c",  # perhaps an aggregate of the user's own
        "SELECT * FROM c PIVOT (sum(v) FOR k IN ('x'))",
        "SELECT * FROM c, LATERAL (SELECT count(*) AS n FROM t) u",
        "SELECT * FROM elsewhere",
    ],
)
def test_an_uncertain_plan_is_not_rejected(sql: str) -> None:
    for mode in MODES:
        assert [reason for reason, warning in reasons_of(Row(sql), mode) if not warning] in (
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
        f"JOIN b ON b.ts {RANGE} JOIN t ON a.k = b.k AND t.k = a.k",
    ],
)
def test_an_equality_is_recognised_in_other_forms(join: str) -> None:
    assert [
        reason for reason, warning in reasons_of(Row(f"SELECT a.k FROM a {join}"), "append") if not warning
    ] == []


def test_an_equality_above_the_join_is_recognised() -> None:
    for view, below in (
        ("SELECT k FROM w WHERE same", "SELECT a.k, a.k = b.k AS same FROM a, b"),
        ("SELECT w.k FROM w JOIN t ON w.k = w.l AND w.k = t.k", "SELECT a.k, b.k AS l FROM a, b"),
    ):
        assert [
            reason for reason, warning in reasons_of(Row(view, below=below), "append") if not warning
        ] == []


def test_a_text_beyond_the_depth_limit_is_unknown() -> None:
    deep = "SELECT k FROM (" * 600 + "SELECT k FROM a" + ")" * 600
    [document] = read_text(json.dumps(Row(deep).document("append")))
    assert document.graph.plan("v").streams in (True, None)


def test_a_problem_is_reported_once_at_its_position() -> None:
    row = Row("SELECT u.k FROM t u LEFT JOIN w ON u.k = w.k", below="SELECT a.k FROM a")
    data = row.document("append")
    data["spec"]["queries"].append(data["spec"]["queries"][0] | {"name": "again"})
    problems = check(Graph(StreamingPipeline.model_validate(data)), YamlText(data), {})
    assert [(p.path, p.reason) for p in problems if p.reason != "UnusedSource"] == [
        ("spec.views[1].sql", "JoinNotAllowed")
    ]


@pytest.mark.S34
@pytest.mark.parametrize(
    ("sql", "reasons"),
    [
        ("SELECT twice(partition) AS n FROM raw", ["TriggerNotForPlan"]),
        ("SELECT key FROM raw WHERE twice(partition) > 2", ["TriggerNotForPlan"]),
        ("SELECT key FROM doubled", []),  # whose column is not asked for
        ("SELECT key, (SELECT max(twice(n)) FROM t) AS m FROM raw", []),
        (
            "SELECT r.key FROM raw r JOIN (SELECT k, twice(n) AS m FROM t) u ON CAST(r.key AS STRING) = u.k",
            [],
        ),
        ("SELECT key FROM raw CROSS JOIN t", ["TriggerNotForPlan"]),
    ],
)
def test_python_and_joins_are_obstacles_to_real_time(sql: str, reasons: list[str]) -> None:
    spec = {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": "kafka:9092"}}],
        "functions": [{"name": "twice", "python": {"function": "shop:doubled", "returns": "INT"}}],
        "sources": [
            {"name": "raw", "kafka": {"connection": "events", "subscribe": ["raw"]}},
            {"name": "t", "static": {"json": {"path": "/t", "schema": "k STRING, n INT"}}},
        ],
        "views": [
            {"name": "doubled", "sql": "SELECT key, twice(partition) AS n FROM raw"},
            {"name": "v", "sql": sql},
        ],
        "queries": [
            {"name": "q", "from": "v", "outputMode": "update", "to": [{"name": "out", "console": {}}]}
        ],
        "checkpoints": {"location": "/c"},
    }
    head = pipeline_head("t")
    graph = Graph(StreamingPipeline.model_validate_json(json.dumps(head | {"spec": spec})))
    shown_reasons = [obstacle.reason for obstacle in obstacles(graph, graph.spec.queries[0], "realTime")]
    assert shown_reasons == reasons


def test_dead_letters_of_a_bounded_source_are_no_stream() -> None:
    kafka = {"connection": "events", "subscribe": ["raw"], "endingOffsets": "latest"}
    decode = {"json": {"schema": "k STRING"}, "onMalformedRecord": "deadLetter"}
    queries = [
        {"name": name, "from": name, "to": [{"name": "out", "console": {}}]} for name in ("raw", "sorted")
    ]
    spec = {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": "kafka:9092"}}],
        "sources": [{"name": "raw", "kafka": kafka, "decode": decode}],
        "views": [{"name": "sorted", "sql": "SELECT * FROM raw_dead_letters ORDER BY offset"}],
        "queries": queries,
        "checkpoints": {"location": "/c"},
    }
    head = pipeline_head("t")
    assert len(read_text(json.dumps(head | {"spec": spec}))) == 1
