"""Keywords that are names where they stand; the most usual spellings of a window, each with all of its checks."""

from pathlib import Path
from typing import Any, Final

import pytest
from documents.keyword_texts import CALLS, NAMES, RELATIONS, SPECIAL_CALLS, UNREAD, UNREAD_WORDS
from harness.documents import pipeline_head
from mainstem.changes import Effect, compare
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.rules.registry import check
from mainstem.language.sql.facts import read
from mainstem.language.yaml.yamltext import YamlText


WORDS = (
    "window",
    "offset",
    "limit",
    "values",
    "table",
    "stream",
    "watermark",
    "fetch",
    "like",
    "using",
    "date",
    "key",
)
"""Of Kafka's and of Spark's own columns, and of those that people name so."""
PLACES = (
    "{}, shop",
    "shop, {}",
    "1, shop",
    "shop, w",
    "ALL",
    "w, upper(shop), shop",
    "GROUPING SETS (({}, shop))",
)
"""Where the window stands in GROUP BY."""
PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "sql.md"
HOUR = "window(at, '1 hour')"


@pytest.mark.parametrize("word", WORDS)
def test_a_keyword_is_a_name_where_an_operand_stands(word: str) -> None:
    for text in (each.replace("{k}", word) for each in NAMES):
        names = {reference.name for reference in read(text).references or ()}
        assert names == ({"a", "b"} if " JOIN b " in text else {"a"}), text


@pytest.mark.parametrize("word", ["window", "offset", "limit", "fetch", "date", "true", "view", "set"])
def test_a_keyword_is_a_function_before_a_bracket(word: str) -> None:
    unread = [text for text in CALLS if read(text.replace("{k}", word)).references is None]
    assert unread == []


@pytest.mark.parametrize("word", [word for word in WORDS if word not in ("table", "stream")])
def test_a_keyword_is_the_name_of_a_relation(word: str) -> None:
    for text in (each.replace("{k}", word) for each in RELATIONS):
        names = {reference.name for reference in read(text).references or ()}
        assert names == (set() if text.startswith("WITH") else {word, "a"} if " a " in text else {word}), text


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT x FROM STREAM offset", None),
        ("SELECT x FROM a JOIN STREAM limit", None),
        ("SELECT x FROM a, STREAM filter", None),
        ("SELECT x FROM (STREAM window)", None),
        ("SELECT x FROM `a`WATERMARK at DELAY OF INTERVAL 1 DAY", None),
        ("SELECT x, (TABLE limit) AS z FROM a", ["a", "limit"]),
        ("WITH w AS (TABLE window) SELECT x FROM w", ["window"]),
        ("SELECT x FROM a WHERE x IN (TABLE group)", ["a", "group"]),
        ("SELECT x FROM a WHERE x IN (TABLE filter)", None),
        ("TABLE a UNION ALL TABLE sort", ["a", "sort"]),
        ("SELECT x FROM table AS y", None),
        ("SELECT x FROM (WITH limit AS (SELECT 1 AS x) SELECT * FROM limit), a", ["a"]),
        ("SELECT x FROM a GROUP BY stream ORDER BY table LIMIT 3", ["a"]),
    ],
)
def test_a_relation_with_the_name_of_a_keyword_is_read_or_known_to_be_unread(
    sql: str, names: list[str] | None
) -> None:
    references = read(sql).references
    assert (None if references is None else sorted({reference.name for reference in references})) == names


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("percentile(amount, 0.5)", "percentile(amount, 0.5, 2)"),
        ("percentile(amount, 0.5, 1)", "percentile(amount, 0.5, 2)"),
        ("sum(shuffle(array(1), 1)[0])", "sum(shuffle(array(1), 2)[0])"),
        ("max(uuid(1))", "max(uuid(2))"),
        ("max(get_json_object(shop, '$.a'))", "max(get_json_object(shop, 'a'))"),
        ("first_value(shop)", "first_value(shop, true)"),
        ("corr(amount, 2)", "corr(DISTINCT amount, 2)"),
        ("max(parse_json(shop):a)", "max(parse_json(shop):A)"),
        ("max(parse_json(shop):['a.b'])", "max(parse_json(shop):a.b)"),
    ],
)
def test_no_argument_of_a_function_is_lost_in_a_comparison(before: str, after: str) -> None:
    documents = (
        StreamingPipeline.model_validate(document("{}, shop", value=value)) for value in (before, after)
    )
    [verdict] = compare(*documents).queries
    assert verdict.effect is Effect.MISREADS


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CASE WHEN (x > 1) THEN (2) WHEN NOT (y) THEN -1 ELSE (SELECT max(z) FROM a) END FROM a",
        "SELECT DISTINCT -x, +y FROM a WHERE NOT -x > 1 AND x IN (SELECT (1)) AND EXISTS (SELECT 1)",
        "SELECT * FROM a WHERE x > ALL (SELECT 1) OR y = ANY (SELECT 2) GROUP BY ALL ORDER BY ALL LIMIT ALL",
        "SELECT count(*), count(DISTINCT x), count(ALL y) FROM a GROUP BY GROUPING SETS ((x), CUBE (y), ROLLUP (z))",
        "SELECT x, INTERVAL (1) DAY, - INTERVAL -x DAY FROM a, LATERAL (SELECT 1), VALUES (1), (2) AS t",
        "SELECT sum(x) OVER (ORDER BY (y) ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM a WINDOW w AS (PARTITION BY x)",
        "SELECT x FROM a WHERE x LIKE 'y' ESCAPE '/' AND x BETWEEN (1) AND (2) LIMIT 1 OFFSET 2",
        "SELECT \"limit\", 'window', `offset` FROM a GROUP BY 'values', `window`",
    ],
)
def test_a_keyword_that_is_none_stays_one(sql: str) -> None:
    assert {reference.name for reference in read(sql).references or ()} == {"a"}


