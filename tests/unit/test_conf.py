"""Spark properties, scheduler pools and credentials of a run."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from documents import VALID
from harness.documents import pipeline_head
from hypothesis import given
from hypothesis import strategies as st
from mainstem import names, secrets
from mainstem.errors import NotReady, SpecInvalid
from mainstem.language.document import read_text
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.runtime.spark.conf import CHECKPOINT_FILES, S3_CREDENTIALS, Machine, pools_xml, spark_conf


ACCESS, SECRET = "AKIAEXAMPLE0001", "wJalr/K7MDENG+bPx=RfiCYEXAMPLEKEY"


def pipeline(**spec: Any) -> StreamingPipeline:
    plain = {
        "sources": [{"name": "ticks", "rate": {}}],
        "queries": [{"name": "show", "from": "ticks", "to": [{"name": "out", "console": {}}]}],
        "checkpoints": {"location": "/c"},
    }
    return StreamingPipeline.model_validate(
        {
            **pipeline_head("p"),
            "spec": plain | spec,
        }
    )


def s3(name: str, *buckets: str, **given: Any) -> dict[str, Any]:
    return {"name": name, "s3": {"buckets": list(buckets), **given}}


def machine(cores: int = 2) -> Machine:
    return Machine(
        cores=cores,
        heap="3g",
        jars=(Path("/jars/a.jar"), Path("/jars/b.jar")),
        log4j=Path("/etc/log4j2.properties"),
        pools=Path("/scratch/pools.xml"),
        scratch=Path("/scratch"),
    )


def test_the_properties_contain_the_machine() -> None:
    conf = spark_conf(pipeline(), machine())
    assert conf["spark.master"] == "local[2, 4]"  # a task that fails is tried again
    assert conf["spark.driver.memory"] == "3g"
    assert conf["spark.driver.extraClassPath"] == "/jars/a.jar:/jars/b.jar"
    assert conf["spark.scheduler.allocation.file"] == "file:/scratch/pools.xml"
    assert conf["spark.local.dir"] == "/scratch"
    assert conf["spark.app.name"] == "p"


@pytest.mark.parametrize(("cores", "partitions"), [(1, "1"), (2, "2"), (8, "8"), (64, "8")])
def test_delta_snapshots_have_few_partitions(cores: int, partitions: str) -> None:
    conf = spark_conf(pipeline(), machine(cores=cores))
    assert conf["spark.databricks.delta.snapshotPartitions"] == partitions


def test_properties_that_protect_secrets_and_checkpoints_are_set() -> None:
    conf = spark_conf(pipeline(), machine())
    assert conf["spark.sql.variable.substitute"] == "false"
    assert conf["spark.sql.streaming.queryEvolution.enableSourceEvolution"] == "true"
    assert conf["spark.sql.streaming.offsetLog.formatVersion"] == "2"
    assert conf["spark.sql.streaming.stopActiveRunOnRestart"] == "false"
    assert conf["spark.scheduler.mode"] == "FAIR"
    assert conf["spark.driver.host"] == conf["spark.driver.bindAddress"] == "127.0.0.1"


def test_sql_has_the_time_zone_of_the_document() -> None:
    conf = spark_conf(pipeline(timeZone="Europe/Zurich"), machine())
    assert conf["spark.sql.session.timeZone"] == conf["spark.executorEnv.TZ"] == "Europe/Zurich"
    assert "-Duser.timezone=UTC" in conf["spark.driver.extraJavaOptions"]


def test_the_properties_of_the_document_win() -> None:
    given = {"spark.hadoop.fs.s3a.retry.limit": "9", "spark.locality.wait": "1s"}
    conf = spark_conf(pipeline(spark={"conf": given}), machine())
    assert given.items() <= conf.items()


# Patience, defaults and looks, which a document may change.
OPEN = {
    "spark.redaction.regex",
    "spark.databricks.delta.merge.materializeSource",
    "spark.databricks.delta.properties.defaults.enableDeletionVectors",
    "spark.databricks.delta.snapshotPartitions",
    "spark.hadoop.fs.s3a.attempts.maximum",
    "spark.hadoop.fs.s3a.change.detection.version.required",
    "spark.hadoop.fs.s3a.input.stream.type",
    "spark.hadoop.fs.s3a.retry.interval",
    "spark.hadoop.fs.s3a.retry.limit",
    "spark.hadoop.fs.s3a.retry.throttle.limit",
    "spark.metrics.conf.*.sink.prometheusServlet.class",
    "spark.metrics.conf.*.sink.prometheusServlet.path",
    "spark.sql.streaming.metricsEnabled",
    "spark.local.dir",
    "spark.sql.streaming.checkUnfinishedRepartitionOnRestart",
    "spark.sql.streaming.stopTimeout",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
    "spark.sql.warehouse.dir",
    "spark.python.sql.dataFrameDebugging.enabled",
    "spark.ui.showConsoleProgress",
}


def test_a_document_cannot_change_properties_that_mainstem_owns() -> None:
    """The document's properties come last, so what is not open must be refused there."""
    for key in sorted(set(spark_conf(pipeline(), machine())) - OPEN):
        with pytest.raises(SpecInvalid) as refused:
            read_text(VALID["smallest"] + f'  spark: {{conf: {{{key}: "x"}}}}\n')
        assert [problem.reason for problem in refused.value.problems] == ["OwnedConf"], key


