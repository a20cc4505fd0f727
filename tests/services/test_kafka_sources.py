"""Kafka as a source on a real broker: which records, from where, up to where, how many at a time; every row is counted."""

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness.kafka import Broker
from harness.records import Record
from harness.sampling import sampled
from mainstem.dataframes.options.kafka import source_options
from mainstem.language.model.connections import KafkaConnection
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException


DAY = 24 * 3600 * 1000
JANUARY = int(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).timestamp() * 1000)
NOW = {"availableNow": True}


class Bench:
    """Documents of one source and one query each, all on one broker."""

    def __init__(self, pipelines: Any, kafka: Broker) -> None:
        self.pipelines = pipelines
        self.folder: Path = pipelines.folder
        self.connections = [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}]

    def spec(self, sources: dict[str, dict[str, Any]], trigger: Any = NOW, view: str = "") -> dict[str, Any]:
        """Each source, called like its query and its folder of Parquet; `view` is SQL over it, as {}."""
        view = view or "SELECT * FROM {}"
        return {
            "connections": self.connections,
            "sources": [
                {"name": name, "kafka": {"connection": "events", **source}}
                for name, source in sources.items()
            ],
            "views": [{"name": f"{name}_rows", "sql": view.format(name)} for name in sources],
            "queries": [
                {
                    "name": name,
                    "from": f"{name}_rows",
                    "to": [{"name": "out", "parquet": {"path": str(self.folder / name)}}],
                    **({"trigger": trigger} if trigger else {}),
                }
                for name in sources
            ],
        }

    def run(self, sources: dict[str, dict[str, Any]], **more: Any) -> dict[str, QueryProgress]:
        """Run to the end."""
        statuses = self.pipelines.run(self.spec(sources, **more))
        return {status.name: status for status in statuses}

    def rows(self, name: str) -> pa.Table:
        """What a query wrote."""
        return pq.ParquetDataset(str(self.folder / name)).read()

    def values(self, name: str) -> list[str]:
        """The records' values, sorted."""
        files = list((self.folder / name).glob("*.parquet"))
        return sorted(value.decode() for file in files for value in pq.read_table(file)["value"].to_pylist())

    def ends(self, name: str) -> list[int]:
        """How many records each batch of a query took, over all partitions, by the checkpoint."""
        folder = self.folder / "checkpoints" / name / "1" / "offsets"
        logs = sorted((log for log in folder.iterdir() if log.name.isdigit()), key=lambda log: int(log.name))
        ends = [
            sum(
                sum(topic.values())
                for topic in json.loads(log.read_text().splitlines()[-1].partition(":")[2]).values()
            )
            for log in logs
        ]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def create(kafka: Broker, topic: str, partitions: int = 1) -> None:
    """A topic for records of long ago."""
    kafka.create_topic(topic, partitions, {"retention.ms": "-1"})


@pytest.fixture
def bench(pipelines: Any, kafka: Broker) -> Bench:
    return Bench(pipelines, kafka)


@pytest.mark.full(
    gate="services/test_kafka_sources.py::test_a_query_starts_at_its_offsets_and_continues_after_a_restart"
)
@pytest.mark.S01
def test_topics_a_pattern_and_partitions_are_read(bench: Bench, kafka: Broker) -> None:
    sent = []
    for topic, partitions in (("s01-a", 2), ("s01-b", 1), ("s01.c", 1)):
        create(kafka, topic, partitions)
        records = [
            Record(
                f"k{n}".encode(),
                f"{topic} {n}".encode(),
                [("trace", b"t"), ("none", None)] if n else [],
                n % partitions,
                JANUARY + n,
            )
            for n in range(4)
        ]
        kafka.produce(topic, records)
        sent += [(topic, record) for record in records]
    kafka.produce("s01-b", [Record(None, None, partition=0, timestamp_ms=JANUARY)])
    statuses = bench.run(
        {
            "one": {"subscribe": ["s01-a"], "startingOffsets": "earliest", "includeHeaders": True},
            "several": {"subscribe": ["s01-a", "s01.c"], "startingOffsets": "earliest"},
            "pattern": {"subscribePattern": "s01-[ab]", "startingOffsets": "earliest"},
            "exact": {"assign": {"s01-a": [1], "s01-b": [0]}, "startingOffsets": "earliest"},
        }
    )
    assert {status.state for status in statuses.values()} == {QueryState.COMPLETED}
    rows = sorted(bench.rows("one").to_pylist(), key=lambda row: (row["partition"], row["offset"]))
    assert rows == [
        {
            "key": record.key,
            "value": record.value,
            "topic": "s01-a",
            "partition": record.partition,
            "offset": at,
            "timestamp": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
            + datetime.timedelta(milliseconds=record.timestamp_ms - JANUARY),
            "timestampType": 0,
            "headers": [{"key": key, "value": value} for key, value in record.headers] or None,
        }
        for part in (0, 1)
        for at, record in enumerate(r for t, r in sent if t == "s01-a" and r.partition == part)
    ]
    several = {(row["topic"], row["value"]) for row in bench.rows("several").to_pylist()}
    assert several == {(topic, record.value) for topic, record in sent if topic != "s01-b"}
    assert bench.rows("several").num_rows == 8
    assert "headers" not in bench.rows("several").column_names
    pattern = bench.rows("pattern")
    assert pattern.num_rows == 9
    assert set(pattern["topic"].to_pylist()) == {"s01-a", "s01-b"}
    assert next(row for row in pattern.to_pylist() if row["value"] is None)["key"] is None
    exact = sorted((row["topic"], row["partition"]) for row in bench.rows("exact").to_pylist())
    assert exact == [("s01-a", 1)] * 2 + [("s01-b", 0)] * 5


