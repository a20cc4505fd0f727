"""`spec.trigger`: the trigger of the queries of streams that have none of their own."""

from copy import deepcopy
from typing import Any

import pytest
import yaml
from documents import document
from mainstem.changes import Effect
from mainstem.changes.transition import Step, transition
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document, read_text


def together(trigger: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """The document whose pipeline has a trigger, and one query another: with a trigger and fields of `spec`, unscheduled."""
    changed = deepcopy(document("pipeline-trigger"))
    del changed["spec"]["schedule"]
    changed["spec"]["queries"][1]["trigger"] = {"once": True}
    changed["spec"] |= fields | ({"trigger": trigger} if trigger else {})
    return changed


def read(data: dict[str, Any]) -> Document:
    [read] = read_text(yaml.safe_dump(data, sort_keys=False))
    return read


def triggers(graph: Graph) -> dict[str, dict[str, Any] | None]:
    return {
        query.name: query.trigger and query.trigger.model_dump(by_alias=True, exclude_none=True)
        for query in graph.spec.queries
    }


def problems(data: dict[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(SpecInvalid) as error:
        read(data)
    return tuple(problem for problem in error.value.problems if not problem.warning)


def test_each_query_of_a_stream_without_a_trigger_has_that_of_the_pipeline() -> None:
    assert triggers(read(together()).graph) == {
        "weather": {"availableNow": True},
        "again": {"once": True},
        "airports": None,
    }


def test_a_query_returns_to_the_default_by_an_interval_of_nothing() -> None:
    data = together()
    data["spec"]["queries"][0]["trigger"] = {"processingTime": "0 seconds"}
    graph = read(data).graph
    assert triggers(graph)["weather"] == {"processingTime": "0 seconds"}
    assert graph.ends(graph.spec.queries[0]) is False


def test_a_query_of_a_view_that_only_spark_reads_has_it_where_the_view_may_read_a_stream() -> None:
    views = [{"name": "odd", "sql": "SELECT * FROM weather MATCH_SOMETHING"}]
    data = together(views=views)
    data["spec"]["queries"][0]["from"] = "odd"
    assert triggers(read(data).graph)["weather"] == {"availableNow": True}


def test_a_problem_stands_at_the_trigger_of_the_pipeline_and_names_the_query() -> None:
    real_time = problems(together({"realTime": "10 seconds"}))
    assert {problem.path for problem in real_time} == {"spec.trigger.realTime"}
    assert {problem.message.partition(": ")[0] for problem in real_time} == {"query 'weather'"}
    [line] = {problem.line for problem in real_time}
    text = yaml.safe_dump(together({"realTime": "10 seconds"}), sort_keys=False).splitlines()
    assert text[line - 1].strip() == "realTime: 10 seconds"


def test_a_warning_stands_there_too() -> None:
    deprecated = [w for w in read(together({"once": True})).warnings if w.reason == "TriggerDeprecated"]
    assert {(w.path, w.message.partition(": ")[0]) for w in deprecated} == {
        ("spec.trigger.once", "query 'weather'"),
        ("spec.queries[1].trigger.once", "once is deprecated"),
    }


def test_a_schedule_needs_queries_that_end_by_either_trigger() -> None:
    schedule = {"cron": "0 3 * * *"}
    read(together(schedule=schedule))
    [unbounded] = problems(together({"processingTime": "1 minute"}, schedule=schedule))
    assert (unbounded.path, unbounded.reason) == ("spec.trigger", "ScheduleUnbounded")


def test_a_trigger_that_moves_to_the_pipeline_changes_nothing() -> None:
    apart = together()
    del apart["spec"]["trigger"]
    apart["spec"]["queries"][0]["trigger"] = {"availableNow": True}
    way = transition(read(apart).graph, read(together()).graph)
    assert set(way.steps.values()) == {Step.KEEP}
    assert way.driver == ()


def test_another_trigger_of_the_pipeline_restarts_the_queries_that_have_it() -> None:
    way = transition(
        read(together({"processingTime": "1 second"})).graph,
        read(together({"processingTime": "2 seconds"})).graph,
    )
    assert way.steps == {"weather": Step.REPLACE, "again": Step.KEEP, "airports": Step.KEEP}
    [verdict] = [each for each in way.verdict.queries if each.query == "weather"]
    assert verdict.effect is Effect.CONTINUES


def test_a_part_of_the_document_keeps_it() -> None:
    graph = read(together()).graph
    for part in (
        graph.running_only(["weather"]),
        graph.with_fields({"suspend": True}),
        Graph(graph.pipeline),
    ):
        assert triggers(part) == triggers(graph)
