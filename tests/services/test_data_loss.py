"""Records that expired before they were read, and topics that are not there yet, on a real broker."""

import signal
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import TopicPartition
from deltalake import DeltaTable
from harness.driver import Driver
from harness.kafka import Broker
from harness.records import Record
from mainstem.errors import Exit


START = 240.0
"""Seconds for a start, on a machine that does other things too."""


def document(folder: Path, kafka: Broker, sources: dict[str, dict[str, Any]], **more: Any) -> Path:
    """One query for each source, to a table of its name: partition and offset of each record."""
    spec = {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}],
        "sources": [
            {"name": name, "kafka": {"connection": "events", "startingOffsets": "earliest", **source}}
            for name, source in sources.items()
        ],
        "views": [
            {"name": f"{name}_places", "sql": f"SELECT partition, offset FROM {name}"} for name in sources
        ],
        "queries": [
            {
                "name": name,
                "from": f"{name}_places",
                "to": [{"name": "table", "delta": {"path": str(folder / name)}}],
                **more,
            }
            for name in sources
        ],
        "checkpoints": {"location": str(folder / "checkpoints")},
    }
    whole = {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": "losses"},
        "spec": spec,
    }
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(whole), encoding="utf-8")
    return file


def rows(folder: Path, table: str) -> list[tuple[int, int]]:
    found = DeltaTable(str(folder / table)).to_pyarrow_table().to_pylist()
    return sorted((row["partition"], row["offset"]) for row in found)


def records(partition: int, count: int) -> list[Record]:
    return [Record(None, b"x", partition=partition) for _ in range(count)]


@pytest.mark.S03
@pytest.mark.timeout(600)
def test_offsets_that_expired_are_counted_or_end_the_query(kafka: Broker, tmp_path: Path) -> None:
    kafka.create_topic("losses", partitions=2)
    lossy = {"subscribe": ["losses"], "failOnDataLoss": False}
    file = document(
        tmp_path,
        kafka,
        {"lossy": lossy, "strict": {"subscribe": ["losses"]}},
        trigger={"availableNow": True},
        state={"partitions": 1},
    )
    arguments = ("--heap=1g", "--cores=2")
    kafka.produce("losses", [*records(0, 4), *records(1, 3)])
    with Driver(file, tmp_path / "run", arguments=arguments) as driver:
        assert driver.wait(START) == Exit.OK
        before = {query["name"]: query["sources"][0]["lost"] for query in driver.final()["queries"]}
    assert before == {"lossy": 0, "strict": 0}

    kafka.produce("losses", [*records(0, 6), *records(1, 5)])
    gone = [TopicPartition("losses", 0, 7), TopicPartition("losses", 1, 3)]
    admin = kafka.admin()
    for deleted in admin.delete_records(gone).values():
        deleted.result(30)
    with Driver(file, tmp_path / "run", arguments=arguments) as driver:
        assert driver.wait(START) == Exit.QUERY_FAILED
        after = {query["name"]: query for query in driver.final()["queries"]}
    # Of partition 0 the offsets 4 to 6 are gone; of partition 1 only what had been read.
    assert after["lossy"]["state"] == "Completed"
    assert after["lossy"]["sources"][0]["lost"] == 3
    assert after["lossy"]["countedSince"] < after["lossy"]["lastProgressTime"]
    assert rows(tmp_path, "lossy") == [
        *((0, offset) for offset in (0, 1, 2, 3, 7, 8, 9)),
        *((1, offset) for offset in range(8)),
    ]
    assert (after["strict"]["state"], after["strict"]["reason"]) == ("Failed", "KafkaDataLost")
    assert "set failOnDataLoss: false" in after["strict"]["message"]


@pytest.mark.timeout(600)
def test_a_topic_that_comes_later(kafka: Broker, tmp_path: Path) -> None:
    kafka.create_topic("early-bird")
    kafka.produce("early-bird", records(0, 2))
    sources = {"late": {"subscribe": ["late-bird"]}, "early": {"subscribe": ["early-bird"]}}
    file = document(tmp_path, kafka, sources)
    with Driver(file, tmp_path / "run", arguments=("--heap=1g", "--cores=2")) as driver:

        def told(name: str, **wanted: Any) -> bool:
            return any(
                line["name"] == name and all(line.get(key) == value for key, value in wanted.items())
                for line in driver.progress
            )

        driver.until(lambda: told("late", state="Waiting", reason="TopicNotFound"), START)
        driver.until(lambda: told("early", state="Running", inputRows=2), START)
        kafka.create_topic("late-bird")
        kafka.produce("late-bird", records(0, 3))
        driver.until(lambda: told("late", state="Running", inputRows=3), START)
        driver.send(signal.SIGTERM)
        assert driver.wait(START) == Exit.OK
    assert rows(tmp_path, "late") == [(0, 0), (0, 1), (0, 2)]