@pytest.mark.S02
def test_a_query_starts_at_its_offsets_and_continues_after_a_restart(bench: Bench, kafka: Broker) -> None:
    create(kafka, "s02", 2)
    kafka.produce("s02", [Record(None, f"{n}".encode(), (), n % 2, JANUARY + n * DAY) for n in range(6)])
    starts: dict[str, tuple[dict[str, str], str]] = {
        "earliest": ({"startingOffsets": "earliest"}, "012345"),
        "latest": ({"startingOffsets": "latest"}, ""),
        "nothing": ({}, ""),
        "exact": ({"startingOffsets": '{"s02": {"0": 2, "1": -2}}'}, "1345"),
        "time": ({"startingTimestamp": "2026-01-03T01:00:00+01:00"}, "2345"),
        "milliseconds": ({"startingTimestamp": str(JANUARY + 4 * DAY)}, "45"),
        "times": (
            {"startingOffsetsByTimestamp": json.dumps({"s02": {"0": JANUARY + 4 * DAY, "1": JANUARY}})},
            "1345",
        ),
    }
    bench.run({name: {"subscribe": ["s02"], **start} for name, (start, _) in starts.items()})
    assert {name: "".join(bench.values(name)) for name in starts} == {
        name: all_ for name, (_, all_) in starts.items()
    }
    kafka.produce("s02", [Record(None, f"{n}".encode(), (), n % 2, JANUARY) for n in (6, 7)])
    again = bench.run({name: {"subscribe": ["s02"], "startingOffsets": "earliest"} for name in starts})
    assert {name: status.input_rows for name, status in again.items()} == dict.fromkeys(starts, 2)
    assert {name: "".join(bench.values(name)) for name in starts} == {
        name: all_ + "67" for name, (_, all_) in starts.items()
    }


@pytest.mark.full(
    gate="services/test_kafka_sources.py::test_a_query_starts_at_its_offsets_and_continues_after_a_restart"
)
@pytest.mark.S02
def test_a_start_time_after_the_last_record_fails_or_starts_at_the_end(bench: Bench, kafka: Broker) -> None:
    create(kafka, "s02-later")
    kafka.produce("s02-later", [Record(None, b"old", (), 0, JANUARY)])
    later = {"subscribe": ["s02-later"], "startingTimestamp": str(JANUARY + DAY)}
    statuses = bench.run({"fails": later, "takes": later | {"startingOffsetsByTimestampStrategy": "latest"}})
    assert (statuses["fails"].state, statuses["takes"].state) == (QueryState.FAILED, QueryState.COMPLETED)
    assert statuses["fails"].reason == "NoRecordOfTime"
    assert "s02-later-0 has no record" in str(statuses["fails"].message)


