"""The sample `k8s/samples/medallion.yaml`: Kafka to bronze to silver to gold, every row once at each step, through a kill."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from harness.checkpoints import newest
from harness.driver import DriverProcess
from harness.kafka import Broker
from harness.records import Record
from harness.s3 import S3Server


pytestmark = [
    pytest.mark.faults,
    pytest.mark.full(gate="spark/test_delta_source.py::test_the_table_is_read_and_then_each_commit_once"),
]


SAMPLE = Path(__file__).parents[2] / "k8s" / "samples" / "medallion.yaml"
CARRIERS = ("AA", "DL", "UA")
TOPIC = "medallion-departures"


def departures(numbers: range) -> list[Record]:
    rows = [
        {"carrier": CARRIERS[number % 3], "dest": "ORD", "dep_delay": number % 60 - 10} for number in numbers
    ]
    return [Record(None, json.dumps(row).encode()) for row in rows]


@pytest.mark.S33
@pytest.mark.S07
@pytest.mark.timeout(900)
def test_the_medallion_sample_is_exact_through_a_kill(kafka: Broker, s3: S3Server, tmp_path: Path) -> None:
    s3.make_bucket("mainstem")
    kafka.create_topic(TOPIC, 2)
    document = tmp_path / "medallion.yaml"
    text = SAMPLE.read_text(encoding="utf-8")
    assert text.count("30 seconds") == 2
    document.write_text(text.replace("30 seconds", "1 second"), encoding="utf-8")
    secret = tmp_path / "secrets" / "s3"
    secret.mkdir(parents=True)
    (secret / "accessKey").write_text(s3.access_key)
    (secret / "secretKey").write_text(s3.secret_key)
    sets = {"brokers": kafka.bootstrap_servers, "endpoint": s3.endpoint, "topic": TOPIC}
    more: dict[str, Any] = {"sets": sets, "env": {"MAINSTEM_SECRETS": str(tmp_path / "secrets")}}
    lake = s3.root / "mainstem" / "medallion"
    gold = s3.root / "mainstem" / "checkpoints" / "medallion" / "gold" / "1" / "commits"

    def table(name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = DeltaTable(str(lake / name)).to_pyarrow_table().to_pylist()
        return rows

    kafka.produce(TOPIC, departures(range(300)))
    with DriverProcess(document, tmp_path / "run", **more) as driver:
        driver.until(lambda: newest(gold) >= 0, 300)  # silver and gold have waited for their tables
        kafka.produce(TOPIC, departures(range(300, 600)))
        before = newest(gold)
        driver.until(lambda: newest(gold) > before, 300)
        kafka.produce(TOPIC, departures(range(600, 900)))
        driver.kill()
    with DriverProcess(document, tmp_path / "run", arguments=("--stop-when-idle=5s",), **more) as driver:
        assert driver.wait(300) == 0, driver.stderr[-3000:]

    for name in ("bronze", "silver"):
        places = Counter((row["partition"], row["offset"]) for row in table(name))
        assert (len(places), set(places.values())) == (900, {1}), name
    assert {row["carrier"]: (row["flights"], row["delay"]) for row in table("gold")} == {
        carrier: (300, sum(number % 60 - 10 for number in range(900) if number % 3 == index))
        for index, carrier in enumerate(CARRIERS)
    }
