"""Names in SQL that are certainly wrong are reported without Spark, each at its position; uncertain ones are not."""

import pytest
from documents.column_texts import TAKEN, WRONG, wrong_names
from documents.sql_texts import QUERIES
from harness.documents import pipeline_head
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_object
from mainstem.language.sql.scope import UNKNOWN


@pytest.mark.parametrize("sql", TAKEN)
def test_names_that_spark_accepts_are_accepted(sql: str) -> None:
    assert wrong_names(sql) == []


def test_the_large_corpus_has_few_wrong_names() -> None:
    assert {sql: wrong for sql in QUERIES if (wrong := wrong_names(sql))} == {
        "SELECT product(distance) FROM departures": ["product()"],
        "SELECT carrier -- first line \\": ["carrier"],
        "SELECT DISTINCT ON (carrier) carrier FROM departures": ["on()"],
    }


@pytest.mark.parametrize(("sql", "names"), WRONG, ids=[sql for sql, _ in WRONG])
def test_a_wrong_name_is_reported_at_its_position(sql: str, names: str) -> None:
    assert wrong_names(sql) == names.split()


@pytest.mark.parametrize("sql", [*TAKEN, *(sql for sql, _ in WRONG)])
def test_no_column_of_an_unknown_relation_is_reported(sql: str) -> None:
    assert [name for name in wrong_names(sql, lambda _: UNKNOWN) if name.startswith("?")] == []


BEHIND = (
    "",
    " FILTER (WHERE distance > 1)",
    " IGNORE NULLS",
    " WITHIN GROUP (ORDER BY distance)",
    " OVER (PARTITION BY carrier)",
)


@pytest.mark.parametrize("name", ["s.total", "c.s.total"])
def test_a_function_with_a_schema_is_known_only_to_a_catalog(name: str) -> None:
    for rest in (
        *BEHIND,
        f"{BEHIND[1]} OVER (PARTITION BY carrier)",
        *(f"{each}.x" for each in BEHIND),
        f"{BEHIND[1]}.x[0].y",
    ):
        assert wrong_names(f"SELECT {name}(distance){rest} FROM departures") == [], rest
        assert wrong_names(f"SELECT {name}(distanc){rest} FROM departures") == ["distanc"], rest


def with_function(call: str, expectation: str = "k > 0") -> None:
    """Read a document whose view over a stream has a call, and whose own aggregate is called `total`."""
    function = {"function": "code:total", "returns": "INT", "aggregate": True}
    files = {"path": "/data", "format": "json", "schema": "k INT, distance INT"}
    view = {
        "name": "v",
        "sql": f"SELECT k, {call} AS n FROM s",
        "expectations": [{"name": "e", "expect": expectation}],
    }
    spec = {
        "functions": [{"name": "total", "python": function}],
        "sources": [{"name": "s", "files": files}],
        "views": [view],
        "queries": [{"name": "q", "from": "v", "to": [{"name": "out", "noop": {}}]}],
        "checkpoints": {"location": "/c"},
    }
    read_object({**pipeline_head("names"), "spec": spec})


@pytest.mark.parametrize(
    "name",
    ["sum", "first", "count", "any", "kurtosis", "total", "monotonically_increasing_id", "explode", "window"],
)
def test_a_function_with_a_schema_is_not_the_one_of_its_last_name(name: str) -> None:
    for schema in ("s", "c.s"):
        for rest in BEHIND[:3]:
            with_function(f"{schema}.{name}(distance){rest}", f"{schema}.{name}(distance) > 1")


@pytest.mark.parametrize("name", ["sum", "monotonically_increasing_id", "row_numbr"])
@pytest.mark.parametrize("schema", ["", "builtin.", "system.builtin.", "SYSTEM.BUILTIN."])
def test_the_schema_of_sparks_own_functions_changes_nothing(name: str, schema: str) -> None:
    with pytest.raises(SpecInvalid) as plain:
        with_function(f"{name}()")
    with pytest.raises(SpecInvalid) as named:
        with_function(f"{schema}{name}()")
    assert [each.reason for each in named.value.problems] == [each.reason for each in plain.value.problems]


def test_without_a_file_the_position_within_the_text_is_named() -> None:
    with pytest.raises(SpecInvalid) as refused:
        read_object(
            {
                **pipeline_head("names"),
                "spec": {
                    "sources": [{"name": "ticks", "rate": {}}],
                    "views": [{"name": "v", "sql": "SELECT value,\n       valu + 1 AS more\nFROM ticks"}],
                    "queries": [{"name": "q", "from": "v", "to": [{"name": "out", "noop": {}}]}],
                    "checkpoints": {"location": "/c"},
                },
            }
        )
    [problem] = [problem for problem in refused.value.problems if not problem.warning]
    assert (
        problem.named()
        == "spec.views[0].sql, line 2, column 8: 'ticks' has no column 'valu'; did you mean 'value'? [UnknownColumn]"
    )