@pytest.mark.full(gate="unit/test_kafka_options.py::test_every_field_of_a_source_is_an_option")
@pytest.mark.S04
def test_a_batch_never_exceeds_its_limit(bench: Bench, kafka: Broker) -> None:
    create(kafka, "s04", 2)
    kafka.produce("s04", [Record(None, f"{n}".encode(), (), n % 2) for n in range(10)])
    limited = {"subscribe": ["s04"], "startingOffsets": "earliest", "maxOffsetsPerTrigger": 3}
    split = {"subscribe": ["s04"], "startingOffsets": "earliest", "maxRecordsPerPartition": 2}
    bench.run({"limited": limited, "split": split}, view="SELECT value, spark_partition_id() AS task FROM {}")
    assert bench.values("limited") == bench.values("split") == sorted(f"{n}" for n in range(10))
    taken = bench.ends("limited")
    assert sum(taken) == 10
    assert max(taken) <= 3
    tasks = bench.rows("split")["task"].to_pylist()
    assert max(tasks.count(task) for task in tasks) <= 2


@pytest.mark.full(gate="unit/test_kafka_options.py::test_every_field_of_a_source_is_an_option")
@pytest.mark.S04
def test_a_batch_waits_for_its_minimum(bench: Bench, kafka: Broker) -> None:
    create(kafka, "s04-least")
    kafka.produce("s04-least", [Record(None, b"first")])
    source = {
        "subscribe": ["s04-least"],
        "startingOffsets": "earliest",
        "minOffsetsPerTrigger": 5,
        "maxTriggerDelay": "1 hour",
    }
    produced: list[str] = []

    def done(statuses: list[QueryProgress]) -> bool:
        """The first batch waits for nothing; then three records are too few, and two more enough."""
        [status] = statuses
        if status.input_rows == 1 and not produced:
            kafka.produce("s04-least", [Record(None, b"few")] * 3)
            produced.append("few")
        if status.lag == 3 and produced == ["few"]:
            kafka.produce("s04-least", [Record(None, b"enough")] * 2)
            produced.append("enough")
        return status.input_rows == 6

    bench.pipelines.run(bench.spec({"least": source}, trigger={"processingTime": "100 ms"}), until=done)
    assert bench.ends("least") == [1, 5]


@pytest.mark.S05
def test_a_bounded_read_ends_with_exact_rows(bench: Bench, kafka: Broker) -> None:
    create(kafka, "s05", 2)
    kafka.produce("s05", [Record(None, f"{n}".encode(), (), n % 2, JANUARY + n * DAY) for n in range(8)])
    times = json.dumps({"s05": {"0": JANUARY + 4 * DAY, "1": JANUARY + 100 * DAY}})
    ends: dict[str, tuple[dict[str, str], str]] = {
        "latest": ({"endingOffsets": "latest"}, "01234567"),
        "offsets": (
            {"startingOffsets": '{"s05": {"0": 1, "1": -2}}', "endingOffsets": '{"s05": {"0": 3, "1": 2}}'},
            "1234",
        ),
        "time": (
            {"startingTimestamp": "2026-01-02T00:00:00Z", "endingTimestamp": "2026-01-05T00:00:00Z"},
            "123",
        ),
        "times": ({"endingOffsetsByTimestamp": times}, "012357"),
        "nothing": (
            {"startingOffsets": '{"s05": {"0": 2, "1": 2}}', "endingOffsets": '{"s05": {"0": 2, "1": 2}}'},
            "",
        ),
    }
    statuses = bench.run(
        {name: {"subscribe": ["s05"], **end} for name, (end, _) in ends.items()}, trigger=None
    )
    assert {status.state for status in statuses.values()} == {QueryState.COMPLETED}
    assert {name: "".join(bench.values(name)) for name in ends} == {
        name: all_ for name, (_, all_) in ends.items()
    }
    assert {name: status.input_rows for name, status in statuses.items()} == {
        name: len(all_) for name, (_, all_) in ends.items()
    }


@pytest.mark.full(
    gate="spark/test_decode.py::test_a_tombstone_can_be_skipped_while_a_malformed_record_is_not"
)
@pytest.mark.S05
@pytest.mark.S12
def test_of_a_bounded_read_malformed_records_are_dead_letters_and_tombstones_can_be_skipped(
    bench: Bench, kafka: Broker
) -> None:
    create(kafka, "s05-bad")
    kafka.produce("s05-bad", [Record(None, value) for value in (b'{"n": 1}', b"{", b'{"n": 2}', None)])
    read = {"subscribe": ["s05-bad"], "endingOffsets": "latest"}
    spec = bench.spec({"good": read, "skipping": read}, trigger=None)
    decode = {"json": {"schema": "n INT"}, "onMalformedRecord": "deadLetter"}
    spec["sources"][0]["decode"] = decode
    spec["sources"][1]["decode"] = decode | {"onMalformedRecord": "drop", "onTombstone": "skip"}
    spec["queries"].append(
        {
            "name": "bad",
            "from": "good_dead_letters",
            "to": [{"name": "out", "parquet": {"path": str(bench.folder / "bad")}}],
        }
    )
    statuses = bench.pipelines.run(spec)
    assert [status.state for status in statuses] == [QueryState.COMPLETED] * 3
    counts = [
        (source.decoded, source.malformed, source.tombstones)
        for status in statuses
        for source in status.sources
    ]
    assert counts == [(2, 2, 0), (2, 1, 1), (2, 2, 0)]
    for name in ("good", "skipping"):
        assert bench.rows(name)["n"].to_pylist() == [1, 2]
    assert sorted(row["offset"] for row in bench.rows("bad").to_pylist()) == [1, 3]


