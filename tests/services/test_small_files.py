"""Objects that one writer may create, on a store behind a proxy: owner records of checkpoints and of tables."""

from collections.abc import Iterator
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.s3 import S3Server
from harness.s3proxy import S3Proxy
from mainstem.checkpoints.owner import DriverIdentity, parse, record_of
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.runtime.checkpoint.ownership import Ownership
from mainstem.runtime.clients.exclusive_files import S3Object
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight import checks
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S28


@pytest.fixture(scope="module")
def proxy(s3: S3Server) -> Iterator[S3Proxy]:
    with S3Proxy(s3) as proxy:
        yield proxy


@pytest.fixture
def store(spark: SparkSession, s3: S3Server, proxy: S3Proxy) -> Iterator[Any]:
    """Makes a bucket with settings of its own."""

    def made(bucket: str, **settings: str) -> str:
        s3.make_bucket(bucket)
        s3.open_to(spark, bucket, **{"endpoint": proxy.endpoint, "retry.limit": "1", **settings})
        return f"s3a://{bucket}"

    yield made
    proxy.heal()


def test_a_store_without_conditional_writes_holds_no_checkpoints(
    spark: SparkSession, proxy: S3Proxy, store: Any
) -> None:
    proxy.fail(".*[^/]", "overwrite")
    query = {"name": "q", "from": "a", "to": [{"name": "out", "noop": {}}]}
    location = f"{store('unconditional')}/checkpoints"
    spec = {"sources": [{"name": "a", "rate": {}}], "queries": [query], "checkpoints": {"location": location}}
    graph = Graph(StreamingPipeline.model_validate(pipeline_head("p") | {"spec": spec}))
    with pytest.raises(NotReady) as refused:
        checks.check_checkpoint_store(spark, graph)
    assert refused.value.reason == "CheckpointStoreNotConditional"


def test_encrypted_writes_reach_a_bucket_that_requires_encryption(
    spark: SparkSession, proxy: S3Proxy, store: Any
) -> None:
    demand = proxy.fail(".*[^/]", "plain")
    open_ = S3Object(spark, f"{store('bare')}/record")
    with pytest.raises(Py4JJavaError, match="Encrypt it"):
        open_.create("text")
    record = S3Object(
        spark, f"{store('encrypted', **{'encryption.algorithm': 'SSE-KMS', 'encryption.key': 'k'})}/record"
    )
    assert record.create("first")
    assert not record.create("second")
    assert record.read() == "first"
    assert record.replace("third")
    assert record.read() == "third"
    record.delete()
    assert record.read() is None
    assert len(demand.hits) >= 4


def test_of_two_simultaneous_takeovers_one_succeeds(spark: SparkSession, store: Any) -> None:
    path = f"{store('taken')}/deep/record"
    assert S3Object(spark, path).create("old")
    first, other = S3Object(spark, path), S3Object(spark, path)
    assert first.read() == other.read() == "old"
    assert first.replace("one")
    assert not other.replace("other")
    assert other.read() == "one"
    assert other.replace("later")
    assert first.read() == "later"


def test_of_two_simultaneous_first_writers_one_succeeds(spark: SparkSession, store: Any) -> None:
    path = f"{store('absent')}/record"
    first, other = S3Object(spark, path), S3Object(spark, path)
    assert first.read() is None
    assert other.read() is None
    assert first.replace("one")
    assert not other.replace("other")


def test_a_store_without_if_match_is_written_to(spark: SparkSession, proxy: S3Proxy, store: Any) -> None:
    asked = proxy.fail("/record", "no-if-match")
    record = S3Object(spark, f"{store('older')}/record")
    assert record.create("first")
    assert record.read() == "first"
    assert record.replace("second")
    assert record.read() == "second"
    assert asked.hits


def test_without_conditional_writes_s3a_checks_for_the_file_first(spark: SparkSession, store: Any) -> None:
    record = S3Object(spark, f"{store('unsure', **{'create.conditional.enabled': 'false'})}/record")
    assert record.create("first")
    assert not record.create("second")
    assert record.read() == "first"
    assert record.replace("third")
    assert record.read() == "third"


def test_a_driver_overtaken_during_its_takeover_is_rejected(
    spark: SparkSession, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third one has taken the checkpoint after the record of the first was read."""
    checkpoint = f"{store('overtaken')}/q/1"
    record = S3Object(spark, record_of(checkpoint))
    Ownership(DriverIdentity("p"), Clock()).take(spark.newSession(), checkpoint)
    text = record.read() or ""
    owner = parse(text, "r")
    record.replace(text.replace(owner.process, "elsewhere").ljust(1024))
    read = S3Object.read

    def overtaken(self: S3Object) -> str | None:
        record_read = read(self)
        again = S3Object(spark, record_of(checkpoint))
        read(again)
        assert again.replace(text.replace(owner.token, "another"))
        return record_read

    monkeypatch.setattr(S3Object, "read", overtaken)
    with pytest.raises(NotReady) as refused:
        Ownership(DriverIdentity("p"), Clock()).take(spark.newSession(), checkpoint)
    assert refused.value.reason == "CheckpointInUse"
    monkeypatch.undo()
    assert "another" in (record.read() or "")
