"""`mainstem checkpoint` on checkpoints of drivers that use a real S3 store and a real Kafka broker."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import yaml
from click.testing import CliRunner
from deltalake import DeltaTable
from harness.driver import DriverProcess
from harness.kafka import Broker
from harness.records import Record, new_producer, produce
from harness.s3 import S3Server
from harness.supervisor_loop import Stage
from harness.waiting import within
from mainstem.checkpoints.owner import Owner
from mainstem.cli import main
from pyspark.sql import SparkSession
from unit.test_checkpoint_files import built


DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: keeper}}
spec:
  parameters: [{{name: location, value: s3a://keeper/checkpoints}}, {{name: out, value: out}}]
  connections:
    - {{name: store, s3: {{buckets: [keeper], endpoint: "{endpoint}", pathStyle: true, secretRef: {{name: s3}}}}}}
  sources:
    - {{name: a, files: {{path: "{folder}/in", format: json, schema: "k STRING, v INT", maxFilesPerTrigger: 1}}}}
  views:
    - {{name: counts, sql: "SELECT k, count(*) AS n FROM a GROUP BY k"}}
  queries:
    - name: counts
      from: counts
      outputMode: complete
      to: [{{name: table, delta: {{path: "{folder}/${{out}}"}}}}]
      state: {{partitions: 1}}
      trigger: {{availableNow: true}}
  checkpoints: {{location: "${{location}}"}}
"""


