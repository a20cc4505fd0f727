"""No document costs its reader more than a few seconds: documents that grow within, and texts that parsers try in many ways.

Cost is counted in calls, so that a busy machine fails nothing.
"""

from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.sampling import sampled
from harness.work import at_most
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mainstem.errors import Problem, SpecInvalid
from mainstem.explain import meaning
from mainstem.language.analysis.occurrences import MAX_OCCURRENCES, count_occurrences, occurrence_names
from mainstem.language.base import MAX_SQL
from mainstem.language.document import read_object, read_text
from mainstem.language.loading.parameters import MAX_FILLED_SIZE
from mainstem.language.rules.relations.limits import MAX_SQL_TOTAL
from mainstem.language.sql.facts import read


CALLS = 20_000_000
"""About four times the most that any of these makes, far below what an exponential or quadratic walk would make."""


def document(views: list[dict[str, Any]], queries: int = 1, **spec: Any) -> dict[str, Any]:
    relation = views[-1]["name"] if views else "ticks"
    return {
        **pipeline_head("costly"),
        "spec": {
            "sources": [{"name": "ticks", "rate": {}}],
            "views": views,
            "queries": [
                {"name": f"q{index}", "from": relation, "to": [{"name": "out", "console": {}}]}
                for index in range(queries)
            ],
            "checkpoints": {"location": "s3a://checkpoints/costly"},
            **spec,
        },
    }


def problems(data: dict[str, Any]) -> list[Problem]:
    """What refuses the document, within the work that it may cost."""
    try:
        with at_most(CALLS):
            meaning(read_object(data).graph)
    except SpecInvalid as refused:
        return [problem for problem in refused.problems if not problem.warning]
    return []


def doubling(views: int, times: int = 2, between: str = ", ") -> list[dict[str, Any]]:
    """Views that each read the one before several times."""
    return [
        {
            "name": f"v{index}",
            "sql": "SELECT * FROM " + between.join([f"v{index - 1}" if index else "ticks"] * times),
        }
        for index in range(views)
    ]


def test_views_that_multiply_are_counted_and_rejected_by_name() -> None:
    [problem] = problems(document(doubling(26)))
    assert problem.reason == "TooManyOccurrences"
    assert problem.path == "spec.queries[0].from"
    assert f"reads 'ticks' {2**26} times" in problem.message
    assert f"at most {MAX_OCCURRENCES} times" in problem.message


def test_the_rejection_has_a_line() -> None:
    views = "\n".join(f"    - {{name: {view['name']}, sql: '{view['sql']}'}}" for view in doubling(26))
    text = (
        "apiVersion: mainstem.dev/v1alpha1\nkind: StreamingPipeline\nmetadata: {name: costly}\nspec:\n"
        f"  sources: [{{name: ticks, rate: {{}}}}]\n  views:\n{views}\n"
        "  queries:\n    - name: q\n      from: v25\n      to: [{name: out, console: {}}]\n"
        "  checkpoints: {location: /data/checkpoints}\n"
    )
    with pytest.raises(SpecInvalid) as refused:
        read_text(text, "costly.yaml")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "from: v25" in row)
    [problem] = [problem for problem in refused.value.problems if not problem.warning]
    assert (problem.line, problem.reason) == (line, "TooManyOccurrences")


def test_occurrences_up_to_the_limit_are_named() -> None:
    graph = read_object(document(doubling(8, between=" UNION ALL SELECT * FROM "))).graph
    names = occurrence_names(graph, "v7")
    assert len(names) == MAX_OCCURRENCES == count_occurrences(graph, "v7")["ticks"]
    assert names[0] == ("ticks", "ticks")
    assert names[-1] == ("ticks_256", "ticks")


def test_bounded_sources_and_views_without_sources_count_too() -> None:
    static = {"name": "ticks", "static": {"csv": {"path": "s3a://lake/a.csv"}}}
    for views in (doubling(26), [{"name": "v0", "sql": "SELECT 1"}, *doubling(26)[1:]]):
        errors = problems(document(views, sources=[static]))
        assert [problem.reason for problem in errors] == ["TooManyOccurrences"]


def views_of(names: list[str], reads: list[list[str]], sql: bool, unreadable: bool) -> list[dict[str, Any]]:
    between = " STREAM " if unreadable else ", "
    return [
        {"name": name, "sql": f"SELECT * FROM {between.join(below)}"}
        if sql
        else {"name": name, "python": {"function": "shop:rows", "inputs": below[:64]}}
        for name, below in zip(names, reads, strict=True)
    ]


