"""Which queries of a running driver a new document touches, and what only a new driver can apply."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from harness.documents import pipeline_head
from mainstem.changes.transition import Step, continued, transition
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text


def document() -> dict[str, Any]:
    sink = {"name": "out", "console": {}}
    return {
        "connections": [{"name": "broker", "kafka": {"bootstrapServers": "b:9092"}}],
        "sources": [
            {"name": "left_in", "rate": {}},
            {"name": "right_in", "rate": {}},
            {"name": "topic_in", "kafka": {"connection": "broker", "subscribe": ["t"]}},
        ],
        "views": [{"name": "doubled", "sql": "SELECT value * 2 AS value FROM left_in"}],
        "queries": [
            {"name": "left", "from": "doubled", "to": [sink]},
            {"name": "right", "from": "right_in", "to": [sink]},
            {"name": "idle", "from": "right_in", "to": [sink], "suspend": True},
        ],
        "checkpoints": {"location": "/data/checkpoints"},
    }


def graph(spec: dict[str, Any], name: str = "p") -> Graph:
    [read] = read_text(json.dumps({**pipeline_head(name), "spec": spec}))
    return read.graph


def changed(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    spec = deepcopy(document())
    change(spec)
    return spec


def other_view(spec: dict[str, Any]) -> None:
    spec["views"][0].update(sql="SELECT value * 3 AS value FROM left_in")


KEEP, START, REPLACE, SUSPEND, REMOVE = Step.KEEP, Step.START, Step.REPLACE, Step.SUSPEND, Step.REMOVE
NOTHING = {"left": KEEP, "right": KEEP, "idle": KEEP}
STEPS: dict[str, tuple[Callable[[dict[str, Any]], Any], dict[str, Step]]] = {
    "nothing": (lambda spec: None, NOTHING),
    "a weight": (lambda spec: spec["queries"][0].update(pool={"weight": 3}), NOTHING),
    "budgets": (lambda spec: spec.update(restart={"maxRetries": 1}, drain={"timeout": "5s"}), NOTHING),
    "a nonce": (lambda spec: spec.update(restartNonce=3), NOTHING),
    "a source that nothing reads": (lambda spec: spec["sources"].append({"name": "x", "rate": {}}), NOTHING),
    "the order": (lambda spec: spec["queries"].reverse(), NOTHING),
    "a view": (
        other_view,
        {**NOTHING, "left": REPLACE},
    ),
    "a source": (
        lambda spec: spec["sources"][1].update(rate={"rowsPerSecond": 5}),
        {**NOTHING, "right": REPLACE},
    ),
    "a trigger": (
        lambda spec: spec["queries"][1].update(trigger={"processingTime": "2s"}),
        {**NOTHING, "right": REPLACE},
    ),
    "a suspended query": (lambda spec: spec["queries"][2].update(outputMode="update"), NOTHING),
    "suspend": (lambda spec: spec["queries"][0].update(suspend=True), {**NOTHING, "left": SUSPEND}),
    "resume": (lambda spec: spec["queries"][2].update(suspend=False), {**NOTHING, "idle": START}),
    "a query more": (
        lambda spec: spec["queries"].append({**spec["queries"][1], "name": "more"}),
        {**NOTHING, "more": START},
    ),
    "a query less": (lambda spec: spec["queries"].pop(0), {"right": KEEP, "idle": KEEP, "left": REMOVE}),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_change_touches_exactly_these_queries(name: str) -> None:
    change, steps = STEPS[name]
    way = transition(graph(document()), graph(changed(change)))
    assert (dict(way.steps), way.driver) == (steps, ())
    assert set(way.built) == {query for query, step in steps.items() if step in (START, REPLACE)}


def folders(left: str, right: str, **query: Any) -> dict[str, Any]:
    spec = document()
    for each, path in zip(spec["queries"], (left, right), strict=False):
        each["to"] = [{"name": "out", "parquet": {"path": path}}]
    spec["queries"][0] |= query
    return spec


@pytest.mark.parametrize(
    ("wanted", "moved"),
    [
        (folders("/x", "/y"), set()),
        (folders("/x/", "file:///y"), set()),
        (folders("/y", "/x"), {"left", "right"}),
        (folders("/z", "/y"), {"left"}),
        (folders("/x", "/y", checkpoint={"generation": 2}), {"left"}),
        (folders("/x", "/y", trigger={"processingTime": "2s"}), set()),
    ],
)
def test_only_a_query_with_another_checkpoint_or_folder_looks_into_its_folders(
    wanted: dict[str, Any], moved: set[str]
) -> None:
    way = transition(graph(folders("/x", "/y")), graph(wanted))
    assert way.moved == moved
    assert way.retrying(["left"], graph(wanted)).moved == moved - {"left"}


def test_the_steps_have_the_order_of_the_new_document() -> None:
    way = transition(graph(document()), graph(changed(lambda spec: spec["queries"].reverse())))
    assert list(way.steps) == ["idle", "right", "left"]


DRIVER: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "image": (lambda spec: spec.update(image="other"), "spec.image"),
    "executors": (lambda spec: spec.update(executors={"instances": 2}), "spec.executors.instances"),
    "a property": (
        lambda spec: spec.update(spark={"conf": {"spark.sql.adaptive.enabled": "false"}}),
        "spec.spark.conf[spark.sql.adaptive.enabled]",
    ),
    "a connection": (
        lambda spec: spec["connections"][0]["kafka"].update(bootstrapServers="c:9092"),
        "spec.connections[broker]",
    ),
    "the time zone": (lambda spec: spec.update(timeZone="Europe/Berlin"), "spec.timeZone"),
    "the checkpoints": (
        lambda spec: spec["checkpoints"].update(location="/data/other"),
        "spec.checkpoints.location",
    ),
    "a connection that was not in use": (
        lambda spec: spec["queries"].append({**spec["queries"][1], "name": "topic", "from": "topic_in"}),
        "the connection broker, which was not in use",
    ),
    "a query that keeps its checkpoint under another name": (
        lambda spec: spec["queries"][0].update(name="renamed", checkpoint={"id": "left"}),
        "the move of the checkpoint left/1 from query left to renamed",
    ),
    "a query that ends": (
        lambda spec: spec["queries"][0].update(trigger={"availableNow": True}),
        "the query left, which ends on its own",
    ),
}


@pytest.mark.parametrize("name", DRIVER)
def test_only_a_new_driver_applies_these_changes(name: str) -> None:
    change, cause = DRIVER[name]
    assert cause in transition(graph(document()), graph(changed(change))).driver


def test_a_new_driver_applies_a_new_name_of_the_pipeline() -> None:
    assert transition(graph(document(), "old"), graph(document(), "new")).driver == ("metadata.name",)


def test_only_a_new_driver_takes_over_another_maintenance_of_tables() -> None:
    def with_sink(maintenance: dict[str, Any]) -> Graph:
        spec = document()
        spec["queries"][0]["to"] = [{"name": "out", "delta": {"path": "/data/t", **maintenance}}]
        return graph(spec)

    way = transition(with_sink({}), with_sink({"maintenance": {"vacuum": {"retain": "8 days"}}}))
    assert way.driver == ("the maintenance of /data/t",)


def test_a_document_that_chooses_generations_continues_on_those_in_use() -> None:
    def with_checkpoint(generation: int, on_change: str) -> Graph:
        checkpoint = {"generation": generation, "onChange": on_change}
        return graph(changed(lambda spec: spec["queries"][0].update(checkpoint=checkpoint)))

    def generation(running: Graph, wanted: Graph) -> int:
        return continued(running, wanted).spec.queries[0].checkpoint.generation

    running = with_checkpoint(3, "newGeneration")
    assert generation(running, with_checkpoint(1, "newGeneration")) == 3
    assert generation(running, with_checkpoint(1, "refuse")) == 1
    assert generation(running, with_checkpoint(4, "newGeneration")) == 4


def test_a_query_begins_on_a_checkpoint_that_the_running_document_does_not_use() -> None:
    running = graph(document())
    resumed = graph(changed(lambda spec: spec["queries"][2].update(suspend=False)))
    assert transition(running, resumed).begun == {"idle"}
    moved = graph(changed(lambda spec: spec["queries"][0].update(checkpoint={"generation": 2})))
    assert transition(running, moved).begun == {"left"}
    assert transition(running, graph(changed(other_view))).begun == set()
