"""Which relation reads which, in which order, under which names; and what may only be guessed."""

import pytest
import yaml
from harness.documents import pipeline_head
from mainstem.errors import SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import occurrence_names
from mainstem.language.document import read_text


def graph(views: dict[str, str], start: str = "s") -> Graph:
    document = {
        **pipeline_head("test"),
        "spec": {
            "sources": [
                {"name": "s", "rate": {}},
                {"name": "r", "rate": {}},
                {"name": "t", "static": {"parquet": {"path": "/t"}}},
            ],
            "views": [{"name": name, "sql": sql} for name, sql in views.items()],
            "queries": [{"name": "q", "from": start, "to": [{"name": "c", "console": {}}]}],
            "checkpoints": {"location": "/c"},
        },
    }
    (read,) = read_text(yaml.safe_dump(document))
    return read.graph


def problems(views: dict[str, str], start: str) -> list[str]:
    with pytest.raises(SpecInvalid) as caught:
        graph(views, start)
    return [f"{problem.path}: {problem.message}" for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("views", "names"),
    [
        ({}, ["s"]),
        ({"v": "SELECT * FROM s JOIN s AS b USING (value)"}, ["s", "s_2"]),
        ({"v": "SELECT * FROM s UNION ALL SELECT * FROM s UNION ALL SELECT * FROM r"}, ["s", "s_2", "r"]),
        (
            {"v": "SELECT * FROM r JOIN s USING (value) JOIN t USING (value) JOIN r AS b USING (value)"},
            ["r", "s", "r_2"],
        ),
        ({"u": "SELECT * FROM s", "v": "SELECT * FROM u JOIN u AS b USING (value)"}, ["s", "s_2"]),
        (
            {
                "u": "SELECT * FROM s JOIN r USING (value)",
                "v": "SELECT * FROM r JOIN u USING (value) JOIN s USING (value)",
            },
            ["r", "s", "r_2", "s_2"],
        ),
        (
            {
                "a": "SELECT * FROM s",
                "b": "SELECT * FROM a UNION ALL SELECT * FROM a",
                "v": "SELECT * FROM b JOIN b AS c USING (value)",
            },
            ["s", "s_2", "s_3", "s_4"],
        ),
        ({"v": "WITH x AS (SELECT * FROM r) SELECT * FROM s JOIN x USING (value)"}, ["r", "s"]),
        ({"v": "SELECT * FROM STREAM(r) JOIN STREAM(s) USING (value)"}, ["r", "s"]),
    ],
)
def test_occurrences_are_in_the_order_of_the_text(views: dict[str, str], names: list[str]) -> None:
    document_graph = graph(views, "v" if views else "s")
    assert [name for name, _ in occurrence_names(document_graph, "v" if views else "s")] == names


def test_the_graph_has_reads_and_their_closure() -> None:
    document_graph = graph(
        {
            "u": "SELECT * FROM s JOIN t USING (value)",
            "v": "SELECT * FROM U JOIN `r` USING (value) JOIN u AS b",
        },
        "v",
    )
    assert document_graph.reads("v") == ["u", "r", "u"]
    assert document_graph.reads("s") == []
    assert set(document_graph.closure("v")) == {"v", "u", "r", "s", "t"}
    assert document_graph.streams("v")
    assert not document_graph.streams("t")


@pytest.mark.parametrize(
    ("views", "cycle"),
    [
        ({"a": "SELECT * FROM a"}, ["a", "a"]),
        ({"a": "SELECT * FROM b", "b": "SELECT * FROM a"}, ["a", "b", "a"]),
        (
            {
                "x": "SELECT * FROM a",
                "a": "SELECT * FROM b",
                "b": "SELECT * FROM s, c",
                "c": "SELECT * FROM a",
            },
            ["a", "b", "c", "a"],
        ),
        ({"a": "SELECT * FROM s", "b": "SELECT * FROM a, a AS c"}, None),
        ({"a": "WITH a AS (SELECT * FROM s) SELECT * FROM a"}, None),
    ],
)
def test_cycles_of_views_are_reported(views: dict[str, str], cycle: list[str] | None) -> None:
    if cycle is None:
        assert graph(views, next(iter(views))).cycle() is None
        return
    message = "the view reads itself" if len(cycle) == 2 else f"views read each other: {' -> '.join(cycle)}"
    index = list(views).index(cycle[0])
    assert problems(views, next(iter(views))) == [f"spec.views[{index}].sql: {message}"]


def test_a_text_that_is_not_understood_makes_no_cycle() -> None:
    views = {"a": "SELECT b FROM STREAM(s)", "b": "SELECT a FROM STREAM(r)"}
    document_graph = graph(views, "a")
    assert document_graph.cycle() is None
    assert document_graph.aggregated("a") is None
    assert [name for name, _ in occurrence_names(document_graph, "a")] == ["r", "s"]


def test_a_guess_rejects_nothing() -> None:
    views = {
        "guessed": "SELECT sorted, summed FROM STREAM(t)",  # reads t; the others are names of columns
        "sorted": "SELECT * FROM guessed ORDER BY 1",
        "summed": "SELECT count(*) AS n FROM s",
    }
    document_graph = graph(views | {"v": "SELECT * FROM guessed JOIN s ON TRUE"}, "v")
    assert document_graph.streams("guessed")
    assert not document_graph.streams("guessed", certain=True)


@pytest.mark.parametrize(
    ("views", "answer"),
    [
        ({"v": "SELECT * FROM s"}, False),
        ({"v": "SELECT count(*) FROM s"}, True),
        ({"v": "SELECT count(*) FROM t"}, False),
        ({"u": "SELECT count(*) AS n FROM s", "v": "SELECT n + 1 AS m FROM u"}, True),
        ({"u": "SELECT upper('a') AS a FROM s", "v": "SELECT count(*) FROM u"}, True),
        ({"u": "SELECT DISTINCT value FROM s", "v": "SELECT * FROM u"}, True),
        ({"u": "SELECT * FROM STREAM(s)", "v": "SELECT * FROM u"}, None),
        ({"u": "SELECT * FROM t", "v": "SELECT * FROM s JOIN u USING (value)"}, False),
    ],
)
def test_aggregation_is_known_through_views(views: dict[str, str], answer: bool | None) -> None:
    sink = "UPDATE"
    document_graph = graph(views, "s")
    assert document_graph.aggregated("v") is answer, sink


def test_a_watermark_in_the_text_counts() -> None:
    views = {
        "u": "SELECT * FROM s WATERMARK timestamp DELAY OF INTERVAL 1 MINUTE",
        "v": "SELECT window(timestamp, '1 hour') AS w, count(*) AS n FROM u GROUP BY 1",
    }
    assert graph(views, "v").watermarked("v")
    assert problems(views | {"u": "SELECT * FROM s"}, "v")[0].endswith("or use update or complete")