@pytest.mark.parametrize(
    "key", [*sorted(OPEN), "spark.driver.maxResultSize", "spark.hadoop.fs.s3a.connection.maximum"]
)
def test_a_document_can_change_open_properties(key: str) -> None:
    [document] = read_text(VALID["smallest"] + f'  spark: {{conf: {{{key}: "x"}}}}\n')
    assert spark_conf(document.pipeline, machine())[key] == "x"


@pytest.mark.parametrize("location", ["/c", "s3a://checkpoints/p"])
def test_checkpoint_files_are_written_by_the_class_of_mainstem(location: str) -> None:
    """Wherever they lie: the log of a file sink, which the same class writes, may lie on S3 all the same."""
    conf = spark_conf(pipeline(checkpoints={"location": location}), machine())
    assert conf["spark.sql.streaming.checkpointFileManagerClass"] == CHECKPOINT_FILES


@pytest.mark.parametrize(
    "key",
    [
        "spark.sql.streaming.checkpointFileManagerClass",
        "spark.sql.streaming.minBatchesToRetain",
        "spark.sql.streaming.commitProtocolClass",
        "spark.sql.streaming.join.stateFormatVersion",
        "spark.sql.streaming.stateStore.checkpointFormatVersion",
        "spark.sql.streaming.stateStore.encodingFormat",
        "spark.delta.logStore.class",
        "spark.delta.logStore.s3a.impl",
        "spark.databricks.delta.logStore.class",
        "spark.hadoop.fs.s3a.impl",
        "spark.hadoop.fs.AbstractFileSystem.s3a.impl",
        "spark.hadoop.fs.s3a.create.conditional.enabled",
        "spark.hadoop.fs.s3a.committer.name",
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3a",
        "spark.sql.sources.commitProtocolClass",
        "spark.sql.parquet.output.committer.class",
    ],
)
def test_a_document_cannot_change_durability(key: str) -> None:
    with pytest.raises(SpecInvalid) as refused:
        read_text(VALID["smallest"] + f'  spark: {{conf: {{{key}: "x"}}}}\n')
    assert [problem.reason for problem in refused.value.problems] == ["OwnedConf"]