@st.composite
def graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Chains, diamonds and fans: each view reads some of the last three, or any at all, up to six times each."""
    names = [f"v{index}" for index in range(draw(st.integers(1, 64)))]
    reads = []
    for index in range(len(names)):
        near = names[max(0, index - 3) : index] or ["ticks"]
        choices = names if draw(st.integers(0, 19)) == 0 else near
        below = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=3))
        reads.append([name for name in below for _ in range(draw(st.integers(1, 6)))])
    return views_of(names, reads, draw(st.booleans()), draw(st.booleans()))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(graphs(), st.sampled_from([1, 8, 64]))
def test_any_graph_of_views_is_checked_at_bounded_cost(views: list[dict[str, Any]], queries: int) -> None:
    problems(document(views, queries))


FRAGMENTS = [
    *["(", ")", "a ", "SELECT ", "FROM ", "ticks ", "JOIN ", "LEFT JOIN ticks ", "ON ", "USING ", "a(", "f(", "CASE ", "WHEN "],
    *["END ", "NOT ", "- ", "+ ", "a.", "[", "EXISTS (", "SELECT * FROM (", "WITH a AS (", "UNION ", "VALUES (", "LATERAL "],
    *["|> ", "|> SELECT a ", "BETWEEN ", "AND ", "a, ", "CAST(a AS ", "array<", "map<", "struct<a:", "struct(", "date(", "int("],
    *["INTERVAL ", "1 ", "OVER (", "x -> ", "'", '"', "`", "\\", "\\'", "/*", "*/", "/*+ ", "--", "\n", "r'", ";", "insert into "],
]  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(["", "SELECT ", "SELECT * FROM ", "SELECT * FROM ticks "]),
    st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join),
    st.sampled_from([20, 40, 200, MAX_SQL]),
    st.sampled_from(["", ")", " FROM ticks", "*/"]),
)
def test_any_repeated_fragment_is_read_to_an_end(head: str, fragment: str, times: int, tail: str) -> None:
    sql = (head + fragment * times)[: MAX_SQL - 400] + tail * min(times, 200)
    with at_most(CALLS):
        read(sql[:MAX_SQL])


AMBIGUOUS = {
    "comments never closed": "/*" * 8000,
    "escaped quotes": "SELECT " + "'\\" * 7900,
    "joins without condition": "SELECT * FROM ticks" + " JOIN ticks" * 40,
    "nested joins": "SELECT * FROM ticks JOIN (" * 12 + "SELECT 1" + ") JOIN ticks JOIN ticks" * 12,
    "query without brackets in a join": "SELECT * FROM "
    + "a, SELECT * FROM (LEFT JOIN ticks " * 40
    + " FROM ticks" * 40,
    "clauses of joins": "SELECT * FROM ticks " + "GROUP BY JOIN SELECT JOIN TABLE " * 40 + ")" * 40,
    "natural joins and commas": "SELECT * FROM ticks " + "(select NOT NATURAL JOIN ticks , SELECT " * 40,
    "commas of joins": "SELECT * FROM ticks " + "a, NATURAL JOIN ticks " * 200 + ")" * 200,
    "brackets of relations": "SELECT * FROM " + "(" * 15600 + " FROM ticks" * 36,
    "structs": "SELECT " + "struct(" * 40 + "1" + ")" * 40,
    "dates": "SELECT " + "date(" * 40 + "1" + ")" * 40,
    "array types": "SELECT CAST(a AS " + "array<" * 900 + "int" + ">" * 900 + ")",
    "pipes": "FROM ticks" + " |> SELECT a" * 1300,
    "brackets": "SELECT " + "(" * 7900 + "1" + ")" * 7900,
    "sums": "SELECT a" + "+a" * 2500,
    "nots": "SELECT " + "NOT " * 4000 + "a",
    "cases": "SELECT " + "CASE WHEN a THEN " * 600 + "1" + " END" * 600,
}
"""Texts that a parser can read in many ways."""


@pytest.mark.parametrize("sql", sampled(AMBIGUOUS.values(), every=4), ids=AMBIGUOUS)
def test_ambiguous_texts_are_read_to_an_end(sql: str) -> None:
    with at_most(CALLS):
        read(sql)


@pytest.mark.parametrize("sql", sampled(AMBIGUOUS.values(), every=6), ids=AMBIGUOUS)
def test_ambiguous_texts_are_checked_at_bounded_cost(sql: str) -> None:
    view = {"name": "v", "sql": sql[:MAX_SQL]}
    assert all(problem.reason != "DocumentTooComplex" for problem in problems(document([view])))


def test_ordinary_texts_are_parsed_without_spark() -> None:
    joins = "SELECT * FROM ticks a" + " JOIN ticks ON a.value = ticks.value" * 100
    crossed = "SELECT * FROM ticks a" + " CROSS JOIN ticks" * 100
    calls = "SELECT " + ", ".join(["struct(date(a), int(b), struct(c, struct(d)))"] * 200) + " FROM ticks"
    for sql in (joins, crossed, calls, "FROM ticks" + " |> WHERE a" * 100):
        assert read(sql).references


def test_the_total_size_of_sql_is_limited() -> None:
    filler = "x" * (MAX_SQL - 100)
    views = [{"name": f"v{index}", "sql": f"SELECT 1 AS {filler}"} for index in range(17)]
    [problem] = problems(document(views))
    assert (problem.path, problem.reason) == ("spec.views", "DocumentTooComplex")
    assert str(MAX_SQL_TOTAL) in problem.message


@pytest.mark.parametrize(
    ("mode", "step"),
    sampled(
        [
            ("update", "SELECT * FROM {} a JOIN {} b USING (x)"),
            ("update", "SELECT DISTINCT * FROM {}"),
            ("complete", "SELECT * FROM {} ORDER BY x"),
            ("append", "SELECT * FROM {} a JOIN {} b ON a.x > b.x"),
        ],
        every=4,
    ),
)
def test_long_plans_are_checked_at_bounded_cost(mode: str, step: str) -> None:
    """Over a thousand nodes, read by 64 queries: rules that look below each node would look at all of them again."""

    def view(index: int) -> dict[str, Any]:
        ctes = ["c0 AS (SELECT * FROM {})".format(f"v{index - 1}" if index else "ticks")]
        ctes += [f"c{at} AS ({step.replace('{}', f'c{at - 1}')})" for at in range(1, 65)]
        return {"name": f"v{index}", "sql": f"WITH {', '.join(ctes)} SELECT * FROM c64"}

    data = document([view(index) for index in range(20)], 64)
    for query in data["spec"]["queries"]:
        query["outputMode"] = mode
    problems(data)


@pytest.mark.full(gate="unit/test_language_cost.py::test_any_graph_of_views_is_checked_at_bounded_cost")
def test_queries_that_may_write_for_each_other_are_compared_at_bounded_cost() -> None:
    """Each of 64 queries reads 64 tables, and each of these may be written by all others, for their paths are patterns."""
    lake = "s3a://lake/some/folder"
    sources = [
        {"name": f"s{n}", "static": {"csv": {"path": f"{lake}/*{n % 2}*", "schema": "value STRING"}}}
        for n in range(64)
    ]
    every = [{"name": "every", "sql": " UNION ALL ".join(f"SELECT value FROM s{n}" for n in range(64))}]
    queries = [
        {"name": f"q{n}", "from": "every", "to": [{"name": "out", "text": {"path": f"{lake}/{n:02}10"}}]}
        for n in range(64)
    ]
    data = document(every, sources=sources)
    data["spec"]["queries"] = queries
    assert problems(data) == []


def test_a_rule_reports_a_hundred_problems_at_most() -> None:
    views = [
        {"name": f"v{index}", "sql": "SELECT * FROM " + ", ".join(f"zz{at}" for at in range(500))}
        for index in range(64)
    ]
    errors = problems(document(views))
    assert {problem.reason for problem in errors} == {"UnknownRelation"}
    assert len(errors) == 100


def test_at_most_a_hundred_errors_of_shape_are_reported() -> None:
    data = document([])
    data["spec"] |= {f"chekpoints{index}": 1 for index in range(20_000)}
    assert len(problems(data)) == 100


def test_parameters_cannot_multiply_the_document() -> None:
    views = [{"name": f"v{index}", "sql": "${p}" * 4000} for index in range(64)]
    [problem] = problems(document(views, parameters=[{"name": "p", "value": "x" * 4096}]))
    assert (problem.path, problem.reason) == ("spec.parameters", "DocumentTooComplex")
    assert str(MAX_FILLED_SIZE) in problem.message


def test_names_in_long_texts_over_wide_relations_are_resolved_at_bounded_cost() -> None:
    wide = ", ".join(f"column_{number} INT" for number in range(800))
    joins = " ".join(f"JOIN ticks t{number} ON t{number}.value = t0.value" for number in range(1, 24))
    wrong = ", ".join(f"t{number % 24}.colum_{number}" for number in range(700))
    data = document([{"name": "v", "sql": f"SELECT {wrong} FROM ticks t0 {joins}"[:MAX_SQL]}])
    data["spec"]["connections"] = [{"name": "k", "kafka": {"bootstrapServers": "k:9092"}}]
    kafka = {"connection": "k", "subscribe": ["a"]}
    data["spec"]["sources"] = [
        {"name": "ticks", "kafka": kafka, "decode": {"json": {"schema": wide[:16000]}}}
    ]
    assert len([problem for problem in problems(data) if problem.reason == "UnknownColumn"]) > 50


def test_an_unknown_parameter_is_reported_once_in_each_text() -> None:
    views = [{"name": f"v{index}", "sql": "SELECT ${p}, ${p}, ${q}, ${p}"} for index in range(2)]
    assert [problem.path for problem in problems(document(views))] == [
        *["spec.views[0].sql"] * 2,
        *["spec.views[1].sql"] * 2,
    ]