def document(
    grouping: str, window: str = HOUR, value: str = "count(*)", *, watermark: bool = True
) -> dict[str, Any]:
    """A document whose view counts by a window and a shop."""
    files = {"path": "/in", "format": "json", "schema": "at TIMESTAMP, shop STRING, amount DOUBLE"}
    late = {"watermark": {"column": "at", "delay": "10 minutes"}} if watermark else {}
    sql = f"SELECT {window} AS w, shop, {value} AS n FROM orders GROUP BY {grouping.format(window)}"
    query = {
        "name": "q",
        "from": "v",
        "outputMode": "update" if watermark else "append",
        "to": [{"name": "n", "noop": {}}],
    }
    return pipeline_head("p") | {
        "spec": {
            "sources": [{"name": "orders", "files": files} | late],
            "views": [{"name": "v", "sql": sql}],
            "queries": [query],
            "checkpoints": {"location": "/checkpoints"},
        }
    }


def problems(data: dict[str, Any]) -> set[str]:
    return {
        problem.reason for problem in check(Graph(StreamingPipeline.model_validate(data)), YamlText(data), {})
    }


@pytest.mark.parametrize("grouping", PLACES)
def test_each_check_holds_wherever_the_window_stands(grouping: str) -> None:
    assert problems(document(grouping)) == set()
    assert "UnknownColumn" in problems(document(grouping, value="sum(amuont)"))
    assert "DistinctNotAllowed" in problems(document(grouping, value="count(DISTINCT amount)"))
    assert "WatermarkNeeded" in problems(document(grouping, watermark=False))


@pytest.mark.parametrize("grouping", PLACES)
def test_a_change_of_a_window_is_read_wherever_it_stands(grouping: str) -> None:
    def effect(**changed: str) -> Effect:
        before, after = document(grouping), document(grouping, **changed)
        [verdict] = compare(*map(StreamingPipeline.model_validate, (before, after))).queries
        return verdict.effect

    assert effect(window="window(at, '60 minutes')") is Effect.UNCHANGED
    assert effect(window="window(at, '2 hours')") is Effect.MISREADS


@pytest.mark.parametrize(
    ("sql", "rest"),
    [
        ("SELECT shop, count(*) FROM orders GRUOP BY shop", "BY shop"),
        ("SELECT shop FRO orders", "orders"),
        ("SELECT shop FROM orders EMIT CHANGES", "CHANGES"),
        ("SELECT * FROM TABLE(TUMBLE(TABLE orders))", "orders))"),
        ("SELECT shop FROM orders MATCH_RECOGNIZE (ORDER BY at)", "at)"),
        ("SELECT CAST(amount AS DUBLE) FROM orders", "DUBLE) FROM orders"),
        ("SELECT shop FROM STREAM orders", "STREAM orders"),
        ("SELECT * FROM f(TABLE(orders))", "TABLE(orders))"),
        (
            "SELECT shop FROM orders WATERMARK at DELAY OF INTERVAL 1 DAY",
            "OF INTERVAL 1 DAY",
        ),
        ("SELECT shop FROM orders WHERE amount > 1)", ")"),
        ("SELECT amount >>> 2 FROM orders", "> 2 FROM orders"),
        ("SELECT 'shop FROM orders", "SELECT 'shop FROM orders"),
        ("SELECT " + "(" * 3000 + "1", "("),
    ],
)
def test_sql_that_is_not_read_is_a_warning_with_its_place(sql: str, rest: str) -> None:
    data = document("shop")
    data["spec"]["views"] = [{"name": "v", "sql": sql}]
    every = check(Graph(StreamingPipeline.model_validate(data)), YamlText(data), {})
    [problem] = [each for each in every if each.reason == "SqlNotRead"]
    assert (problem.warning, problem.path) == (True, "spec.views[0].sql")
    assert sql[read(sql).unread :].startswith(rest)
    assert sql.endswith(rest) or len(rest) == 1


@pytest.mark.parametrize(
    "sql", ["SELECT shop FROM orders", "DROP TABLE orders", "SELECT reflect('a', 'b') FROM orders GRUOP BY x"]
)
def test_sql_that_is_read_or_refused_has_no_such_warning(sql: str) -> None:
    data = document("shop")
    data["spec"]["views"] = [{"name": "v", "sql": sql}]
    assert "SqlNotRead" not in problems(data)


def test_the_page_names_what_is_not_read() -> None:
    page = PAGE.read_text(encoding="utf-8")
    words = {f"`{word}`" for word in UNREAD_WORDS | SPECIAL_CALLS}
    assert {name for name in UNREAD.keys() | words if name not in page} == set()