def test_each_bucket_uses_its_own_store() -> None:
    connections = [
        s3("here", "lake", "checkpoints", endpoint="http://s3:7070", pathStyle=True, region="eu-central-2"),
        s3("cloud", "archive"),
        s3("tls", "safe", endpoint="https://s3.example"),
    ]
    conf = spark_conf(pipeline(connections=connections), machine())

    def bucket_conf(bucket: str) -> dict[str, str]:
        prefix = f"spark.hadoop.fs.s3a.bucket.{bucket}."
        return {key.removeprefix(prefix): value for key, value in conf.items() if key.startswith(prefix)}

    own = {
        "endpoint": "http://s3:7070",
        "endpoint.region": "eu-central-2",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
    }
    assert bucket_conf("lake") == bucket_conf("checkpoints") == own
    assert bucket_conf("archive") == {"endpoint.region": "us-east-1", "path.style.access": "false"}
    assert bucket_conf("safe")["connection.ssl.enabled"] == "true"


def folder(tmp_path: Path, **files: str) -> Path:
    (tmp_path / "secrets" / "s3-user").mkdir(parents=True)
    for key, text in files.items():
        (tmp_path / "secrets" / "s3-user" / key).write_text(text, encoding="utf-8")
    return tmp_path / "secrets"


def test_a_secret_is_named_by_its_folder_and_never_a_property(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        names.ENV_SECRETS, str(folder(tmp_path, accessKey=f"{ACCESS}\n", secretKey=f"{SECRET}\r\n"))
    )
    document = pipeline(connections=[s3("store", "lake", secretRef={"name": "s3-user"}), s3("cloud", "b-b")])
    conf = spark_conf(document, machine())
    assert conf["spark.hadoop.fs.s3a.bucket.lake.aws.credentials.provider"] == S3_CREDENTIALS
    assert conf["spark.hadoop.fs.s3a.bucket.lake.mainstem.secret"] == f"{tmp_path}/secrets/s3-user"
    assert "spark.hadoop.fs.s3a.bucket.b-b.mainstem.secret" not in conf
    for text in (ACCESS, SECRET):
        assert text not in "\n".join([*conf, *conf.values()])


def test_a_missing_secret_is_reported_with_its_file_and_without_a_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.ENV_SECRETS, str(folder(tmp_path, accessKey=ACCESS)))
    document = pipeline(connections=[s3("store", "lake", secretRef={"name": "s3-user"})])
    [connection] = document.spec.connections
    required = dict.fromkeys(connection.settings.required_secrets())
    assert list(required) == [("s3-user", "accessKey"), ("s3-user", "secretKey")]
    with pytest.raises(NotReady) as missing:
        secrets.value("s3-user", "secretKey")
    message = str(missing.value)
    assert missing.value.reason == "SecretNotFound"
    assert str(tmp_path / "secrets" / "s3-user" / "secretKey") in message
    assert ACCESS not in message


def test_pools_have_the_names_of_the_queries() -> None:
    queries = [
        {"name": "light", "from": "ticks", "to": [{"name": "out", "console": {}}]},
        {
            "name": "heavy",
            "from": "ticks",
            "to": [{"name": "out", "console": {}}],
            "pool": {"weight": 3, "minShare": 1},
        },
    ]
    root = ElementTree.fromstring(pools_xml(pipeline(queries=queries)))
    assert [pool.get("name") for pool in root] == ["light", "heavy"]
    assert [pool.findtext("weight") for pool in root] == ["1", "3"]
    assert [pool.findtext("minShare") for pool in root] == ["0", "1"]
    assert {pool.findtext("schedulingMode") for pool in root} == {"FIFO"}


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="￾￿"), min_size=1))
def test_pools_are_valid_xml_for_any_query_name(name: str) -> None:
    """The language allows labels only; the file must not rely on it."""
    document = pipeline()
    odd = document.spec.queries[0].model_copy(update={"name": name})
    document = document.model_copy(update={"spec": document.spec.model_copy(update={"queries": (odd,)})})
    [pool] = ElementTree.fromstring(pools_xml(document))
    assert pool.get("name") == name
