"""The output of `mainstem explain`."""

from pathlib import Path

import pytest
from documents import VALID
from documents.bad_steps import STEPS
from mainstem.explain import meaning, text
from mainstem.explain.defaults import DEFAULTS
from mainstem.explain.promises import promise
from mainstem.language.analysis.eligibility import TRIGGERS, eligibility, obstacles
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.sinks import Sink
from mainstem.language.model.triggers import Trigger


ROOT = Path(__file__).resolve().parents[2]
FLIGHTS = ROOT / "k8s" / "samples" / "flights.yaml"


def graph_of(written: str) -> Graph:
    [document] = read_text(written)
    return document.graph


def flights() -> Graph:
    return graph_of(FLIGHTS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", VALID)
def test_every_valid_document_can_be_explained(name: str) -> None:
    lines = text(meaning(graph_of(VALID[name])))
    assert "None" not in lines
    assert all(len(line) <= 110 or " " not in line.strip() for line in lines.splitlines())


def test_a_stateful_query_shows_operators_watermarks_and_guarantees() -> None:
    [query] = meaning(flights(), "carrier-days")["queries"]
    assert query["plan"]["kind"] == "stateful"
    assert query["state"]["operators"] == ["carrier_days aggregates"]
    assert query["state"]["watermarks"] == ["departures.time_hour, 1 day"]
    assert query["state"]["warnings"] == []
    assert query["checkpoint"]["path"] == "s3a://checkpoints/flights/carrier-days/1"
    assert [sink["promise"] for sink in query["sinks"]] == [
        "exactly once: each batch is at most one version of the table"
    ]


def test_a_plan_that_only_spark_knows_is_not_called_stateless() -> None:
    lines = text(meaning(graph_of(STEPS), "enriched"))
    assert "  plan       unknown\n" in lines
    assert "  state      only Spark knows\n" in lines


def test_state_without_a_watermark_is_a_warning() -> None:
    written = FLIGHTS.read_text(encoding="utf-8").replace(
        "      watermark: {column: time_hour, delay: 1 day}\n", ""
    )
    [query] = meaning(graph_of(written), "carrier-days")["queries"]
    assert query["state"]["warnings"] == [
        "carrier_days keeps its state for ever: no watermark removes old state"
    ]
    [query] = meaning(graph_of(VALID["complete"]), "all")["queries"]
    assert query["state"]["warnings"] == ["complete mode keeps the whole result for ever"]


@pytest.mark.S34
def test_triggers_are_listed_with_their_obstacles() -> None:
    [query] = meaning(flights(), "archive")["queries"]
    obstacles_of = {
        trigger["trigger"]: [obstacle["conflict"] for obstacle in trigger["obstacles"]]
        for trigger in query["triggers"]
    }
    assert list(obstacles_of) == list(TRIGGERS)
    assert obstacles_of["availableNow"] == []
    assert obstacles_of["continuous"] == [
        "the sink 'files' is parquet",
        "'enriched' joins",
        "'departures' has decode, which counts records",
        "'departures' has a watermark",
    ]
    assert obstacles_of["realTime"] == [
        "the sink 'files' is parquet",
        "the mode is append",
        "the source 'departures' has maxOffsetsPerTrigger",
    ]


@pytest.mark.S05
def test_a_bounded_query_has_no_streaming_trigger_and_a_free_checkpoint() -> None:
    query = meaning(graph_of(VALID["kafka-bounded"]), "part")["queries"][0]
    assert query["plan"]["kind"] == "batch"
    assert [trigger["trigger"] for trigger in query["triggers"] if trigger["eligible"]] == [
        "default",
        "availableNow",
        "once",
    ]
    assert query["checkpoint"]["fixedByFirstBatch"] == []


@pytest.mark.S34
def test_an_eligible_trigger_is_not_rejected() -> None:
    for written in VALID.values():
        graph = graph_of(written)
        for query in graph.spec.queries:
            chosen = query.trigger.choice() if query.trigger else "default"
            assert dict(eligibility(graph, query))[chosen] == []


@pytest.mark.S34
@pytest.mark.parametrize(
    ("sql", "stands"),
    [
        ("SELECT CAST(value AS STRING) AS v FROM orders WHERE value IS NOT NULL", []),
        ("SELECT upper(v) AS v FROM (SELECT CAST(value AS STRING) AS v FROM orders)", []),
        ("SELECT value, (SELECT max(id) FROM shops) AS m FROM orders", []),
        (
            "SELECT explode(split(CAST(value AS STRING), ' ')) AS w FROM orders",
            ["returns several rows for one row"],
        ),
        ("SELECT value, current_timestamp() AS t FROM orders", ["reads the current time"]),
        ("SELECT value FROM orders UNION ALL SELECT value FROM orders", ["combines several relations"]),
        ("WITH a AS (SELECT value FROM orders) SELECT value FROM a", ["has a WITH clause"]),
        ("SELECT o.value FROM orders o JOIN shops s ON o.offset = s.id", ["joins"]),
        ("SELECT value, count(*) AS n FROM orders GROUP BY value", ["aggregates"]),
    ],
)
def test_continuous_lists_the_plans_that_it_does_not_support(sql: str, stands: list[str]) -> None:
    graph = graph_of(
        f"""
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: plans}}
spec:
  connections: [{{name: events, kafka: {{bootstrapServers: "kafka:9092"}}}}]
  sources:
    - {{name: orders, kafka: {{connection: events, subscribe: [orders]}}}}
    - {{name: shops, static: {{parquet: {{path: /lake/shops}}}}}}
  views: [{{name: v, sql: "{sql}"}}]
  queries: [{{name: q, from: v, outputMode: update, to: [{{name: out, console: {{}}}}]}}]
  checkpoints: {{location: /ckpt}}
"""
    )
    conflicts = [obstacle.conflict for obstacle in obstacles(graph, graph.spec.queries[0], "continuous")]
    assert conflicts == [f"'v' {conflict}" for conflict in stands]


def test_every_sink_has_a_delivery_guarantee_and_a_weaker_one_without_batches() -> None:
    [query] = graph_of(VALID["smallest"]).spec.queries
    sinks = {"kafka": {"connection": "a", "topic": "b"}, "console": {}, "noop": {}, "delta": {"path": "/t"}}
    for kind, settings in sinks.items():
        sink = Sink.model_validate({"name": "out", kind: settings})
        assert promise(query, sink)
        continuous = query.model_copy(update={"trigger": Trigger.model_validate({"continuous": "1 second"})})
        assert promise(continuous, sink).startswith("at least once")


@pytest.mark.S39
def test_the_defaults_are_on_the_architecture_page() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for default in DEFAULTS:
        last = default.setting.rpartition("spark.")[2].rpartition(".")[2]
        assert last in page, default.setting
        assert default.value != default.spark


def test_explain_lists_only_defaults_that_affect_the_document() -> None:
    settings = {default["setting"] for default in meaning(graph_of(VALID["smallest"]))["defaults"]}
    assert "spark.scheduler.mode" in settings
    assert not any("delta" in setting or "stateStore" in setting for setting in settings)
