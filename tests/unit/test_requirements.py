"""The requirements of a run with suspended queries."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.writers import writers
from mainstem.language.document import read_text
from mainstem.language.requirements import required_connections, running, stores_used, used, warnings_of
from mainstem.runtime.preflight import checks, readiness
from mainstem.runtime.preflight.inputs import required_paths


def graph(folder: Path | str, **suspended: bool) -> Graph:
    """`copy` reads a folder, `far` a broker and a table that are not there, `maker` writes what `reader` reads."""

    def query(name: str, read: str, sink: dict[str, Any]) -> dict[str, Any]:
        bounded = {"trigger": {"availableNow": True}, "suspend": suspended.get(name, False)}
        return {"name": name, "from": read, "to": [{"name": "out", **sink}], **bounded}

    spec = {
        "connections": [
            {"name": "both", "kafka": {"bootstrapServers": "127.0.0.1:1"}},
            {"name": "gone", "kafka": {"bootstrapServers": "127.0.0.1:1"}},
            {"name": "shop", "jdbc": {"url": "jdbc:postgresql://127.0.0.1:1/shop"}},
            {"name": "lake", "s3": {"buckets": ["lake"]}},
        ],
        "sources": [
            {"name": "lines", "files": {"path": f"{folder}/in"}},
            {"name": "events", "kafka": {"connection": "gone", "subscribe": ["t"]}},
            {"name": "prices", "static": {"jdbc": {"connection": "shop", "table": "prices"}}},
            {"name": "names", "static": {"csv": {"path": f"{folder}/names.csv"}}},
            {"name": "made", "static": {"delta": {"path": f"{folder}/made"}}},
            {"name": "unread", "static": {"csv": {"path": f"{folder}/in"}}},
        ],
        "views": [
            {"name": "joined", "sql": "SELECT e.value FROM events e CROSS JOIN prices CROSS JOIN names"}
        ],
        "queries": [
            query("copy", "lines", {"console": {}}),
            query("far", "joined", {"kafka": {"connection": "both", "topic": "t", "valueColumn": "value"}}),
            query("maker", "lines", {"delta": {"path": f"{folder}/made"}}),
            query("reader", "made", {"console": {}}),
        ],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }
    head = pipeline_head("some")
    [document] = read_text(json.dumps(head | {"spec": spec}))
    return document.graph


def asked_of(document_graph: Graph) -> dict[str, list[str]]:
    """Running query -> what has to be there when it begins."""
    return {
        query.name: [required.subject for required in required_paths(document_graph, query)]
        for query in running(document_graph)
    }


def test_resources_of_suspended_queries_are_not_required(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "made").mkdir()
    (tmp_path / "names.csv").touch()
    whole, part = graph(tmp_path), graph(tmp_path, far=True)
    assert required_connections(whole) == ["both", "gone", "shop"]
    assert required_connections(part) == []
    assert asked_of(whole) == {
        "copy": ["source 'lines'"],
        "far": ["source 'names'"],
        "maker": ["source 'lines'"],
        "reader": [],
    }
    assert "far" not in asked_of(part)
    assert checks.check_servers(whole) == {"both", "gone", "shop"}  # three queries run without
    assert checks.check_servers(part) == frozenset()
    only_far = graph(tmp_path, copy=True, maker=True, reader=True)
    with pytest.raises(NotReady, match="BrokerUnreachable"):
        checks.check_servers(only_far)


def test_each_query_lists_the_servers_that_it_uses(tmp_path: Path) -> None:
    document_graph = graph(tmp_path)
    queries = {query.name: query for query in document_graph.spec.queries}
    assert used(document_graph, [queries["far"]]) == {"both", "gone", "shop"}
    assert used(document_graph, [queries["copy"]]) == set()
    assert stores_used(document_graph, queries["copy"]) == set()
    assert stores_used(graph("s3a://lake/x"), queries["copy"]) == {"lake"}


def test_a_suspended_query_creates_no_table(tmp_path: Path) -> None:
    for suspended, expected in ((False, [("maker", "made")]), (True, [])):
        document_graph = graph(tmp_path, maker=suspended)
        [reader] = [query for query in document_graph.spec.queries if query.name == "reader"]
        assert writers(document_graph, reader) == expected
        assert ("source 'made'" in asked_of(document_graph)["reader"]) == suspended


WARNED = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: warned}
spec:
  connections:
    - name: orders_broker
      kafka: {bootstrapServers: "k:9092", security: {sasl: {mechanism: PLAIN, secretRef: {name: k}}}}
    - name: clicks_broker
      kafka: {bootstrapServers: "k:9092", security: {sasl: {mechanism: PLAIN, secretRef: {name: k}}}}
  sources:
    - name: orders
      kafka: {connection: orders_broker, subscribe: [orders]}
      decode: {json: {schema: "id INT"}, onMalformedRecord: deadLetter}
    - {name: clicks, kafka: {connection: clicks_broker, subscribe: [clicks]}}
    - {name: ticks, rate: {}}
    - {name: unread, rate: {}}
  views:
    - {name: orders_once, deduplicate: {from: orders}}
    - {name: clicks_once, deduplicate: {from: clicks}}
  queries:
    - {name: orders, from: orders_once, to: [{name: out, memory: {}}]}
    - {name: dead, from: orders_dead_letters, to: [{name: out, console: {}}]}
    - {name: clicks, from: clicks_once, to: [{name: out, console: {}}], trigger: {once: true}}
    - {name: ticks, from: ticks, to: [{name: out, kafka: {connection: clicks_broker, topic: t}}]}
  checkpoints: {location: /checkpoints}
"""