def put(folder: Path, *numbers: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in numbers:
        (folder / f"{number}.json").write_text(
            json.dumps({"k": "xy"[number % 2], "v": number}), encoding="utf-8"
        )


def command(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(main, ["checkpoint", *arguments, "--output", "json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture
def bucket(s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A bucket that the secret of the document opens."""
    s3.make_bucket("keeper")
    secret = tmp_path / "secrets" / "s3"
    secret.mkdir(parents=True)
    (secret / "accessKey").write_text(s3.access_key, encoding="utf-8")
    (secret / "secretKey").write_text(s3.secret_key, encoding="utf-8")
    monkeypatch.setenv("MAINSTEM_SECRETS", str(tmp_path / "secrets"))
    yield s3.root / "keeper"
    for folder in (s3.root / "keeper").iterdir():
        shutil.rmtree(folder)


@pytest.fixture
def document(s3: S3Server, tmp_path: Path) -> Path:
    document = tmp_path / "keeper.yaml"
    document.write_text(DOCUMENT.format(endpoint=s3.endpoint, folder=tmp_path), encoding="utf-8")
    return document


@pytest.mark.S37
def test_checkpoints_on_s3_are_listed_checked_forked_and_removed(
    bucket: Path, document: Path, tmp_path: Path
) -> None:
    """The checkpoint is built, and no driver has run: Hadoop's checksums are beside files of local folders alone."""
    checkpoint = bucket / "checkpoints" / "counts" / "1"
    hidden = shutil.ignore_patterns(".*.crc")
    shutil.copytree(built(tmp_path / "built"), checkpoint, ignore=hidden)
    record = Owner("keeper", "the pipeline 'keeper'", "elsewhere", "token").text()
    (checkpoint.parent / "_1.mainstem-owner.json").write_text(record, encoding="utf-8")
    [listed] = command("ls", "-f", str(document))
    assert (listed["path"], listed["committed"], listed["owner"]["pipeline"]) == (
        "s3a://keeper/checkpoints/counts/1",
        5,
        "keeper",
    )
    shown = command("show", "-f", str(document))
    assert shown["offsets"]["a"] == {"logOffset": 5}
    assert shown["state"][0]["stores"][0]["partitions"] == 2
    assert command("verify", "-f", str(document))["sound"]
    for to in ("s3a://keeper/other/counts/1", f"{tmp_path}/local/counts/1"):
        command("fork", "-f", str(document), "--at", "1", to)
        assert command("verify", to, "-f", str(document))["restart"].startswith("a restart plans batch 2")
    (checkpoint / "state" / "0" / "0" / "5.changelog").unlink()
    [problem] = command("verify", "-f", str(document), code=5)["problems"]
    assert problem["file"] == "state/0/0/5.changelog"
    assert command("rm", "s3a://keeper/other/counts/1", "-f", str(document), "--yes")["removed"]
    assert [each["path"] for each in command("ls", "s3a://keeper", "-f", str(document))] == [shown["path"]]


@pytest.mark.full(
    gate="services/test_checkpoints.py::test_checkpoints_on_s3_are_listed_checked_forked_and_removed"
)
@pytest.mark.S37
@pytest.mark.timeout(600)
def test_a_fork_of_a_checkpoint_on_s3_continues(bucket: Path, document: Path, tmp_path: Path) -> None:
    put(tmp_path / "in", 0, 1, 2)
    run(document, tmp_path / "run")
    [listed] = command("ls", "-f", str(document))
    assert (listed["path"], listed["committed"], listed["owner"]["pipeline"]) == (
        "s3a://keeper/checkpoints/counts/1",
        2,
        "keeper",
    )
    shown = command("show", "-f", str(document))
    assert (shown["offsets"], shown["state"][0]["stores"][0]["partitions"]) == ({"a": {"logOffset": 2}}, 1)
    assert command("verify", "-f", str(document))["sound"]

    local = f"{tmp_path}/local/counts/1"
    for to in ("s3a://keeper/other/counts/1", local):
        command("fork", "-f", str(document), "--at", "1", to)
        assert command("verify", to, "-f", str(document))["restart"].startswith("a restart plans batch 2")
    put(tmp_path / "in", 3)
    run(document, tmp_path / "run2", "--set=location=s3a://keeper/other", "--set=out=other")
    rows = pyarrow.parquet.read_table(newest(tmp_path / "other")).to_pylist()
    assert sorted((row["k"], row["n"]) for row in rows) == [("x", 2), ("y", 2)]

    (bucket / "checkpoints" / "counts" / "1" / "state" / "0" / "0" / "2.changelog").unlink()
    [problem] = command("verify", "-f", str(document), code=5)["problems"]
    assert problem["file"] == "state/0/0/2.changelog"
    assert command("rm", "s3a://keeper/other/counts/1", "-f", str(document), "--yes")["removed"]
    assert [each["path"] for each in command("ls", "s3a://keeper", "-f", str(document))] == [shown["path"]]


def run(document: Path, folder: Path, *arguments: str) -> None:
    with DriverProcess(document, folder, arguments=("--cores=1", *arguments)) as driver:
        assert driver.wait(300) == 0, driver.stderr[-4000:]


def newest(table: Path) -> list[str]:
    """The files of the newest version of a table."""
    return DeltaTable(table).file_uris()


def places(topic: str, kafka: Broker, stage: Stage, table: str, generation: int) -> dict[str, Any]:
    """A document with a query that writes the offsets of a topic's records to a table."""
    source = {
        "connection": "events",
        "subscribe": [topic],
        "startingOffsets": "earliest",
        "failOnDataLoss": False,
    }
    checkpoint = {"id": topic, "generation": generation}
    return {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}}],
        "sources": [{"name": topic, "kafka": source}],
        "views": [{"name": "places", "sql": f"SELECT CAST(value AS STRING) AS v FROM {topic}"}],
        "queries": [stage.query("places", table, checkpoint=checkpoint, trigger={"availableNow": True})],
    }


def values(stage: Stage, kafka: Broker, topic: str, table: str, generation: int = 1) -> list[str]:
    """The rows of the table after a run to the end of the topic."""
    with stage.running(**places(topic, kafka, stage, table, generation)) as running:
        running.to_the_end()
    # The owner's process is that of the test, which goes on.
    (stage.folder / "checkpoints" / topic / f"_{generation}.mainstem-owner.json").unlink()
    return sorted(row["v"] for row in stage.rows(table))


def put_records(kafka: Broker, topic: str, *texts: str) -> None:
    produce(new_producer(kafka.client), topic, [Record(None, text.encode(), partition=0) for text in texts])


@pytest.mark.full(gate="spark/test_checkpoint_copies.py::test_a_rewound_aggregation_counts_each_row_once")
@pytest.mark.S37
@pytest.mark.timeout(300)
def test_a_rewound_query_reads_a_topic_from_its_old_offsets_and_show_has_the_ends(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    kafka.create_topic("rewound")
    put_records(kafka, "rewound", "a", "b")
    values(stage, kafka, "rewound", "first")
    put_records(kafka, "rewound", "c")
    assert values(stage, kafka, "rewound", "first") == ["a", "b", "c"]
    checkpoint = f"{tmp_path}/checkpoints/rewound/1"
    assert command("show", checkpoint)["offsets"] == {"rewound": {"rewound": {"0": 3}}}
    assert command("rewind", checkpoint, "--to", "0")["unsureTopics"] == []
    put_records(kafka, "rewound", "d")
    document = tmp_path / "rewound.yaml"
    head = {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": "places"},
    }
    spec = places("rewound", kafka, stage, "first", 1) | {
        "checkpoints": {"location": f"{tmp_path}/checkpoints"}
    }
    document.write_text(yaml.safe_dump(head | {"spec": spec}), encoding="utf-8")
    ends = command("show", "-f", str(document), "--ends")["ends"]
    topics = {"rewound": {"0": 4}}
    assert ends == {"rewound": {"topics": topics, "unread": 1, "retained": 4, "expired": 0}}
    assert values(stage, kafka, "rewound", "again", 2) == ["c", "d"]


@pytest.mark.full(
    gate="unit/test_checkpoint_files.py::test_a_topic_created_again_after_the_batch_does_not_look_read"
)
@pytest.mark.S37
@pytest.mark.timeout(300)
def test_a_rewound_query_skips_no_record_of_a_topic_that_was_created_again_since(
    spark: SparkSession, kafka: Broker, tmp_path: Path
) -> None:
    """Spark alone would continue at the offset of the old topic."""
    stage = Stage(spark.newSession(), tmp_path)
    kafka.create_topic("remade")
    put_records(kafka, "remade", "a", "b")
    values(stage, kafka, "remade", "first")
    admin = kafka.admin()
    admin.delete_topics(["remade"])["remade"].result(30)
    within(30, "the topic is gone", lambda: "remade" not in kafka.admin().list_topics(timeout=10).topics)
    kafka.create_topic("remade")
    put_records(kafka, "remade", "c", "d", "e")
    assert values(stage, kafka, "remade", "first") == ["a", "b", "c", "d", "e"]
    shown = command("rewind", f"{tmp_path}/checkpoints/remade/1", "--to", "0")
    assert shown["unsureTopics"] == ["remade"]
    assert values(stage, kafka, "remade", "again", 2) == ["c", "d", "e"]
