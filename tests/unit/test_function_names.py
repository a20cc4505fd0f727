"""A name of a function means the document's function, whatever other SQL dialects call so."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from harness.documents import pipeline_head
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.rules.registry import check
from mainstem.language.sql.builtins import BUILTINS, GRAMMAR
from mainstem.language.yaml.yamltext import YamlText
from sqlglot.dialects.spark import Spark


ELSEWHERE = sorted(
    name
    for name in {known.lower() for known in (*Spark.Parser.FUNCTIONS, *Spark.Parser.FUNCTION_PARSERS)}
    if name not in BUILTINS | GRAMMAR
)
"""What sqlglot knows of other dialects."""
KINDS: dict[str, dict[str, Any]] = {
    "scalar in Python": {"python": {"function": "shop:f", "returns": "DOUBLE"}},
    "vectorized in Python": {"python": {"function": "shop:f", "returns": "DOUBLE", "vectorized": True}},
    "aggregate in Python": {"python": {"function": "shop:f", "returns": "DOUBLE", "aggregate": True}},
    "scalar in Java": {"java": {"class": "com.example.F", "returns": "DOUBLE"}},
    "aggregate in Java": {"java": {"class": "com.example.F", "aggregate": True}},
}


def refusals(names: Iterable[str], kind: str, sql: str, mode: str = "append") -> list[str]:
    """Reasons for which a view that calls the functions over a stream is refused."""
    data: dict[str, Any] = {
        **pipeline_head("functions"),
        "spec": {
            "functions": [{"name": name, **KINDS[kind]} for name in names],
            "sources": [{"name": "ticks", "rate": {}}],
            "views": [{"name": "v", "sql": sql}],
            "queries": [{"name": "q", "from": "v", "outputMode": mode, "to": [{"name": "out", "noop": {}}]}],
            "checkpoints": {"location": "/c"},
        },
    }
    pipeline = StreamingPipeline.model_validate(data)
    return [problem.reason for problem in check(Graph(pipeline), YamlText(data), {}) if not problem.warning]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("spelling", [str, str.upper, "`{}`".format], ids=["plain", "upper", "quoted"])
def test_a_name_from_another_sql_dialect_is_the_function_of_the_document(
    kind: str, spelling: Callable[[str], str]
) -> None:
    for names in batched(ELSEWHERE, 60):
        calls = ", ".join(f"{spelling(name)}(value)" for name in names)
        expected = ["AggregateNotAllowed"] * len(names) if kind == "aggregate in Python" else []
        assert refusals(names, kind, f"SELECT {calls} FROM ticks") == expected


def batched(names: list[str], size: int) -> Iterator[list[str]]:
    return (names[start : start + size] for start in range(0, len(names), size))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["sum", "count", "quantile", "arg_max", "upper"])
def test_the_document_decides_whether_its_function_aggregates(kind: str, name: str) -> None:
    reasons = refusals([name], kind, f"SELECT {name}(value) AS x FROM ticks")
    if name in BUILTINS:
        assert reasons == ["FunctionNameTaken"]
    else:
        assert reasons == (["AggregateNotAllowed"] if kind == "aggregate in Python" else [])


@pytest.mark.parametrize("name", ["quantile", "dayofweek_iso"])
def test_an_aggregate_of_the_document_is_not_treated_as_a_scalar_function(name: str) -> None:
    """Spark takes the Java aggregate in complete mode, so we do."""
    assert refusals([name], "aggregate in Java", f"SELECT {name}(value) AS x FROM ticks", "complete") == []