@pytest.mark.parametrize(
    ("queries", "places"),
    [
        (["orders"], ["connections[0].kafka.security.sasl", "views[0].deduplicate", "queries[0].to[0].memory"]),
        (["dead"], ["connections[0].kafka.security.sasl"]),
        (["clicks"], ["connections[1].kafka.security.sasl", "views[1].deduplicate", "queries[2].trigger.once"]),
        (["ticks"], ["connections[1].kafka.security.sasl", "sources[2].rate"]),
    ],
    ids=lambda value: value[0],
)  # fmt: skip
def test_warnings_of_chosen_queries_leave_out_those_of_the_others(
    queries: list[str], places: list[str]
) -> None:
    [document] = read_text(WARNED)
    chosen = [problem.path.removeprefix("spec.") for problem in warnings_of(document, queries)]
    assert chosen == places


def test_every_warning_concerns_a_query_or_an_unused_source() -> None:
    [document] = read_text(WARNED)
    names = [query.name for query in document.pipeline.spec.queries]
    concerned = {problem for name in names for problem in warnings_of(document, [name])}
    rest = [problem for problem in document.warnings if problem not in concerned]
    assert {problem.path for problem in rest} == {"spec.sources[3].name", "spec.sources[3].rate"}


UNUSED: list[dict[str, Any]] = [
    {"name": "spare", "kafka": {"bootstrapServers": "127.0.0.1:1"}},
    {"name": "spare", "jdbc": {"url": "jdbc:postgresql://127.0.0.1:1/x"}},
    {"name": "spare", "s3": {"buckets": ["spare"], "endpoint": "http://127.0.0.1:1"}},
]
SECRET = {"name": "nowhere"}


@pytest.mark.parametrize("connection", UNUSED, ids=lambda each: next(key for key in each if key != "name"))
def test_an_unused_connection_stops_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connection: dict[str, Any]
) -> None:
    """Its server is away, its secret is not there."""
    monkeypatch.setenv("MAINSTEM_SECRETS", str(tmp_path))
    kind = next(key for key in connection if key != "name")
    secured = {"sasl": {"mechanism": "PLAIN", "secretRef": SECRET}, "tls": {"secretRef": SECRET}}
    settings = {"security": secured} if kind == "kafka" else {"secretRef": SECRET}
    (tmp_path / "in").mkdir()
    spec = {
        "connections": [{"name": "spare", kind: connection[kind] | settings}],
        "sources": [{"name": "lines", "files": {"path": f"{tmp_path}/in"}}],
        "queries": [{"name": "copy", "from": "lines", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": f"{tmp_path}/checkpoints"},
    }
    head = pipeline_head("some")
    [document] = read_text(json.dumps(head | {"spec": spec}))
    assert checks.check_servers(document.graph) == frozenset()
    assert readiness.before_session(document.graph) == {}


@pytest.mark.parametrize(
    ("sql", "table", "named"),
    [
        ("SELECT value FROM lines", None, set()),
        ("SELECT l.value FROM lines l JOIN Warehouse.shop.items USING (value)", None, {"warehouse"}),
        ("SELECT value FROM lines", "warehouse.shop.items", {"warehouse"}),
    ],
)
def test_a_catalog_is_required_when_a_text_names_it(sql: str, table: str | None, named: set[str]) -> None:
    catalog = {
        "class": "org.example.Catalog",
        "secretOptions": {"token": {"name": "nowhere", "key": "token"}},
    }
    tables = [{"name": "items", "static": {"table": {"name": table}}}] if table else []
    spec = {
        "connections": [{"name": "warehouse", "catalog": catalog}],
        "sources": [{"name": "lines", "files": {"path": "/in"}}, *tables],
        "views": [{"name": "v", "sql": sql}],
        "queries": [{"name": "copy", "from": "v", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": "/checkpoints"},
    }
    head = pipeline_head("some")
    [document] = read_text(json.dumps(head | {"spec": spec}))
    assert set(required_connections(document.graph)) == named
