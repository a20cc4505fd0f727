"""The driver is killed again and again; every row is there exactly once.

Real Kafka, checkpoints and tables on real S3 and PostgreSQL servers, SIGKILL for Python and JVM at once.
"""

import collections
import datetime
import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness.checkpoints import data_files, logged_files, newest, pending
from harness.driver import DriverProcess
from harness.errors import HarnessError
from harness.java import SHORT_LIVED
from harness.kafka import Broker
from harness.postgres import Postgres
from harness.records import Record
from harness.s3 import S3Server
from harness.waiting import at_any_moment


DOCUMENT = Path(__file__).parents[1] / "documents" / "exactly_once.yaml"
BATCH = 1_500
"""Records of a batch: `maxOffsetsPerTrigger` of the document."""
AHEAD = 5
"""Batches that a query has before it when its driver starts, so that none is killed while it idles."""
DAY = 1_300
"""Orders of a day."""
BROKEN = 4_000
"""One record in so many is broken."""
SHOPS = ("bern", "genf", "chur")
FIRST = datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
QUERIES = ("archive", "copy", "shop-days", "ledger", "twice")
START = 240.0
"""Seconds for a start and a first batch, on a machine that does other things too."""
KILLS = {
    1: ("writing",),
    4: ("planned",) * 2 + ("writing",) + ("any",),
    10: ("planned",) * 5 + ("writing",) * 3 + ("any",) * 2,
}
"""Number of kills -> the moment of each: a batch is planned, files are written and not committed, or any."""


