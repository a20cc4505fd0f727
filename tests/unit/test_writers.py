"""Which queries write an input of another query, and which of them it waits for."""

from typing import Any

import pytest
import yaml
from harness.documents import pipeline_head
from mainstem.errors import Problem
from mainstem.explain import meaning, text
from mainstem.language.analysis.writers import awaited, writers
from mainstem.language.document import Document, read_text


ENDS = {"availableNow": True}
CONNECTIONS = [
    {"name": "events", "kafka": {"bootstrapServers": "one:9092"}},
    {"name": "same", "kafka": {"bootstrapServers": "one:9092"}},
    {"name": "more", "kafka": {"bootstrapServers": "three:9092, one:9092"}},
    {"name": "other", "kafka": {"bootstrapServers": "two:9092"}},
    {"name": "shop", "jdbc": {"url": "jdbc:postgresql://db/shop"}},
    {"name": "bank", "jdbc": {"url": "jdbc:postgresql://db/bank"}},
]


def query(name: str, read: str, *sinks: dict[str, Any], **more: Any) -> dict[str, Any]:
    to = [{"name": f"to_{number}", **sink} for number, sink in enumerate(sinks)]
    return {
        "name": name,
        "from": read,
        "to": to or [{"name": "seen", "console": {}}],
        "trigger": ENDS,
        **more,
    }


def document(sources: list[dict[str, Any]], queries: list[dict[str, Any]]) -> Document:
    spec = {
        "connections": CONNECTIONS,
        "sources": sources,
        "queries": queries,
        "checkpoints": {"location": "/c"},
    }
    [read] = read_text(yaml.safe_dump({**pipeline_head("test"), "spec": spec}))
    return read


def kafka(connection: str = "events", **settings: Any) -> dict[str, Any]:
    return {"kafka": {"connection": connection, **settings}}


def delta(path: str) -> dict[str, Any]:
    return {"delta": {"path": path}}


def files(path: str, **options: str) -> dict[str, Any]:
    return {"files": {"path": path, "format": "text", "options": options}}


def table(**settings: Any) -> dict[str, Any]:
    return {"static": {"jdbc": {"connection": "shop", **settings}}}


TOPIC = kafka(topic="orders")
ROWS = {"jdbc": {"connection": "shop", "table": "public.orders", "delivery": "atLeastOnce"}}

CASES: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    (delta("./lake/orders"), delta("lake//orders/"), True),
    (delta("./lake/orders"), {"static": {"delta": {"path": "lake/orders"}}}, True),
    (delta("./lake/orders"), delta("lake/orders_2"), False),
    (delta("s3a://lake/orders"), delta("s3a://lake/orders"), True),
    (delta("s3a://lake/orders"), delta("s3a://sea/orders"), False),
    ({"json": {"path": "lake/orders"}}, files("lake"), False),
    ({"json": {"path": "lake/orders"}}, files("lake", recursiveFileLookup="TRUE"), True),
    ({"json": {"path": "lake/orders/day=1"}}, files("lake/orders"), True),
    ({"json": {"path": "lake/orders"}}, files("l*"), False),
    ({"json": {"path": "lake/orders"}}, files("lake/orders/day=1"), True),
    ({"json": {"path": "lake/orders"}}, files("lake/*"), True),
    ({"json": {"path": "lake/orders"}}, files("lake/o?ders/*.txt"), True),
    ({"json": {"path": "lake/orders"}}, files("lake/raw_*"), False),
    ({"json": {"path": "lake/orders"}}, files("{lake,sea}/orders"), True),
    ({"json": {"path": "lake/orders"}}, files("lake/[a-p]*"), True),
    ({"json": {"path": "lake/orders"}}, files("."), False),
    ({"json": {"path": "day=1"}}, files("."), True),
    ({"json": {"path": "/lake/orders"}}, files("/", recursiveFileLookup="true"), True),
    (TOPIC, kafka(subscribe=["clicks", "orders"]), True),
    (TOPIC, kafka("same", subscribe=["orders"]), True),
    (TOPIC, kafka("more", subscribe=["orders"]), True),
    (TOPIC, kafka("other", subscribe=["orders"]), False),
    (TOPIC, kafka(subscribe=["clicks"]), False),
    (TOPIC, kafka(assign={"orders": [0]}), True),
    (TOPIC, kafka(subscribePattern="or.*"), True),
    (TOPIC, kafka(subscribePattern="rd"), False),
    (TOPIC, kafka(subscribePattern="\\p{Alpha}+"), True),
    (kafka(topicColumn="value"), kafka(subscribe=["clicks"]), True),
    (ROWS, table(table="orders"), True),
    (ROWS, table(table='"public"."orders"'), True),
    (ROWS, table(query="SELECT * FROM Orders o"), True),
    (ROWS, table(table="reorders"), False),
    (ROWS, table(connection="bank", table="orders"), False),
    (delta("lake/orders"), {"rate": {}}, False),
    ({"noop": {}}, delta("lake/orders"), False),
]


