"""Advice for texts of other dialects: each row of the page, and each advice of the tables."""

import pytest
import yaml
from documents.other_dialects import PAGE, PAIRS, Pair, document
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.document import read_text
from mainstem.language.sql import other_dialects


NOT_USED = "UnusedSource"
TABLES = {
    "SqlNotRead": {advice for _, _, advice in other_dialects.PHRASES},
    "UnknownFunction": set(other_dialects.FUNCTIONS.values()),
    "WindowFunctionNotAllowed": {*other_dialects.OVER.values(), other_dialects.GROUPED},
}


def problems(sql: str, mode: str) -> list[Problem]:
    """What `validate` finds, warnings among it, but for sources that no query reads."""
    try:
        [read] = read_text(yaml.safe_dump(document(sql, mode)))
    except SpecInvalid as error:
        all_problems = error.problems
    else:
        all_problems = read.warnings
    return [problem for problem in all_problems if problem.reason != NOT_USED]


def advices(pair: Pair) -> set[tuple[str, str]]:
    """The advice that a text of another dialect gets, each with its reason."""
    return {
        (reason, advice)
        for problem in problems(pair.there, pair.mode)
        for reason, table in TABLES.items()
        for advice in table
        if problem.reason == reason and advice in problem.message
    }


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.there)
def test_each_text_of_another_dialect_gets_advice_and_the_text_in_its_place_is_valid(pair: Pair) -> None:
    refused = {problem.reason for problem in problems(pair.there, pair.mode)}
    assert advices(pair) or refused == {"TimeTravelNotAllowed"}
    assert not pair.here or problems(pair.here, pair.mode) == []


def test_each_advice_has_a_row_on_the_page() -> None:
    shown = {advice for pair in PAIRS for advice in advices(pair)}
    assert shown == {(reason, advice) for reason, table in TABLES.items() for advice in table}


def test_the_page_shows_the_warning_that_the_tool_prints() -> None:
    sql = "SELECT shop, count(*) AS n FROM orders GROUP BY shop EMIT CHANGES"
    [problem] = problems(sql, "update")
    assert f"warning: spec.views[0].sql: {problem.message} [{problem.reason}]" in PAGE


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id emit, amount changes FROM orders",
        "SELECT shop AS match_recognize FROM orders WHERE shop = 'EMIT CHANGES' -- EMIT CHANGES",
        "SELECT `top`.id FROM orders AS `top`",
        "SELECT explode(items) AS unnest FROM orders",
        "SELECT asof.id FROM orders asof JOIN shops s ON asof.shop = s.shop",
        "SELECT o.id AS within FROM orders o JOIN payments p ON o.id = p.id AND p.at BETWEEN o.at AND o.at + INTERVAL 1 HOUR",
    ],
)
def test_a_name_that_is_a_word_of_another_dialect_gets_no_advice(sql: str) -> None:
    assert problems(sql, "append") == []


@pytest.mark.parametrize(
    "text", ["VERSION AS OF 3", "TIMESTAMP AS OF '2026-01-01'", "FOR SYSTEM_TIME AS OF current_timestamp()"]
)
def test_no_relation_of_a_document_has_earlier_versions(text: str) -> None:
    [problem] = problems(f"SELECT id FROM orders {text}", "append")
    assert problem.reason == "TimeTravelNotAllowed"
    assert problem.message.startswith("no earlier version of 'orders' can be read in SQL; `static: {delta")


@pytest.mark.parametrize(
    ("sql", "beginning"),
    [
        ("SELECT o.id FROM orders o ASOF LEFT JOIN payments p ON o.id = p.id", "Spark has no ASOF JOIN:"),
        ("SELECT id FROM orders ASOF JOIN payments USING (id)", "Spark has no ASOF JOIN:"),
        (
            "SELECT start FROM TABLE (TUMBLE(DATA => TABLE orders, TIMECOL => DESCRIPTOR(at)))",
            "Spark has no TUMBLE(TABLE ...):",
        ),
        ("SELECT id, unnest(items) AS item FROM STREAM orders", "Mainstem cannot read the SQL from here"),
        (
            "SELECT s.id FROM STREAM orders AS asof JOIN shops s ON asof.shop = s.shop",
            "Mainstem cannot read the SQL from here",
        ),
    ],
)
def test_the_advice_is_about_what_cannot_be_read(sql: str, beginning: str) -> None:
    [problem] = problems(sql, "append")
    assert problem.reason == "SqlNotRead"
    assert problem.message.startswith(beginning)
