"""Kafka by SASL and TLS, on a real broker that asks: a right secret works, a wrong one is reported."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from harness.executions import since
from harness.kafkasecured import SecuredBroker
from harness.pki import Authority
from harness.records import Record
from harness.sampling import only
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.spark import secrets
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.supervisor import Supervisor


pytestmark = pytest.mark.S04
SCRAM = {
    "sasl": {"mechanism": "SCRAM-SHA-512", "secretRef": {"name": "user"}},
    "tls": {"secretRef": {"name": "ca"}},
}
PLAIN = {"sasl": {"mechanism": "PLAIN", "secretRef": {"name": "plain"}}, "tls": {"secretRef": {"name": "ca"}}}
MUTUAL = {"tls": {"secretRef": {"name": "certificate"}}}


class Bench:
    """Secrets of a laptop, and a query that copies a topic through secured connections."""

    def __init__(self, pipelines: Any, broker: SecuredBroker, folder: Path) -> None:
        self.pipelines = pipelines
        self.broker = broker
        self.folder = folder / "secrets"
        ca = broker.authority.certificate.read_text()
        self.put("user", username=broker.user, password=broker.password + "\n")
        self.put("plain", username=broker.user, password=broker.plain_password)
        self.put("ca", **{"ca.crt": ca})
        pair = {
            "tls.crt": broker.client_pair.certificate.read_text(),
            "tls.key": broker.client_pair.key.read_text(),
        }
        self.put("certificate", **{"ca.crt": ca}, **pair)

    def put(self, secret: str, **values: str) -> None:
        """A secret, as a folder of files."""
        (self.folder / secret).mkdir(parents=True, exist_ok=True)
        for key, value in values.items():
            (self.folder / secret / key).write_text(value, encoding="utf-8")

    def spec(self, topic: str, security: dict[str, Any], servers: str | None = None) -> dict[str, Any]:
        """Copies the topic to a folder and to `<topic>-copy`."""
        servers = servers or self.broker.sasl_servers
        events = {"name": "events", "kafka": {"bootstrapServers": servers, "security": security}}
        source = {"connection": "events", "subscribe": [topic], "startingOffsets": "earliest"}
        sinks = [
            {"name": "files", "parquet": {"path": str(self.pipelines.folder / topic)}},
            {"name": "copy", "kafka": {"connection": "events", "topic": f"{topic}-copy", "value": ["text"]}},
        ]
        return {
            "connections": [events],
            "sources": [{"name": "records", "kafka": source}],
            "views": [{"name": "texts", "sql": "SELECT CAST(value AS STRING) AS text FROM records"}],
            "queries": [{"name": "copy", "from": "texts", "to": sinks, "trigger": {"availableNow": True}}],
        }


@pytest.fixture
def bench(
    pipelines: Any, secured_kafka: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Bench:
    monkeypatch.setenv("MAINSTEM_SECRETS", str(tmp_path / "secrets"))
    return Bench(pipelines, secured_kafka, tmp_path)


def topic(broker: SecuredBroker, name: str) -> str:
    """A topic with three records, and one for their copies."""
    broker.create_topic(name)
    broker.create_topic(f"{name}-copy")
    broker.produce(name, [Record(None, text) for text in (b"a", b"b", b"c")])
    return name


WAYS = {
    "scram": (SCRAM, "sasl_servers"),
    "plain": (PLAIN, "sasl_servers"),
    "mutual-tls": (MUTUAL, "tls_servers"),
}


@pytest.mark.parametrize("way", only(WAYS, ["scram"]))
def test_the_right_secret_reads_and_writes(
    bench: Bench, secured_kafka: SecuredBroker, way: str, capfd: pytest.CaptureFixture[str]
) -> None:
    security, servers = WAYS[way]
    name, executions = topic(secured_kafka, f"secured-{way}"), since(bench.pipelines.spark)
    [status] = bench.pipelines.run(bench.spec(name, security, getattr(secured_kafka, servers)))
    assert (status.state, status.input_rows) == (QueryState.COMPLETED, 3)
    assert sorted(pq.ParquetDataset(str(bench.pipelines.folder / name)).read()["text"].to_pylist()) == [
        "a",
        "b",
        "c",
    ]
    assert sorted(record.value or b"" for record in secured_kafka.consume_all(f"{name}-copy")) == [
        b'{"text":"a"}',
        b'{"text":"b"}',
        b'{"text":"c"}',
    ]
    outputs = capfd.readouterr().out + capfd.readouterr().err + repr(status)
    kept = [path for path in (bench.pipelines.folder / "checkpoints").rglob("*") if path.is_file()]
    outputs += "".join(path.read_text(encoding="utf-8", errors="replace") for path in kept)
    context = bench.pipelines.spark.sparkContext
    outputs += "".join(f"{key}={value}" for key, value in context.getConf().getAll())
    outputs += "".join(str(run.physicalPlanDescription()) + str(run.details()) for run in executions())
    for secret in (secured_kafka.password, secured_kafka.plain_password, "PRIVATE KEY", "hush"):
        assert secret not in outputs


def refused(bench: Bench, security: dict[str, Any], servers: str | None = None) -> NotReady:
    """Why the run does not begin."""
    with pytest.raises(NotReady) as raised:
        bench.pipelines.run(bench.spec("secured-none", security, servers))
    return raised.value


def test_a_wrong_password_is_rejected(bench: Bench) -> None:
    bench.put("user", password="guess")
    error = refused(bench, SCRAM)
    assert error.reason == "KafkaNotAuthorized"
    assert "Kafka refuses the credentials" in error.message


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_a_certificate_of_another_authority_is_rejected(bench: Bench, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    bench.put("ca", **{"ca.crt": other.pair.certificate.read_text()})
    error = refused(bench, SCRAM)
    assert error.reason == "KafkaTlsFailed"


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_a_missing_client_certificate_is_rejected(bench: Bench, secured_kafka: SecuredBroker) -> None:
    error = refused(bench, {"tls": {"secretRef": {"name": "ca"}}}, secured_kafka.tls_servers)
    assert error.reason == "KafkaTlsFailed"


@pytest.mark.full(gate="unit/test_kafka_secrets.py::test_every_secret_of_a_connection_is_listed")
def test_a_missing_secret_is_rejected(bench: Bench) -> None:
    (bench.folder / "user" / "password").unlink()
    graph = bench.pipelines.graph(bench.spec("secured-none", SCRAM))
    with pytest.raises(NotReady) as error:
        secrets.check_complete(graph, graph.spec.queries[0])
    assert error.value.reason == "SecretNotFound"


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_a_query_that_is_rejected_at_its_start_has_the_same_reason(
    bench: Bench, secured_kafka: SecuredBroker
) -> None:
    """Without preflight, as where the password is changed on the broker behind it: the reason is the same."""
    name = topic(secured_kafka, "secured-later")
    bench.put("user", password="guess")
    graph = bench.pipelines.graph(bench.spec(name, SCRAM) | {"restart": {"maxRetries": 5}})
    supervisor = Supervisor(bench.pipelines.spark, graph, lambda _: None, Stop())
    with pytest.raises(NotReady) as error:
        supervisor.start()
    assert error.value.reason == "KafkaNotAuthorized"
