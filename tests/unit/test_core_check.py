"""Cores that endless tasks hold, compared with the available cores."""

import pytest
from documents import VALID
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.runtime.preflight.core_check import check_cores, cores, occupied_cores, resident_queries


pytestmark = pytest.mark.S34


def graph() -> Graph:
    [document] = read_text(VALID["low-latency"])
    return document.graph


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({"spark.master": "local[3, 4]"}, 3),
        ({"spark.master": "k8s://x", "spark.executor.instances": "2", "spark.executor.cores": "4"}, 8),
        ({"spark.master": "k8s://x", "spark.executor.instances": "2"}, 2),
        (
            {
                "spark.master": "k8s://x",
                "spark.executor.instances": "1",
                "spark.dynamicAllocation.enabled": "true",
                "spark.dynamicAllocation.maxExecutors": "5",
            },
            5,
        ),
    ],
)
def test_cores_are_those_of_all_executors_or_of_the_driver(conf: dict[str, str], expected: int) -> None:
    assert cores(conf) == expected


def test_queries_with_endless_tasks_hold_a_core_for_each_partition() -> None:
    document_graph = graph()
    names = [query.name for query in resident_queries(document_graph.spec.queries)]
    assert names == ["at-once", "row-by-row"]
    assert occupied_cores(document_graph, document_graph.spec.queries[0], lambda source: 3) == 3
    [first, *_] = resident_queries(document_graph.spec.queries)
    assert resident_queries([first.model_copy(update={"suspend": True})]) == []


@pytest.mark.parametrize(
    ("others", "available", "enough"), [(False, 5, True), (True, 5, False), (True, 6, True)]
)
def test_the_other_queries_need_a_core_too(others: bool, available: int, enough: bool) -> None:
    needed = {"at-once": 3, "row-by-row": 2}
    if enough:
        check_cores(needed, others=others, available=available)
        return
    with pytest.raises(NotReady) as missing:
        check_cores(needed, others=others, available=available)
    assert missing.value.reason == "CoresMissing"
    assert "the queries need 6 cores, and there are 5" in str(missing.value)
    assert "(at-once 3, row-by-row 2), and one for the other queries" in str(missing.value)
