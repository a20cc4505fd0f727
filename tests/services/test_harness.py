"""The test bed's own promises, on which every test of a restart, a race or a fault relies."""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from harness.apiserver import ControlPlane
from harness.errors import HarnessError
from harness.kafka import Broker
from harness.postgres import Postgres
from harness.process import Process
from harness.records import Record
from harness.s3 import S3Server
from harness.waiting import eventually
from kubernetes.dynamic.exceptions import ConflictError
from pg8000.exceptions import DatabaseError, InterfaceError
from pyarrow.fs import S3FileSystem


@pytest.mark.full(gate="services/test_outages.py::test_an_outage_ends_no_query_and_other_queries_continue")
def test_a_broker_keeps_its_records_through_kill_9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "secrets.token_bytes", lambda _: b"\xfb" * 16
    )  # the id of its cluster begins with a hyphen
    written = [Record(b"%d" % n, b"value %d" % n, [("n", b"%d" % n)]) for n in range(10_000)]
    with Broker() as broker:
        broker.create_topic("numbers", partitions=3)
        assert broker.produce("numbers", written) == len(written)
        broker.kill()
        broker.start()
        read = broker.consume_all("numbers")
    assert sorted(record[:3] for record in read) == sorted(record[:3] for record in written)
    assert {record.partition for record in read} == {0, 1, 2}


@pytest.mark.full(gate="services/test_data_loss.py::test_expired_offsets_are_counted_or_end_the_query")
def test_a_broker_expires_records_soon_enough_for_a_test(kafka: Broker) -> None:
    kafka.create_topic("harness-short", configs={"retention.ms": "1", "segment.ms": "100"})
    kafka.produce("harness-short", [Record(None, b"gone", timestamp_ms=1)])
    eventually("the expired record is gone", lambda: not kafka.consume_all("harness-short"))


@pytest.mark.full(
    gate="services/test_jdbc.py::test_a_driver_killed_between_staging_and_commit_writes_the_batch_once"
)
def test_postgres_keeps_its_rows_through_kill_9_and_rejects_a_wrong_password() -> None:
    with Postgres() as server:
        server.run("CREATE TABLE numbers (n int)")
        server.run("INSERT INTO numbers SELECT generate_series(1, :last)", last=1000)
        server.kill()
        server.start()
        idle = server.connect()
        server.restart()  # does not wait for a client that stays
        with pytest.raises(InterfaceError):
            idle.run("SELECT 1")
        with suppress(InterfaceError):
            idle.close()
        assert server.run("SELECT count(*), sum(n) FROM numbers") == [(1000, 500500)]
        server.password = "wrong"
        with pytest.raises(DatabaseError, match="password authentication failed"):
            server.run("SELECT 1")
    assert not server.folder.exists()


def file_system(server: S3Server) -> S3FileSystem:
    return S3FileSystem(
        access_key=server.access_key,
        secret_key=server.secret_key,
        endpoint_override=server.endpoint,
        region=server.region,
    )


def s3_client(server: S3Server) -> Any:
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name=server.region,
    )


def test_s3_returns_a_multipart_upload_after_kill_9() -> None:
    data = os.urandom(20 << 20)
    with S3Server() as server:
        server.make_bucket("harness")
        files = file_system(server)
        with files.open_output_stream("harness/deep/large.bin") as out:
            out.write(data)
        server.kill()
        server.start()
        with files.open_input_stream("harness/deep/large.bin") as stored:
            assert stored.read() == data


def test_a_conditional_put_to_s3_has_exactly_one_winner(s3: S3Server) -> None:
    s3.make_bucket("harness-race")
    client = s3_client(s3)

    def put(writer: int) -> str:
        try:
            client.put_object(Bucket="harness-race", Key="epoch/1", Body=b"%d" % writer, IfNoneMatch="*")
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "won"

    with ThreadPoolExecutor(8) as writers:
        outcomes = Counter(writers.map(put, range(8)))
    assert outcomes == {"won": 1, "PreconditionFailed": 7}


def test_a_read_only_s3_serves_reads_and_rejects_writes(s3: S3Server) -> None:
    s3.make_bucket("harness-readonly")
    (s3.root / "harness-readonly" / "note").write_text("hello")
    with S3Server(s3.root, readonly=True) as server:
        files = file_system(server)
        with files.open_input_stream("harness-readonly/note") as note:
            assert note.read() == b"hello"
        with (
            pytest.raises(OSError, match="ACCESS_DENIED"),
            files.open_output_stream("harness-readonly/x") as out,
        ):
            out.write(b"no")
    assert (s3.root / "harness-readonly" / "note").exists()


@pytest.mark.full(
    gate="apiserver/test_operator_names.py::test_apply_and_delete_with_the_uid_of_another_object_change_nothing"
)
def test_the_api_server_rejects_what_already_exists(control_plane: ControlPlane) -> None:
    config_maps = control_plane.dynamic_client().resources.get(api_version="v1", kind="ConfigMap")
    body = {"metadata": {"name": "harness"}, "data": {"a": "b"}}
    assert config_maps.create(body=body, namespace="default").data.a == "b"
    with pytest.raises(ConflictError, match="already exists"):
        config_maps.create(body=body, namespace="default")


def test_a_server_that_exits_early_is_reported_with_its_log(tmp_path: Path) -> None:
    process = Process(["sh", "-c", "echo the port is taken; exit 3"], tmp_path / "log")
    with pytest.raises(HarnessError, match=r"(?s)exit code 3.*the port is taken"):
        process.start(lambda: False)


def test_a_server_that_never_answers_is_stopped(tmp_path: Path) -> None:
    process = Process(["sleep", "60"], tmp_path / "log")
    with pytest.raises(HarnessError, match=r"not ready within 0\.2 s"):
        process.start(lambda: False, within=0.2)
    assert not process.alive


def test_a_server_is_killed_with_the_tests_that_started_it(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys; from harness.process import Process; "
        f"p = Process(['sleep', '60'], pathlib.Path({str(tmp_path / 'log')!r})); p.start(lambda: True); "
        "print(p.pid, flush=True); sys.stdin.read()"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as tests:
        assert tests.stdout
        server = int(tests.stdout.readline())
        tests.kill()
    eventually("the server ends with its tests", lambda: not _runs(server))


def _runs(pid: int) -> bool:
    # Where no init reaps orphans, what was killed stays a zombie: its command line is empty then.
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False