@pytest.mark.full(gate="services/test_kafka_sources.py::test_a_bounded_read_ends_with_exact_rows")
@pytest.mark.S05
@pytest.mark.S20
def test_a_topic_is_read_as_a_table_beside_a_stream(bench: Bench, kafka: Broker) -> None:
    create(kafka, "s05-names")
    kafka.produce("s05-names", [Record(b"1", b"one"), Record(b"2", b"two")])
    create(kafka, "s05-events")
    kafka.produce("s05-events", [Record(b"2", b"x"), Record(b"3", b"y")])
    spec = bench.spec(
        {
            "events": {"subscribe": ["s05-events"], "startingOffsets": "earliest"},
            "names": {"subscribe": ["s05-names"], "endingOffsets": "latest"},
        }
    )
    spec["views"][0]["sql"] = (
        "SELECT e.value, CAST(n.value AS STRING) AS name FROM events e LEFT JOIN names n ON e.key = n.key"
    )
    events, names = bench.pipelines.run(spec)
    assert (events.state, names.state) == (QueryState.COMPLETED, QueryState.COMPLETED)
    assert sorted((row["value"], row["name"] or "") for row in bench.rows("events").to_pylist()) == [
        (b"x", "two"),
        (b"y", ""),
    ]
    assert not (bench.folder / "checkpoints" / "names" / "1" / "offsets").exists()


REFUSED: dict[str, dict[str, Any]] = {
    "bounded from the latest": {"startingOffsets": "latest", "endingOffsets": "latest"},
    "bounded from a partition's latest": {
        "startingOffsets": '{"s05-refused": {"0": -1}}',
        "endingOffsets": "latest",
    },
    "bounded up to the earliest": {"endingOffsets": "earliest"},
    "bounded up to a partition's earliest": {"endingOffsets": '{"s05-refused": {"0": -2}}'},
}


@pytest.mark.S05
@pytest.mark.parametrize("source", sampled(REFUSED.values(), every=2), ids=REFUSED)
def test_what_a_rule_rejects_fails_in_spark(bench: Bench, kafka: Broker, source: dict[str, Any]) -> None:
    if "s05-refused" not in kafka.admin().list_topics(timeout=10).topics:
        create(kafka, "s05-refused")
    with pytest.raises((PySparkException, Py4JError)) as raised:
        read(bench, kafka, {"subscribe": ["s05-refused"], **source})
    assert "can't be" in str(raised.value)


@pytest.mark.S02
def test_what_a_rule_calls_ambiguous_is_misread_by_spark(bench: Bench, kafka: Broker) -> None:
    """Spark silently uses one of two ends and ignores a limit of batches."""
    create(kafka, "s05-two")
    kafka.produce("s05-two", [Record(None, b"a", (), 0, JANUARY), Record(None, b"b", (), 0, JANUARY + DAY)])
    two = {"subscribe": ["s05-two"], "endingOffsets": "latest", "endingTimestamp": str(JANUARY + DAY)}
    assert read(bench, kafka, two) == 1
    assert (
        read(bench, kafka, {"subscribe": ["s05-two"], "endingOffsets": "latest", "maxOffsetsPerTrigger": 1})
        == 2
    )


def read(bench: Bench, kafka: Broker, source: dict[str, Any]) -> int:
    """How many rows Spark reads of a bounded source, without a rule before it."""
    model = KafkaSource.model_validate({"connection": "events", **source})
    connection = KafkaConnection.model_validate({"bootstrapServers": kafka.bootstrap_servers})
    reader = bench.pipelines.spark.read.format("kafka").options(**source_options(model, connection))
    return int(reader.load().count())
