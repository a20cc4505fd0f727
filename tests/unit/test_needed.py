"""What a run asks for where some queries are suspended."""

import json
from pathlib import Path
from typing import Any

import pytest
from mainstem.errors import NotReady
from mainstem.run import preflight
from mainstem.run.inputs import demanded, makers
from mainstem.run.needed import needed, stores_used, used
from mainstem.spec.document import read_text
from mainstem.spec.graph import Graph


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
    head = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline", "metadata": {"name": "some"}}
    [document] = read_text(json.dumps(head | {"spec": spec}))
    return Graph(document.pipeline)


def test_what_only_suspended_queries_use_is_not_asked_for(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "made").mkdir()
    (tmp_path / "names.csv").touch()
    whole, part = graph(tmp_path), graph(tmp_path, far=True)
    assert needed(whole) == ["both", "gone", "shop", "lake"]
    assert needed(part) == ["lake"]
    assert [what for what, _ in demanded(whole)] == [
        f"source {name!r}" for name in ("lines", "names", "unread")
    ]
    assert [what for what, _ in demanded(part)] == ["source 'lines'", "source 'unread'"]
    assert preflight.reachable(whole) == {"both", "gone", "shop"}  # three queries run without
    assert preflight.reachable(part) == frozenset()
    only_far = graph(tmp_path, copy=True, maker=True, reader=True)
    with pytest.raises(NotReady, match="BrokerUnreachable"):
        preflight.reachable(only_far)


def test_which_servers_a_query_uses(tmp_path: Path) -> None:
    found = graph(tmp_path)
    queries = {query.name: query for query in found.spec.queries}
    assert used(found, [queries["far"]]) == {"both", "gone", "shop"}
    assert used(found, [queries["copy"]]) == set()
    assert stores_used(found, queries["copy"]) == set()
    assert stores_used(graph("s3a://lake/x"), queries["copy"]) == {"lake"}


def test_a_suspended_query_makes_nothing(tmp_path: Path) -> None:
    for suspended, expected in ((False, {"maker"}), (True, set())):
        found = graph(tmp_path, maker=suspended)
        [reader] = [query for query in found.spec.queries if query.name == "reader"]
        assert makers(found, reader) == expected
        assert ("source 'made'" in [what for what, _ in demanded(found)]) == suspended