@pytest.mark.parametrize(
    ("sink", "source", "feeds"), CASES, ids=[f"{sink} {source}" for sink, source, _ in CASES]
)
def test_a_sink_may_write_a_source(sink: dict[str, Any], source: dict[str, Any], feeds: bool) -> None:
    sources = [{"name": "read", **source}, {"name": "raw", "rate": {}}]
    graph = document(sources, [query("reader", "read"), query("writer", "raw", sink)]).graph
    assert writers(graph, graph.spec.queries[0]) == ([("writer", "read")] if feeds else [])


def lake(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, **delta(f"lake/{name}")} for name in names]


def to(name: str) -> dict[str, Any]:
    return delta(f"lake/{name}")


def waits(queries: list[dict[str, Any]]) -> dict[str, list[str]]:
    read = document(lake("a", "b", "c", "d"), queries)
    return {name: [writer.query for writer in each] for name, each in awaited(read.graph).items() if each}


def test_a_query_that_ends_waits_for_the_writers_that_end() -> None:
    chain = [query("second", "b", to("c")), query("third", "c", to("d")), query("first", "a", to("b"))]
    assert waits(chain) == {"second": ["first"], "third": ["second"]}
    fan = [query("one", "a", to("c")), query("two", "b", to("c")), query("both", "c")]
    assert waits(fan) == {"both": ["one", "two"]}


def test_explain_shows_after_which_queries_a_query_starts() -> None:
    read = document(lake("a", "b"), [query("second", "b"), query("first", "a", to("b"))])
    second, first = text(meaning(read.graph)).split("\n\n")[1:3]
    assert "  starts     after first has ended, which writes b\n" in second
    assert "  starts " not in first


@pytest.mark.parametrize(
    "writer",
    [query("first", "a", to("b"), trigger=None), query("first", "a", to("b"), suspend=True)],
    ids=["without an end", "suspended"],
)
def test_a_query_does_not_wait_for_a_writer_that_never_ends(writer: dict[str, Any]) -> None:
    assert waits([query("second", "b", to("c")), writer, query("end", "d")]) == {}


def test_a_query_without_an_end_waits_for_no_writer() -> None:
    assert waits([query("first", "a", to("b")), query("second", "b", to("c"), trigger=None)]) == {}


def test_queries_that_wait_for_each_other_would_never_start() -> None:
    """So they do not; what only reads them waits for both."""
    circle = [query("ab", "a", to("b")), query("bc", "b", to("c")), query("ca", "c", to("a"))]
    assert waits([*circle, query("after", "b", to("d"))]) == {"after": ["ab"]}


def test_a_circle_may_pass_through_a_query_without_an_end() -> None:
    """`ab` waits for the table that the endless query makes, and that query for the table of `ca`."""
    circle = [query("ab", "a", to("b")), query("ca", "c", to("a")), query("bc", "b", to("c"), trigger=None)]
    assert waits(circle) == {}


def warnings(source: dict[str, Any]) -> list[Problem]:
    sources = [{"name": "copied", **source}, {"name": "raw", "rate": {}}]
    read = document(
        sources, [query("reader", "copied"), query("writer", "raw", kafka(topic="copied"), to("copied"))]
    )
    return [warning for warning in read.warnings if warning.reason == "StartsBehindWriter"]


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (kafka(subscribe=["copied"]), "set startingOffsets: earliest"),
        (kafka(subscribe=["copied"], startingOffsets="latest"), "set startingOffsets: earliest"),
        ({"delta": {"path": "lake/copied", "startingVersion": "latest"}}, "remove startingVersion"),
        (kafka(subscribe=["copied"], startingOffsets="earliest"), None),
        (kafka(subscribe=["copied"], startingTimestamp="2026-01-01T00:00:00Z"), None),
        (kafka(subscribe=["copied"], endingOffsets="latest"), None),
        (kafka(subscribe=["another"]), None),
        (delta("lake/copied"), None),
    ],
)
def test_a_warning_names_a_source_that_begins_behind_its_writer(
    source: dict[str, Any], remedy: str | None
) -> None:
    warned = [(warning.path, warning.message) for warning in warnings(source)]
    message = (
        "the query 'writer' writes it, and ends before it is read; the first run would begin at the newest row, and read "
        f"none of these rows; {remedy}"
    )
    assert warned == ([(f"spec.sources[0].{next(iter(source))}", message)] if remedy else [])
