"""`spec.trigger`: the trigger of the queries of streams that have none of their own."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from documents import document
from mainstem.changes import Effect
from mainstem.changes.consequences import path_in
from mainstem.changes.transition import Step, transition
from mainstem.cli_diff.field_places import place
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.analysis import graph as graphs
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document, read_text
from mainstem.language.document import read as read_file
from mainstem.language.requirements import warnings_of


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


def test_it_is_one_problem_for_all_queries_and_hides_no_other() -> None:
    data = together({"realTime": "10 seconds"})
    [weather, again, _] = data["spec"]["queries"]
    many = [weather | {"name": f"q{i}", "checkpoint": {"id": f"q{i}"}} for i in range(60)]
    data["spec"]["queries"] = [*many, again | {"trigger": {"continuous": "1 second"}}]
    refusals = problems(data)
    assert len({(each.path, each.reason) for each in refusals}) == len(refusals)
    shared = [each for each in refusals if each.path == "spec.trigger.realTime"]
    assert {each.message.partition(": ")[0] for each in shared} == {"query 'q0' and 59 others"}
    assert {each.path for each in refusals} == {
        "spec.trigger.realTime",
        "spec.queries[60].trigger.continuous",
    }


def test_a_warning_stands_there_once_and_only_for_queries_that_have_it() -> None:
    document = read(together({"once": True}))
    deprecated = sorted(w.path for w in document.warnings if w.reason == "TriggerDeprecated")
    assert deprecated == ["spec.queries[1].trigger.once", "spec.trigger.once"]
    warned = {
        name: [w.path for w in warnings_of(document, [name]) if w.reason == "TriggerDeprecated"]
        for name in ("weather", "again", "airports")
    }
    assert warned == {
        "weather": ["spec.trigger.once"],
        "again": ["spec.queries[1].trigger.once"],
        "airports": [],
    }


@pytest.mark.parametrize("trigger", [{"realTime": "1 second"}, {"availableNow": True}], ids=str)
def test_a_trigger_that_no_query_has_is_a_warning(trigger: dict[str, Any]) -> None:
    data = together(trigger)
    del data["spec"]["queries"][0]
    unused = [w for w in read(data).warnings if w.reason == "TriggerUnused"]
    assert [w.path for w in unused] == ["spec.trigger"]
    assert not [w for w in read(together()).warnings if w.reason == "TriggerUnused"]


@pytest.mark.parametrize(
    "trigger",
    [{"availableNow": True, "once": True}, {"processingTime": "1 parsec"}, {"availableNow": False}],
    ids=str,
)
def test_a_broken_trigger_is_the_only_problem(trigger: dict[str, Any]) -> None:
    [problem] = problems(together(trigger, schedule={"cron": "0 3 * * *"}))
    assert problem.path.startswith("spec.trigger")


def test_texts_that_are_too_long_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule about their size comes before all that reads them."""
    read_texts: list[str] = []
    monkeypatch.setattr(graphs, "read", read_texts.append)
    longest = "SELECT origin FROM weather WHERE origin IN (" + ", ".join(["'JFK'"] * 2_000) + ")"
    views = [{"name": f"v{i}", "sql": longest} for i in range(20)]
    [problem] = problems(together(views=views))
    assert (problem.path, problem.reason) == ("spec.views", "DocumentTooComplex")
    assert read_texts == []


def test_a_schedule_needs_queries_that_end_by_either_trigger() -> None:
    schedule = {"cron": "0 3 * * *"}
    read(together(schedule=schedule))
    [unbounded] = problems(together({"processingTime": "1 minute"}, schedule=schedule))
    assert (unbounded.path, unbounded.reason) == ("spec.trigger", "ScheduleUnbounded")
    own = together({"processingTime": "1 minute"}, schedule=schedule)
    own["spec"]["queries"][0]["trigger"] = {"once": True}
    assert [problem.path for problem in problems(own)] == ["spec.trigger"], "as the definition has it"


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
    parts = (
        graph.running_only(["weather"]),
        graph.with_fields({"suspend": True}),
        graph.with_generations({"weather": 2}),
    )
    for part in (*parts, Graph(graph.pipeline)):
        assert triggers(part) == triggers(graph)
    assert {part.inherited for part in parts} == {graph.inherited}


def test_a_change_of_it_is_shown_where_it_stands(tmp_path: Path) -> None:
    files = []
    for number, trigger in enumerate(({"processingTime": "1 minute"}, {"realTime": "5 minutes"})):
        data = together(trigger)
        data["spec"]["sources"][0] = {"name": "weather", "kafka": {"connection": "c", "subscribe": ["t"]}}
        data["spec"]["connections"] = [{"name": "c", "kafka": {"bootstrapServers": "k:9092"}}]
        data["spec"]["queries"][0] |= {"outputMode": "update", "to": [{"name": "out", "console": {}}]}
        files.append(tmp_path / f"{number}.yaml")
        files[-1].write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    before, after = (read_file(file) for file in files)
    [(file, line)] = {place("spec.queries[weather].trigger", after, before)}
    assert (file, files[1].read_text().splitlines()[line - 1]) == (str(files[1]), "    realTime: 5 minutes")
    assert path_in(after.graph, "spec.queries[weather].trigger.realTime") == ("spec", "trigger", "realTime")
    assert path_in(after.graph, "spec.queries[again].trigger") == ("spec", "queries", 1, "trigger")
