"""The samples `cameras.yaml` and `cameras-report.yaml` on a real broker and a real store: every row is exact."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from harness.kafka import Broker
from harness.records import Record
from harness.s3 import S3Server
from harness.waiting import within
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.spark.conf import _bucket


SAMPLES = Path(__file__).parents[2] / "k8s" / "samples"
HOUR = "2026-03-01T{:02}:30:00.000Z"


def home(first: int, count: int, hour: int, *, person: bool = True, online: bool = True) -> Record:
    """One home with so many cameras, that all saw the same."""
    sightings = {
        "has_sound": False,
        "has_motion": True,
        "has_person": person,
        "start_time": HOUR.format(hour),
        "end_time": HOUR.format(hour),
        "web_url": "not of the schema",
    }
    cameras = {
        f"c{n}": {
            "device_id": f"d{n}",
            "software_version": "4.0",
            "is_online": online,
            "last_event": sightings,
        }
        for n in range(first, first + count)
    }
    return Record(None, json.dumps({"devices": {"cameras": cameras}}).encode())


def settled(statuses: list[QueryProgress], rows: int) -> bool:
    """Every query has read all that was sent, and waits."""
    return all(status.input_rows >= rows and status.idle for status in statuses)


class Cameras:
    """The two samples, over 2000 cameras with a place each."""

    def __init__(self, pipelines: Any, kafka: Broker, s3: S3Server, folder: Path) -> None:
        self.pipelines, self.kafka = pipelines, kafka
        for bucket in ("lake", "checkpoints"):
            s3.make_bucket(bucket)
        self.lake = s3.root / "lake" / "cameras"
        self.lake.mkdir(parents=True)
        places = [f"d{n},{'98101' if n < 1500 else '10001'}" for n in range(2000)]
        (self.lake / "device_locations.csv").write_text("\n".join(["device_id,zip_code", *places]))
        secret = folder / "secrets" / "s3"
        secret.mkdir(parents=True)
        (secret / "accessKey").write_text(s3.access_key)
        (secret / "secretKey").write_text(s3.secret_key)
        self.values = {
            "brokers": kafka.bootstrap_servers,
            "store": s3.endpoint,
            "checkpoints": str(folder / "checkpoints"),
        }

    def send(self) -> None:
        """Six homes: more than a thousand persons in one hour of one zip code, and nowhere else."""
        self.kafka.produce("homes", [home(0, 600, 9), home(600, 601, 9), home(1500, 7, 9), home(0, 3, 10)])
        self.kafka.produce("homes", [home(1600, 2, 9, person=False, online=False), home(5000, 1, 9)])

    def run(self, homes: int) -> list[QueryProgress]:
        """Run `cameras.yaml` until each query has read so many homes."""
        document = (SAMPLES / "cameras.yaml").read_text()
        reach(self.pipelines, self.pipelines.graph(document, self.values))
        return list(
            self.pipelines.run(document, values=self.values, until=lambda statuses: settled(statuses, homes))
        )

    def report(self) -> QueryProgress:
        """Run `cameras-report.yaml` to its end."""
        document = (SAMPLES / "cameras-report.yaml").read_text()
        [busy] = self.pipelines.run(document, values=self.values)
        assert busy.state is QueryState.COMPLETED
        return busy


@pytest.fixture
def cameras(
    pipelines: Any, kafka: Broker, s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Cameras]:
    monkeypatch.setenv("MAINSTEM_SECRETS", str(tmp_path / "secrets"))
    made = Cameras(pipelines, kafka, s3, tmp_path)
    kafka.create_topic("homes")
    kafka.create_topic("camera-alerts")
    kafka.create_topic("camera-sightings", 1, {"cleanup.policy": "compact"})
    yield made
    admin, topics = kafka.admin(), ["homes", "camera-alerts", "camera-sightings"]
    for deleted in admin.delete_topics(topics).values():
        deleted.result(timeout=30)
    within(30, "no topic", lambda: not admin.list_topics(timeout=10).topics.keys() & set(topics))
    shutil.rmtree(made.lake)


@pytest.mark.full(
    gate="cluster/test_story.py::test_a_document_runs_with_an_executor_from_kafka_to_delta_on_s3"
)
@pytest.mark.S13
@pytest.mark.S14
@pytest.mark.S15
@pytest.mark.timeout(600)
def test_the_cameras_sample_and_its_report_are_exact(cameras: Cameras, kafka: Broker) -> None:
    cameras.send()
    sightings, archive, offline = cameras.run(6)
    assert {status.state for status in (sightings, archive, offline)} == {QueryState.DRAINED}
    assert len({status.checkpoint for status in (sightings, archive, offline)}) == 3
    assert [status.pool for status in (sightings, archive, offline)] == ["sightings", "archive", "offline"]
    assert counts(kafka) == {("98101", 9): "1201", ("98101", 10): "3", ("10001", 9): "7"}
    rows = pq.ParquetDataset(str(cameras.lake / "archive")).read()
    assert rows.num_rows == 600 + 601 + 7 + 3 + 2 + 1
    assert set(rows.column_names) == {"device_id", "software_version", "is_online", "last_event"}
    alerts = [json.loads(record.value or b"") for record in kafka.consume_all("camera-alerts")]
    assert sorted(alert["device_id"] for alert in alerts) == ["d1600", "d1601"]
    assert alerts[0]["last_seen"] == "2026-03-01T09:30:00.000000Z"
    cameras.report()
    assert reported(cameras.lake) == [("98101", 9)]


@pytest.mark.full(gate="services/test_kafka_sources.py::test_a_bounded_read_ends_with_exact_rows")
@pytest.mark.S13
@pytest.mark.S15
@pytest.mark.timeout(600)
def test_a_later_report_has_what_was_counted_since(cameras: Cameras, kafka: Broker) -> None:
    cameras.send()
    cameras.run(6)
    kafka.produce("homes", [home(1500, 400, 9), home(1500, 400, 9), home(1500, 400, 9)])
    cameras.report()
    assert reported(cameras.lake) == [("98101", 9)]
    cameras.run(3)
    assert counts(kafka) == {("98101", 9): "1201", ("98101", 10): "3", ("10001", 9): "1207"}
    assert cameras.report().batch == 1
    assert reported(cameras.lake) == [("10001", 9), ("98101", 9)]


def counts(kafka: Broker) -> dict[tuple[str, int], str]:
    """The last value of each key, as a consumer of the compacted topic has them."""
    totals = {}
    for record in kafka.consume_all("camera-sightings"):
        key = json.loads(record.key or b"")
        assert set(key) == {"zip_code", "window"}
        totals[key["zip_code"], int(key["window"]["start"][11:13])] = (record.value or b"").decode()
    return totals


def reported(lake: Path) -> list[tuple[str, int]]:
    """Zip codes and hours of the report."""
    rows = DeltaTable(str(lake / "busy")).to_pyarrow_table().to_pylist()
    return sorted((row["zip_code"], row["from_time"].hour) for row in rows)


def reach(pipelines: Any, graph: Any) -> None:
    """Tell the session, which is older than the store, where the buckets are."""
    hadoop = pipelines.spark.sparkContext._jsc.hadoopConfiguration()
    [store] = [connection for connection in graph.spec.connections if connection.s3]
    for bucket in store.s3.buckets:
        for key, value in _bucket(bucket, store.s3).items():
            hadoop.set(key.removeprefix("spark.hadoop."), value)
