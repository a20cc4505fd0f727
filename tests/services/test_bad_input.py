"""Errors of users on the command line: one clear line, the right exit code, without a stack trace.

Runs that need a JVM start two at a time with the first test that needs one.
"""

import contextlib
import itertools
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.java import SHORT_LIVED
from harness.kafka import Broker
from harness.process import free_port
from harness.records import Record
from harness.s3 import S3Server
from harness.sampling import sampled
from mainstem.reasons import Exit
from mainstem.runtime.failures.malformed_records import FIRST


pytestmark = pytest.mark.timeout(900)  # whoever asks for a run first waits for those before it
CONSOLE = {"name": "out", "console": {}}
RATE = {"name": "src", "rate": {}}


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def line(self) -> str:
        """The one line beside the log."""
        lines = [line for line in self.stderr.splitlines() if not line.startswith("{")]
        assert len(lines) == 1, self.stderr
        assert "\tat " not in self.stderr
        assert "Traceback" not in self.stderr
        return lines[0]


@dataclass
class Laptop:
    """A folder of a user's, with an input, and the means to run a document there."""

    folder: Path
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        (self.folder / "in").mkdir(parents=True)
        (self.folder / "in" / "a.json").write_text('{"i": 1}\n{"i": \n', encoding="utf-8")
        (self.folder / "file").write_text("", encoding="utf-8")

    @property
    def lines(self) -> dict[str, Any]:
        """A source whose second record is broken."""
        decode = {"json": {"schema": "i INT"}}
        return {"name": "src", "files": {"path": str(self.folder / "in")}, "decode": decode}

    def document(self, spec: Mapping[str, Any]) -> Path:
        """A file with a document; its query `copy` is complete by default."""
        number = next(self.numbers)  # runs are started side by side
        query = {
            "name": "copy",
            "from": "src",
            "to": [CONSOLE],
            "trigger": {"availableNow": True},
        } | spec.get("query", {})
        if "rate" in spec["sources"][0]:
            del query["trigger"]
        rest = {key: value for key, value in spec.items() if key != "query"}
        whole = {
            "checkpoints": {"location": str(self.folder / f"checkpoints-{number}")},
            "queries": [query],
        }
        document = {
            **pipeline_head("bad"),
        }
        file = self.folder / f"bad-{number}.yaml"
        file.write_text(json.dumps(document | {"spec": whole | rest}, indent=1), encoding="utf-8")
        return file

    def run(self, *arguments: str, env: Mapping[str, str] | None = None, **spec: Any) -> Ended:
        """Run a document to its end."""
        argv = [sys.executable, "-m", "mainstem", "run", str(self.document(spec)), "--heap=1g", "--cores=2"]
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "MAINSTEM_"))}
        done = subprocess.run(
            [*argv, *arguments],
            cwd=self.folder,
            env=clean | SHORT_LIVED | {"AWS_EC2_METADATA_DISABLED": "true"} | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def laptop(tmp_path_factory: pytest.TempPathFactory) -> Laptop:
    return Laptop(tmp_path_factory.mktemp("laptop"))


def joined(table: str) -> dict[str, Any]:
    """What makes the query read a table besides: what no query reads stops no run."""
    sql = f"SELECT s.* FROM src AS s CROSS JOIN {table}"
    return {"views": [{"name": "joined", "sql": sql}], "query": {"from": "joined"}}


def kafka_at(servers: str, **properties: str) -> dict[str, Any]:
    return {"name": "events", "kafka": {"bootstrapServers": servers, "properties": properties}}


def s3_at(endpoint: str, *buckets: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "store",
        "s3": {"buckets": list(buckets), "endpoint": endpoint, "pathStyle": True, **more},
    }


def keys(server: S3Server) -> dict[str, str]:
    return {"AWS_ACCESS_KEY_ID": server.access_key, "AWS_SECRET_ACCESS_KEY": server.secret_key}


TOPIC = {"name": "src", "kafka": {"connection": "events", "subscribe": ["bad-input-missing"]}}


# Without a JVM


def test_an_unreachable_broker_is_reported(laptop: Laptop) -> None:
    server = f"127.0.0.1:{free_port()}"
    ended = laptop.run(connections=[kafka_at(server)], sources=[TOPIC])
    assert ended.code == Exit.NOT_READY
    assert ended.line == f"error: no broker of connection 'events' answers: {server}: connection refused [BrokerUnreachable]"  # fmt: skip


@pytest.fixture(scope="module")
def unanswered(laptop: Laptop) -> Iterator[Callable[[str], tuple[int, Ended]]]:
    """Runs against something that takes connections and never answers; all at once, for they only wait."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server, ThreadPoolExecutor(5) as pool:
        port = server.getsockname()[1]
        runs = {
            protocol: pool.submit(
                laptop.run,
                connections=[kafka_at(f"127.0.0.1:{port}", **{"security.protocol": protocol})],
                sources=[TOPIC],
            )
            for protocol in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT")
        } | {
            scheme: pool.submit(
                laptop.run,
                connections=[s3_at(f"{scheme}://127.0.0.1:{port}", "lake")],
                sources=[RATE],
                checkpoints={"location": "s3a://lake/c"},
            )
            for scheme in ("http", "https")
        }
        yield lambda name: (port, runs[name].result())


Unanswered = Callable[[str], tuple[int, Ended]]


@pytest.mark.full(gate="unit/test_reachability.py::test_a_broker_that_never_answers_is_reported")
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT"])
def test_a_silent_broker_is_reported(unanswered: Unanswered, protocol: str) -> None:
    port, ended = unanswered(protocol)
    assert ended.code == Exit.NOT_READY
    assert ended.line == f"error: no broker of connection 'events' answers: 127.0.0.1:{port}: no answer within 5 s [BrokerUnreachable]"  # fmt: skip


@pytest.mark.full(gate="services/test_bad_input.py::test_an_unreachable_broker_is_reported")
def test_unknown_broker_names_are_reported(laptop: Laptop) -> None:
    servers = "no-such-host.invalid:9092, PLAINTEXT://neither.invalid:1"
    ended = laptop.run(connections=[kafka_at(servers)], sources=[TOPIC])
    assert ended.code == Exit.NOT_READY
    assert "no-such-host.invalid:9092: " in ended.line
    assert "neither.invalid:1: " in ended.line
    assert ended.line.endswith("[BrokerUnreachable]")


@pytest.mark.full(gate="unit/test_reachability.py::test_one_reachable_broker_is_enough")
def test_one_reachable_broker_is_enough(laptop: Laptop, kafka: Broker) -> None:
    """The check passes the broker and reports the next problem; no JVM starts."""
    servers = f"127.0.0.1:{free_port()},{kafka.bootstrap_servers}"
    ended = laptop.run(
        connections=[kafka_at(servers)],
        sources=[TOPIC, {"name": "t", "static": {"csv": {"path": "/nowhere"}}}],
        **joined("t"),
    )
    assert "[PathNotFound]" in ended.line


@pytest.mark.full(gate="unit/test_reachability.py::test_a_store_that_never_answers_is_reported")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_silent_store_is_reported(unanswered: Unanswered, scheme: str) -> None:
    port, ended = unanswered(scheme)
    assert ended.code == Exit.NOT_READY
    assert ended.line == f"error: the S3 store of connection 'store' (lake) at {scheme}://127.0.0.1:{port} does not answer: no answer within 5 s [StoreUnreachable]"  # fmt: skip


@pytest.mark.full(gate="unit/test_reachability.py::test_a_refused_connection_is_reported")
def test_an_unreachable_store_is_reported(laptop: Laptop) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    ended = laptop.run(
        connections=[s3_at(endpoint, "lake")], sources=[RATE], checkpoints={"location": "s3a://lake/c"}
    )
    assert ended.code == Exit.NOT_READY
    assert ended.line.endswith(f"at {endpoint} does not answer: connection refused [StoreUnreachable]")


@pytest.mark.full(gate="spark/test_unready.py::test_the_other_queries_run")
def test_missing_inputs_are_reported(laptop: Laptop) -> None:
    ended = laptop.run(sources=[{"name": "src", "files": {"path": "/data/nowhere"}}])
    assert ended.code == Exit.NOT_READY
    assert ended.line == "error: source 'src': nothing exists at /data/nowhere [PathNotFound]"
    airports = {"name": "airports", "static": {"csv": {"path": "file:///data/airports.csv"}}}
    ended = laptop.run(sources=[laptop.lines, airports], **joined("airports"))
    assert ended.code == Exit.NOT_READY
    assert (
        ended.line == "error: source 'airports': nothing exists at file:///data/airports.csv [PathNotFound]"
    )


@pytest.mark.parametrize("where", sampled(["checkpoints", "sink"], every=2))
def test_directories_without_write_access_are_reported(laptop: Laptop, where: str) -> None:
    below = f"{laptop.folder}/file/below"
    spec: dict[str, Any] = {"sources": [RATE]}
    if where == "sink":
        spec["query"] = {"to": [{"name": "table", "delta": {"path": below}}]}
    else:
        spec["checkpoints"] = {"location": below}
    ended = laptop.run(**spec)
    subject = "sink 'table' of query 'copy'" if where == "sink" else "checkpoints.location"
    assert ended.code == Exit.NOT_READY
    assert ended.line == (
        f"error: {subject}: {below} is not writable: {laptop.folder}/file is not a folder [PathNotWritable]"
    )


@pytest.mark.full(
    gate="unit/test_conf.py::test_a_missing_secret_is_reported_with_its_file_and_without_a_value"
)
def test_a_missing_secret_is_reported(laptop: Laptop, s3: S3Server) -> None:
    (laptop.folder / "secrets" / "s3-user").mkdir(parents=True)
    (laptop.folder / "secrets" / "s3-user" / "accessKey").write_text(s3.access_key, encoding="utf-8")
    ended = laptop.run(
        connections=[s3_at(s3.endpoint, "lake", secretRef={"name": "s3-user"})],
        sources=[RATE],
        checkpoints={"location": "s3a://lake/c"},
        env={"MAINSTEM_SECRETS": str(laptop.folder / "secrets")},
    )
    assert ended.code == Exit.NOT_READY
    assert f"{laptop.folder}/secrets/s3-user/secretKey" in ended.line
    assert ended.line.endswith("[SecretNotFound]")
    assert s3.access_key not in ended.stderr


def test_missing_jars_are_reported(laptop: Laptop) -> None:
    shadow = laptop.folder / "shadow" / "mainstem_jars"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text(
        "def paths():\n    raise FileNotFoundError('no jars in the wheel')\n", encoding="utf-8"
    )
    ended = laptop.run(sources=[RATE], env={"PYTHONPATH": str(shadow.parent)})
    assert ended.code == Exit.NOT_READY
    assert ended.line == (
        "error: the JVM dependencies are missing: no jars in the wheel; install mainstem with its extra spark, "
        "see Installing in the README; in a checkout run `make setup` [JarsNotFound]"
    )


@pytest.mark.full(gate="unit/test_cli.py::test_verbose_adds_the_stack_trace")
def test_verbose_shows_the_stack_trace(laptop: Laptop) -> None:
    ended = laptop.run("--verbose", sources=[{"name": "src", "files": {"path": "/data/nowhere"}}])
    assert ended.code == Exit.NOT_READY
    assert "error: source 'src': nothing exists at /data/nowhere [PathNotFound]\n" in ended.stderr
    assert "Traceback (most recent call last):" in ended.stderr


# With a JVM


@pytest.fixture(scope="module")
def readonly() -> Iterator[S3Server]:
    with S3Server(readonly=True) as server:
        server.make_bucket("lake")
        yield server


@pytest.fixture(scope="module")
def runs(laptop: Laptop, kafka: Broker, s3: S3Server, readonly: S3Server) -> Iterator[Callable[[str], Ended]]:
    """Starts every run once; hands out what came of it."""
    s3.make_bucket("bad-input")
    kafka.create_topic("bad-input")
    kafka.produce("bad-input", [Record(None, b'{"i": 1}'), Record(None, b'{"i": "one"}')])
    broker = kafka_at(kafka.bootstrap_servers)
    decoded = {
        "name": "src",
        "kafka": {"connection": "events", "subscribe": ["bad-input"], "startingOffsets": "earliest"},
        "decode": {"json": {"schema": "i INT"}},
    }
    nowhere = {"to": [{"name": "topic", "kafka": {"connection": "events", "topic": "bad-input-nowhere"}}]}
    on_s3 = {"checkpoints": {"location": "s3a://bad-input/c"}}
    table = {"to": [{"name": "table", "parquet": {"path": "s3a://lake/table"}}]}
    views = [
        {"name": "wrong", "sql": "SELECT i,\n  array(i) + 1 AS j FROM src"},
        {"name": "above", "sql": "SELECT * FROM wrong"},
    ]
    wanted: dict[str, dict[str, Any]] = {
        "records": {"connections": [broker], "sources": [decoded]},
        "lines": {"sources": [laptop.lines]},
        "topic read": {"connections": [broker], "sources": [TOPIC]},
        "topic written": {"connections": [broker], "sources": [RATE], "query": nowhere},
        "secret": {"connections": [s3_at(s3.endpoint, "bad-input")], "sources": [RATE], **on_s3, "env": {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": "wrong-secret"}},
        "read-only checkpoints": {"connections": [s3_at(readonly.endpoint, "lake")], "sources": [RATE], "checkpoints": {"location": "s3a://lake/c"}, "env": keys(readonly)},
        "read-only sink": {"connections": [s3_at(readonly.endpoint, "lake")], "sources": [RATE], "query": table, "restart": {"maxRetries": 0}, "env": keys(readonly)},
        "type": {"sources": [laptop.lines], "views": views, "query": {"from": "above"}},
        "heap": {"sources": [RATE], "arguments": ("--heap=455m",)},
        "client": {"connections": [kafka_at(kafka.bootstrap_servers, **{"ssl.truststore.location": "/none.jks", "security.protocol": "PLAINTEXT", "request.timeout.ms": "soon"})], "sources": [TOPIC]},
    }  # fmt: skip
    # Alone, because its time is asserted, and two JVMs on few cores take turns.
    alone = laptop.run(
        connections=[s3_at(s3.endpoint, "no-such-bucket")],
        sources=[RATE],
        checkpoints={"location": "s3a://no-such-bucket/c"},
        env=keys(s3),
    )
    with ThreadPoolExecutor(2) as pool:
        futures: dict[str, Future[Ended]] = {
            name: pool.submit(laptop.run, *spec.pop("arguments", ()), **spec) for name, spec in wanted.items()
        }
        yield lambda name: alone if name == "bucket" else futures[name].result()


Runs = Callable[[str], Ended]


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_a_missing_bucket_is_reported(runs: Runs) -> None:
    ended = runs("bucket")
    assert ended.code == Exit.NOT_READY
    assert ended.line == (
        "error: checkpoints.location (s3a://no-such-bucket/c): the bucket 'no-such-bucket' does not exist [BucketNotFound]"
    )


@pytest.mark.full(gate="spark/test_decode.py::test_fail_ends_the_query_with_the_position")
@pytest.mark.S12
def test_a_malformed_record_of_a_topic_is_reported(runs: Runs) -> None:
    ended = runs("records")
    assert ended.code == Exit.QUERY_FAILED
    assert ended.line == (
        "error: query 'copy' failed: a record does not parse: topic bad-input partition 0 offset 1: the column 'i' must be INT, but its value is 'one'"
        f"; {FIRST}set decode.onMalformedRecord to drop or deadLetter [MalformedRecord]"
    )


@pytest.mark.full(gate="spark/test_file_records.py::test_a_malformed_line_ends_a_query_by_default")
@pytest.mark.S12
def test_a_malformed_line_of_a_file_is_reported(runs: Runs, laptop: Laptop) -> None:
    ended = runs("lines")
    assert ended.code == Exit.QUERY_FAILED
    assert f"a record does not parse: file file:{laptop.folder}/in/a.json: " in ended.line
    assert ended.line.endswith("[MalformedRecord]")


@pytest.mark.full(gate="services/test_data_loss.py::test_a_topic_recreated_while_its_query_runs_is_read")
def test_a_missing_source_topic_is_reported(runs: Runs, kafka: Broker) -> None:
    ended = runs("topic read")
    assert ended.code == Exit.NOT_READY
    assert ended.line == f"error: connection 'events' ({kafka.bootstrap_servers}): Kafka has no topic 'bad-input-missing' [TopicNotFound]"  # fmt: skip


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_a_missing_sink_topic_is_reported(runs: Runs, kafka: Broker) -> None:
    ended = runs("topic written")
    assert ended.code == Exit.NOT_READY
    assert ended.line == (
        f"error: connection 'events' ({kafka.bootstrap_servers}) (bad-input-nowhere): "
        "the topic 'bad-input-nowhere' does not exist [TopicNotFound]"
    )


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_a_wrong_secret_is_reported(runs: Runs) -> None:
    ended = runs("secret")
    assert ended.code == Exit.NOT_READY
    assert ended.line.startswith(
        "error: checkpoints.location (s3a://bad-input/c): the object store refuses access"
    )
    assert ended.line.endswith("[StoreAccessDenied]")
    assert "signature" in ended.line
    assert "wrong-secret" not in ended.stderr + ended.stdout


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
@pytest.mark.parametrize(("subject", "code"), [("checkpoints", Exit.NOT_READY), ("sink", Exit.QUERY_FAILED)])
def test_a_read_only_store_is_reported(runs: Runs, subject: str, code: Exit) -> None:
    """A query whose store refuses access starts again as often as the document allows, for the keys may change."""
    ended = runs(f"read-only {subject}")
    assert ended.code == code
    assert "the object store refuses access" in ended.line
    assert ended.line.endswith("[StoreAccessDenied]")


@pytest.mark.full(gate="spark/test_refused_parts.py::test_a_problem_has_the_position_of_the_name")
def test_mismatched_types_are_reported(runs: Runs) -> None:
    ended = runs("type")
    assert ended.code == Exit.SPEC_INVALID
    assert ": spec.views[0].sql: Spark refuses it: Cannot resolve" in ended.line
    assert "SQLQueryContextLogger" not in ended.stderr
    assert ended.line.endswith("[DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES]")


@pytest.mark.full(gate="unit/test_session.py::test_a_heap_too_small_for_spark_is_reported_by_its_own_setting")
def test_a_heap_too_small_for_spark_is_reported(runs: Runs) -> None:
    ended = runs("heap")
    assert ended.code == Exit.NOT_READY
    assert "heap" in ended.line.lower()
    assert ended.line.endswith("[JvmNotStarted]")


@pytest.mark.full(gate="unit/test_failures.py::test_each_error_text_becomes_one_line_with_a_reason")
def test_a_property_that_the_kafka_client_rejects_is_reported(runs: Runs) -> None:
    ended = runs("client")
    assert ended.code == Exit.NOT_READY
    assert "request.timeout.ms" in ended.line
    assert ended.line.endswith("[KafkaConfigInvalid]")
