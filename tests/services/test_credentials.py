"""Credentials that change while a query runs: the old ones stop working, the Secret gets the new ones, and no row is lost."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import tables
from harness.documents import pipeline_head
from harness.driver import DriverProcess
from harness.kafkasecured import SecuredBroker
from harness.records import Record
from harness.s3 import S3Server


pytestmark = [
    pytest.mark.faults,
    pytest.mark.S04,
    pytest.mark.timeout(900),
    pytest.mark.full(gate="unit/test_kafka_secrets.py::test_a_changed_secret_changes_the_properties"),
]
START = 240.0
RECOVERY = 180.0
"""Seconds from the change of a Secret to the next row, on a machine that does other things too."""
REFUSED = 60.0
"""Seconds from the first use of an old value to the first restart for it: no client tries it again by itself."""
PORTION = 20


class Rotation:
    """A pipeline from Kafka to a Delta table on S3 and back to Kafka, whose broker and store both want credentials."""

    def __init__(self, broker: SecuredBroker, store: S3Server, folder: Path) -> None:
        self.broker, self.store, self.folder = broker, store, folder
        self.sent = 0
        for name in ("numbers", "copies"):
            broker.create_topic(name)
        store.make_bucket("rotation")
        self.put("user", username=broker.user, password=broker.password)
        self.put("ca", **{"ca.crt": broker.authority.certificate.read_text()})
        self.put("keys", accessKey=store.access_key, secretKey=store.secret_key)

    def put(self, secret: str, **values: str) -> None:
        """Change a Secret, as the kubelet does: each file appears whole."""
        (self.folder / "secrets" / secret).mkdir(parents=True, exist_ok=True)
        for key, value in values.items():
            file = self.folder / "secrets" / secret / f".{key}"
            file.write_text(value, encoding="utf-8")
            file.rename(file.with_name(key))

    def document(self) -> Path:
        security = {
            "sasl": {"mechanism": "SCRAM-SHA-512", "secretRef": {"name": "user"}},
            "tls": {"secretRef": {"name": "ca"}},
        }
        kafka = {"bootstrapServers": self.broker.sasl_servers, "security": security}
        s3 = {"buckets": ["rotation"], "endpoint": self.store.endpoint, "pathStyle": True}
        source = {"connection": "events", "subscribe": ["numbers"], "startingOffsets": "earliest"}
        copies = {"connection": "events", "topic": "copies", "value": ["number"]}
        spec: dict[str, Any] = {
            "connections": [
                {"name": "events", "kafka": kafka},
                {"name": "store", "s3": s3 | {"secretRef": {"name": "keys"}}},
            ],
            "sources": [{"name": "records", "kafka": source}],
            "views": [{"name": "values", "sql": "SELECT CAST(value AS STRING) AS number FROM records"}],
            "queries": [
                {
                    "name": "table",
                    "from": "values",
                    "to": [{"name": "t", "delta": {"path": "s3a://rotation/table"}}],
                },
                {"name": "copy", "from": "values", "to": [{"name": "k", "kafka": copies}]},
            ],
            "checkpoints": {"location": "s3a://rotation/checkpoints"},
            "restart": {"maxRetries": 100, "backoff": "2 seconds", "maxBackoff": "2 seconds"},
            "spark": {"conf": {"spark.ui.enabled": "false"}},
        }
        file = self.folder / "rotation.yaml"
        file.write_text(json.dumps({**pipeline_head("rotation"), "spec": spec}), encoding="utf-8")
        return file

    def feed(self) -> None:
        """Records through the broker's open listener."""
        numbers = range(self.sent, self.sent + PORTION)
        self.broker.produce("numbers", [Record(None, str(number).encode()) for number in numbers])
        self.sent += PORTION

    def table(self) -> list[int]:
        return sorted(int(row["number"]) for row in tables.records(self.store.root / "rotation" / "table"))

    def copied(self) -> bool:
        """Whether each record is in the sink's topic at least once."""
        copies = {json.loads(record.value or b"")["number"] for record in self.broker.consume_all("copies")}
        return copies == {str(number) for number in range(self.sent)}

    def all_there(self, driver: DriverProcess, within: float) -> None:
        """Wait until every record is in the table and in the topic."""
        driver.until(lambda: len(self.table()) >= self.sent and self.copied(), within, pause=0.5)
        assert self.table() == list(range(self.sent)), "every record once"


@pytest.fixture
def rotation(tmp_path: Path) -> Iterator[Rotation]:
    with SecuredBroker() as broker, S3Server() as store:
        yield Rotation(broker, store, tmp_path)


def restarts_for(driver: DriverProcess, reason: str) -> Callable[[], bool]:
    """Whether a query has restarted for a reason."""
    return lambda: any(
        f'"{reason}"' in line and "query restarts" in line for line in driver.stderr.splitlines()
    )


def test_a_running_pipeline_takes_over_changed_keys_and_passwords(rotation: Rotation) -> None:
    environment = {"MAINSTEM_SECRETS": str(rotation.folder / "secrets")}
    with DriverProcess(rotation.document(), rotation.folder / "run", env=environment) as driver:
        rotation.feed()
        rotation.all_there(driver, START)

        # The store: the old keys stop working first, and the Secret follows.
        rotation.store.change_keys()
        rotation.feed()
        driver.until(restarts_for(driver, "StoreAccessDenied"), REFUSED)
        rotation.put("keys", accessKey=rotation.store.access_key, secretKey=rotation.store.secret_key)
        rotation.all_there(driver, RECOVERY)

        # The broker: all clients have to connect again, and the old password does not serve.
        rotation.broker.change_password("another-secret")
        rotation.feed()
        driver.until(restarts_for(driver, "KafkaNotAuthorized"), REFUSED)
        rotation.put("user", password="another-secret")
        rotation.all_there(driver, RECOVERY)

        assert driver.process.poll() is None, "the same driver"
    for value in (rotation.broker.password, rotation.store.secret_key):
        assert value not in driver.stderr
        assert not any(value in line for line in driver.stdout)
