"""The sample `k8s/samples/flights.yaml` against a real broker and a real store: every total is exact.

The environment is a hostile one: another time zone, and a locale in which lower case is not what code expects.
"""

import datetime
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from deltalake import DeltaTable
from harness.driver import DriverProcess
from harness.kafka import Broker
from harness.records import Record
from harness.s3 import S3Server


ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "k8s" / "samples" / "flights.yaml"
HOSTILE = {"TZ": "America/New_York", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"}
BATCH = 15_000
"""`maxOffsetsPerTrigger` of the sample."""
SHUFFLED = datetime.date(2013, 1, 25)


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """The demo's modules: they know the flights and their totals."""
    monkeypatch.syspath_prepend(str(ROOT / "demo"))
    names = ("replay", "lake", "report")
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


class Store:
    """Buckets, secret and reference data of one run of the sample."""

    def __init__(
        self, s3: S3Server, kafka: Broker, folder: Path, demo: dict[str, ModuleType], name: str
    ) -> None:
        for bucket in ("lake", "checkpoints"):
            s3.make_bucket(bucket)
        self.folder = s3.root / "lake" / name
        demo["replay"].write_reference(s3.root / "lake" / "reference")
        secret = folder / "secrets" / "s3"
        secret.mkdir(parents=True)
        (secret / "accessKey").write_text(s3.access_key)
        (secret / "secretKey").write_text(s3.secret_key + "\n")
        self.values = (s3.access_key, s3.secret_key)
        self.env = HOSTILE | {"MAINSTEM_SECRETS": str(folder / "secrets")}
        self.sets = {
            "brokers": kafka.bootstrap_servers,
            "store": s3.endpoint,
            "lake": f"s3a://lake/{name}",
            "checkpoints": f"s3a://checkpoints/{name}",
        }


def sample(folder: Path, topic: str, batch: int = BATCH) -> Path:
    """The sample with a topic of this test's own, and batches of so many records."""
    text = SAMPLE.read_text().replace("subscribe: [departures]", f"subscribe: [{topic}]")
    document = folder / "flights.yaml"
    document.write_text(text.replace(f"maxOffsetsPerTrigger: {BATCH}", f"maxOffsetsPerTrigger: {batch}"))
    return document


@pytest.mark.full  # the tier of the cluster counts all flights at each run
@pytest.mark.S12
@pytest.mark.S14
@pytest.mark.S20
@pytest.mark.S29
@pytest.mark.timeout(1200)
def test_the_totals_of_the_sample_are_exact(
    kafka: Broker, s3: S3Server, demo: dict[str, ModuleType], tmp_path: Path
) -> None:
    store = Store(s3, kafka, tmp_path, demo, "flights")
    kafka.create_topic("all-flights", 1)
    kafka.produce("all-flights", (Record(None, line) for line in demo["replay"].records()))
    document = sample(tmp_path, "all-flights", batch=4 * BATCH)
    with DriverProcess(
        document, tmp_path, sets=store.sets, env=store.env, arguments=("--stop-when-idle=3s",)
    ) as driver:
        assert driver.wait(900) == 0, driver.stderr[-4000:]
    expected = demo["report"].EXPECTED
    archive = demo["lake"].read_parquet(store.folder / "archive")
    assert archive.num_rows == expected.archive
    assert {"airline", "airport", "tailnum", "time_hour"} < set(archive.column_names)
    assert archive["airport"].null_count == expected.no_airport
    carriers = DeltaTable(str(store.folder / "carrier_days")).to_pyarrow_table()
    delays = DeltaTable(str(store.folder / "delays")).to_pyarrow_table()
    assert (carriers.num_rows, sum(carriers["flights"].to_pylist())) == (5_442, 336_776)
    assert (sum(delays["flights"].to_pylist()), sum(delays["without_delay"].to_pylist())) == (336_776, 8_255)
    assert DeltaTable(str(store.folder / "dead_letters")).to_pyarrow_table().num_rows == 12
    queries = {query["name"]: query for query in driver.final()["queries"]}
    for query in queries.values():
        [source] = query["sources"]
        assert (source["decoded"], source["malformed"], source["lag"]) == (336_776, 12, 0)
        assert query["inputRows"] == 336_788
        assert query["droppedByWatermark"] == 0
        assert query["batches"] == 6
    message = driver.stderr + "\n".join(driver.stdout) + json.dumps(driver.final()) + document.read_text()
    for value in store.values:
        assert value not in message


@pytest.mark.full(gate="spark/test_event_time.py::test_windows_of_every_kind_work_in_every_mode")
@pytest.mark.S18
@pytest.mark.timeout(900)
def test_a_day_behind_the_watermark_is_reported_as_dropped(
    kafka: Broker, s3: S3Server, demo: dict[str, ModuleType], tmp_path: Path
) -> None:
    store = Store(s3, kafka, tmp_path, demo, "shuffled")
    lines = [
        line
        for name, rows in list(demo["replay"].departures(SHUFFLED).items())[:4]
        for line in demo["replay"].encode(name, rows)
    ]
    kafka.create_topic("shuffled-flights", 1)
    kafka.produce("shuffled-flights", (Record(None, line) for line in lines))
    document = sample(tmp_path, "shuffled-flights")
    with DriverProcess(
        document, tmp_path, sets=store.sets, env=store.env, arguments=("--stop-when-idle=3s",)
    ) as driver:
        assert driver.wait(600) == 0, driver.stderr[-4000:]
    dropped = {query["name"]: query["droppedByWatermark"] for query in driver.final()["queries"]}
    rows = {"carrier-days": 0, "delays": 0}
    for name, key in (("carrier-days", "carrier"), ("delays", "origin")):
        late, groups = late_rows(lines, key)
        assert late > 0
        # Spark counts behind its partial aggregation: one for each group, not one for each row.
        assert dropped[name] == groups
        table = DeltaTable(str(store.folder / name.replace("-", "_"))).to_pyarrow_table()
        rows[name] = sum(table["flights"].to_pylist())
        assert rows[name] == parsed(lines) - late, "exactly the late rows are missing"
    assert dropped["archive"] == dropped["dead-letters"] == 0
    assert demo["lake"].read_parquet(store.folder / "archive").num_rows == parsed(lines)


def flights(lines: list[bytes]) -> Iterator[dict[str, str] | None]:
    """Each record's flight, None for the broken ones."""
    for line in lines:
        try:
            flight = json.loads(line)
        except ValueError:
            flight = None
        whole = isinstance(flight, dict) and isinstance(flight.get("time_hour"), str) and len(flight) == 19
        yield (
            flight
            if whole and all(type(flight[name]) is int for name in ("flight", "distance", "day"))
            else None
        )


def parsed(lines: list[bytes]) -> int:
    return sum(flight is not None for flight in flights(lines))


def late_rows(lines: list[bytes], key: str) -> tuple[int, int]:
    """Rows and groups whose window had ended by the watermark of their batch.

    The watermark of a batch is the newest event time of the batches before it less a day, and rows are late by the
    watermark of the batch before; batches are consecutive records, for the topic has one partition.
    """
    newest, before, late, groups = "", "", 0, 0
    for start in range(0, len(lines), BATCH):
        batch = [flight for flight in flights(lines[start : start + BATCH]) if flight]
        late_groups = set()
        if before:
            watermark = datetime.datetime.fromisoformat(before) - datetime.timedelta(days=1)
            for flight in batch:
                day = datetime.date.fromisoformat(flight["time_hour"][:10])
                end = datetime.datetime.combine(day, datetime.time(), datetime.UTC) + datetime.timedelta(
                    days=1
                )
                if end <= watermark:
                    late += 1
                    late_groups.add((day, flight[key]))
        groups += len(late_groups)
        before, newest = newest, max([newest, *(flight["time_hour"] for flight in batch)])
    return late, groups
