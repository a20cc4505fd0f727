"""The record of the document of a checkpoint, the part of a document that it has, and the message of a refusal."""

import json
from typing import Any

import pytest
from documents import VALID
from documents import document as example
from harness.documents import pipeline_head
from mainstem import __version__
from mainstem.changes import Change, Effect, QueryVerdict, Verdict, compare
from mainstem.changes.consequences import message, path_in, refused_queries
from mainstem.changes.record import DocumentRecord, parse, part_of, placed
from mainstem.checkpoints.document_record import record_of, with_partitions
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_object
from mainstem.language.model.pipeline import StreamingPipeline


SPEC: dict[str, Any] = {
    "connections": [{"name": "unused", "kafka": {"bootstrapServers": "h:1"}}],
    "functions": [{"name": "clean", "python": {"function": "shop:clean", "returns": "STRING"}}],
    "sources": [{"name": "ticks", "rate": {}}, {"name": "other", "rate": {}}],
    "views": [
        {"name": "even", "sql": "SELECT clean(value) AS v FROM ticks"},
        {"name": "odd", "sql": "SELECT value FROM other"},
    ],
    "queries": [
        {"name": "q", "from": "even", "to": [{"name": "out", "console": {}}]},
        {
            "name": "r",
            "from": "odd",
            "to": [{"name": "out", "console": {}}],
            "checkpoint": {"onChange": "keep"},
        },
    ],
    "checkpoints": {"location": "/c"},
}


def pipeline(**query: Any) -> StreamingPipeline:
    """The document, with fields of the first query."""
    queries = [{**SPEC["queries"][0], **query}, SPEC["queries"][1]]
    return read_object({**pipeline_head("p"), "spec": {**SPEC, "queries": queries}}).pipeline


def graph(**query: Any) -> Graph:
    return Graph(pipeline(**query))


@pytest.mark.parametrize("name", sorted(VALID))
def test_the_part_of_each_query_is_the_same_after_it_was_recorded(name: str) -> None:
    graph = read_object(example(name)).graph
    for query in graph.spec.queries:
        part = part_of(graph, query.name)
        record = parse(DocumentRecord(part, "2026-01-01T00:00:00+00:00").text())
        assert record is not None
        assert record.document == part
        assert not compare(record.document, part).refused


def test_a_record_is_canonical_and_has_version_and_time() -> None:
    text = DocumentRecord(part_of(graph(), "q"), "2026-01-01T00:00:00+00:00").text()
    content = json.loads(text)
    assert text == json.dumps(content, sort_keys=True, separators=(",", ":")) + "\n"
    assert (content["mainstem"], content["time"]) == (__version__, "2026-01-01T00:00:00+00:00")


def test_a_record_has_only_what_the_query_reads() -> None:
    spec = part_of(graph(), "q").spec
    names = [
        [each.name for each in group] for group in (spec.sources, spec.views, spec.queries, spec.functions)
    ]
    assert names == [["ticks"], ["even"], ["q"], ["clean"]]
    assert not spec.connections


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"document": {}, "time": "", "mainstem": "9"}', '{"document": 1}']
)
def test_a_text_that_is_no_record_is_not_parsed(text: str) -> None:
    assert parse(text) is None


def test_a_record_belongs_to_its_checkpoint_wherever_the_checkpoint_is_now() -> None:
    wanted = part_of(graph(name="new", checkpoint={"id": "q", "generation": 4}), "new")
    moved = wanted.model_copy(
        update={
            "spec": wanted.spec.model_copy(
                update={"checkpoints": wanted.spec.checkpoints.model_copy(update={"location": "/elsewhere"})}
            )
        }
    )
    assert placed(part_of(graph(), "q"), moved) == moved


def test_the_record_is_beside_the_checkpoint() -> None:
    assert record_of("s3a://b/c/orders/1/") == "s3a://b/c/orders/_1.mainstem-document.json"


WINDOW = Change("spec.views[even].sql", "the window is longer", Effect.MISREADS)
RATE = Change("spec.sources[ticks].rate", "another rate", Effect.CONTINUES)


def test_the_message_of_a_refusal_names_the_query_and_only_the_changes_that_do_not_fit() -> None:
    verdict = QueryVerdict("q", (WINDOW, RATE))
    assert message("q", verdict.refusals, lambda field: f"{field} (p.yaml:3)") == (
        "the query 'q' cannot continue from its checkpoint: spec.views[even].sql (p.yaml:3): the window is longer"
    )


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ({}, True),
        ({"checkpoint": {"onChange": "refuse"}}, True),
        ({"checkpoint": {"onChange": "keep"}}, False),
        ({"checkpoint": {"onChange": "newGeneration"}}, False),
        ({"suspend": True}, False),
    ],
)
def test_only_a_query_that_starts_and_accepts_no_change_is_refused(
    query: dict[str, Any], refused: bool
) -> None:
    verdict = Verdict((QueryVerdict("q", (WINDOW,)), QueryVerdict("r", (WINDOW,))))
    assert [each.query for each in refused_queries(verdict, pipeline(**query))] == ["q"] * refused


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("spec.views[odd].sql", ("spec", "views", 1, "sql")),
        ("spec.queries[r].to[0].console", ("spec", "queries", 1, "to", 0, "console")),
        ("spec.views[gone].sql", ("spec", "views")),
        ("spec.timeZone", ("spec", "timeZone")),
        ("spec.views[1].sql", ("spec", "views", 1, "sql")),
    ],
)
def test_a_field_with_the_names_of_list_items_is_found_in_the_document(
    field: str, path: tuple[Any, ...]
) -> None:
    assert path_in(Graph(pipeline()), field) == path


@pytest.mark.parametrize("state", [{"partitions": 2, "provider": "rocksdb"}, {}, None])
def test_a_record_gets_another_number_of_partitions(state: dict[str, Any] | None) -> None:
    query = {"name": "q"} | ({"state": state} if state is not None else {})
    record = {"document": {"spec": {"queries": [query]}}, "time": "t", "mainstem": "0"}
    changed = json.loads(with_partitions(json.dumps(record), 7))
    assert changed["document"]["spec"]["queries"][0]["state"] == {**(state or {}), "partitions": 7}
    assert {key: changed[key] for key in ("time", "mainstem")} == {"time": "t", "mainstem": "0"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"document": 1}'])
def test_a_text_that_is_no_record_stays_as_it_is(text: str) -> None:
    assert with_partitions(text, 7) == text