def orders(numbers: range) -> list[Record]:
    records = []
    for number in numbers:
        if number % BROKEN == BROKEN // 2:
            records.append(Record(None, b'{"id": 1, "shop": '))
        at = FIRST + datetime.timedelta(days=number // DAY, hours=number % 24)
        order = {"id": number, "shop": SHOPS[number % 3], "at": at.isoformat(), "amount": number % 100 / 4}
        # Both partitions in the order of time: rows of one far behind the other would be late.
        records.append(Record(None, json.dumps(order).encode(), partition=number % 2))
    return records


def at_once(folder: Path) -> Path:
    """The document without small batches: after the batches that were planned, a query takes all that is left as one."""
    text, limit = DOCUMENT.read_text(encoding="utf-8"), f"maxOffsetsPerTrigger: {BATCH}"
    assert limit in text
    document = folder / "at-once.yaml"
    document.write_text(text.replace(limit, f"maxOffsetsPerTrigger: {1000 * BATCH}"), encoding="utf-8")
    return document


def count_by_spark(s3: S3Server, env: dict[str, str]) -> tuple[int, int]:
    """Rows and distinct ids of the Parquet folder, as Spark reads it over S3A."""
    script = Path(__file__).parents[1] / "harness" / "count_parquet.py"
    argv = [sys.executable, str(script), s3.endpoint, "s3a://lake/archive"]
    done = subprocess.run(
        argv, env=os.environ | env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    rows, distinct = done.stdout.split()[-2:]
    return int(rows), int(distinct)


@pytest.fixture
def kafka() -> Iterator[Broker]:
    """A broker of the test's own, as the other servers: the names of topics, buckets and tables stand in the document."""
    with Broker() as broker:
        yield broker


@pytest.fixture
def s3() -> Iterator[S3Server]:
    """A store of the test's own."""
    with S3Server() as server:
        yield server


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    """A database of the test's own."""
    with Postgres() as server:
        yield server


@pytest.mark.S26
@pytest.mark.S28
@pytest.mark.S27
@pytest.mark.S29
@pytest.mark.S31
@pytest.mark.S32
@pytest.mark.S36
@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.full(gate="cluster/test_story.py::test_after_a_kill_within_a_batch_the_next_driver_continues")
def test_kills_lose_and_repeat_nothing(
    kafka: Broker, s3: S3Server, postgres: Postgres, tmp_path: Path, kills: int
) -> None:
    seed = int(os.environ.get("MAINSTEM_SEED", str(random.SystemRandom().randrange(10**6))))
    print(f"seed {seed} (MAINSTEM_SEED={seed} repeats it)")
    chance = random.Random(seed)
    for bucket in ("lake", "checkpoints"):
        s3.make_bucket(bucket)
    kafka.create_topic("orders", 2)
    kafka.create_topic("shop-days", 2)
    postgres.run("CREATE TABLE ledger (id BIGINT, shop TEXT, at TIMESTAMPTZ, amount DOUBLE PRECISION)")
    postgres.run(
        "CREATE TABLE shop_days (day DATE, shop TEXT, orders BIGINT, amount DOUBLE PRECISION, PRIMARY KEY (day, shop))"
    )
    postgres.secret(tmp_path / "secrets", "postgres")
    scratch = tmp_path / "scratch"  # a driver that is killed leaves its own behind
    scratch.mkdir()
    keys = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    env = SHORT_LIVED | keys | {"TMPDIR": str(scratch), "MAINSTEM_SECRETS": str(tmp_path / "secrets")}
    sets = {"brokers": kafka.bootstrap_servers, "endpoint": s3.endpoint, "database": postgres.url}
    checkpoints, archive = s3.root / "checkpoints" / "exactly-once", s3.root / "lake" / "archive"

    def checkpoint(query: str) -> Path:
        return checkpoints / query / "1"

    def planned() -> bool:
        return any(pending(checkpoint(query)) for query in QUERIES)

    def unlogged() -> set[str]:
        return data_files(archive) - logged_files(archive)

    def feed(target: Path, rows: int) -> int:
        """Rows in the topic once the query of a checkpoint has `AHEAD` batches before it."""
        wanted = max(rows, (newest(target / "commits") + 1 + AHEAD) * BATCH)
        kafka.produce("orders", orders(range(rows, wanted)))
        return wanted

    rows = 0
    kinds = list(KILLS[kills])
    chance.shuffle(kinds)
    batches: collections.Counter[str] = collections.Counter()
    for number, kind in enumerate(kinds):
        target = checkpoint("archive" if kind == "writing" else QUERIES[number % len(QUERIES)])
        rows = feed(target, rows)
        before = newest(target / "commits")
        with DriverProcess(DOCUMENT, tmp_path, sets=sets, env=env) as driver:
            driver.until(lambda: newest(target / "commits") > before, START)  # noqa: B023 - called at once
            at_any_moment(chance, 0.6)
            if kind == "planned":
                driver.until(lambda: pending(target), START, pause=0.002)  # noqa: B023
                at_any_moment(chance, 0.6)
            elif kind == "writing":
                driver.until(lambda: bool(unlogged()), START, pause=0.002)
            driver.kill()
        batches["planned"] += planned()
        batches["writing"] += bool(unlogged())
    print(
        f"{rows} orders; kills: {len(kinds)}, with a batch planned {batches['planned']}, with files written {batches['writing']}"
    )
    assert batches["planned"] >= KILLS[kills].count("planned") - 1
    assert batches["writing"] >= KILLS[kills].count("writing") - 1

    with DriverProcess(
        at_once(tmp_path), tmp_path, sets=sets, env=env, arguments=("--stop-when-idle=3s",)
    ) as driver:
        assert driver.wait(2 * START) == 0, driver.stderr[-3000:]

    ids = pyarrow.dataset.dataset(archive, format="parquet").to_table(columns=["id"])["id"].to_pylist()
    assert sorted(ids) == list(range(rows)), "Parquet, the bare folder read by pyarrow"
    assert kills == 1 or count_by_spark(s3, env) == (rows, rows), "Parquet, read by Spark"
    assert unlogged() == set()
    copied = DeltaTable(str(s3.root / "lake" / "copy")).to_pyarrow_table()["id"].to_pylist()
    assert sorted(copied) == list(range(rows)), "Delta, appended"
    merged = DeltaTable(str(s3.root / "lake" / "shop_days")).to_pyarrow_table().to_pylist()
    assert sum(row["orders"] for row in merged) == rows, "Delta, merged"
    assert len(merged) == len({(row["day"], row["shop"]) for row in merged}) == math.ceil(rows / DAY) * 3
    ledger = [row[0] for row in postgres.run("SELECT id FROM ledger ORDER BY id")]
    assert ledger == list(range(rows)), "PostgreSQL, appended"
    counted = {(row["day"], row["shop"]): (row["orders"], row["amount"]) for row in merged}
    too = DeltaTable(str(s3.root / "lake" / "shop_days_too")).to_pyarrow_table().to_pylist()
    assert {(row["day"], row["shop"]): (row["orders"], row["amount"]) for row in too} == counted, (
        "Delta, one of several sinks"
    )
    upserted = postgres.run("SELECT day, shop, orders, amount FROM shop_days")
    assert {(day, shop): (orders, amount) for day, shop, orders, amount in upserted} == counted, (
        "PostgreSQL, one of several sinks"
    )
    totals = [json.loads(record.value or b"{}") for record in kafka.consume_all("shop-days")]
    newest_told = {(row["day"], row["shop"]): row["orders"] for row in totals}  # a batch may be there twice
    assert newest_told == {(day.isoformat(), shop): orders for (day, shop), (orders, _) in counted.items()}, (
        "Kafka, one of several sinks"
    )
    with pytest.raises(HarnessError):
        driver.until(lambda: False, 1)  # it has ended: nothing of it is left
    for secret in (s3.access_key, s3.secret_key, postgres.password):
        assert secret not in driver.stderr
