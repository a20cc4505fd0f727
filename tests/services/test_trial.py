"""`mainstem trial` beside a driver that reads a real Kafka broker and keeps its checkpoints in a real S3 store."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from harness.driver import DriverProcess
from harness.java import SHORT_LIVED
from harness.kafka import Broker
from harness.records import Record, new_producer, produce
from harness.s3 import S3Server
from mainstem.language.model.status.trial_status import TrialQuery


pytestmark = pytest.mark.full(
    gate="spark/test_trial.py::test_another_filter_shows_exactly_the_rows_that_differ"
)


DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: tried}}
spec:
  connections:
    - {{name: store, s3: {{buckets: [tried], endpoint: "{endpoint}", pathStyle: true, secretRef: {{name: s3}}}}}}
    - {{name: events, kafka: {{bootstrapServers: "{servers}"}}}}
  sources:
    - name: events
      kafka: {{connection: events, subscribe: [tried], startingOffsets: earliest, maxOffsetsPerTrigger: 2}}
  views:
    - {{name: copies, sql: "SELECT CAST(value AS STRING) AS value FROM events"}}
    - {{name: counts, sql: "SELECT CAST(value AS STRING) AS v, count(*) AS n FROM events GROUP BY 1"}}
  queries:
    - name: copies
      from: copies
      to: [{{name: topic, kafka: {{connection: events, topic: tried-copies}}}}]
    - name: counts
      from: counts
      outputMode: update
      to: [{{name: nowhere, noop: {{}}}}]
      state: {{partitions: 1}}
  checkpoints: {{location: "s3a://tried/checkpoints"}}
"""


@pytest.mark.S37
@pytest.mark.timeout(900)
def test_a_trial_disturbs_neither_the_driver_nor_its_topics_groups_and_checkpoints(
    s3: S3Server, kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3.make_bucket("tried")
    secret = tmp_path / "secrets" / "s3"
    secret.mkdir(parents=True)
    (secret / "accessKey").write_text(s3.access_key, encoding="utf-8")
    (secret / "secretKey").write_text(s3.secret_key, encoding="utf-8")
    monkeypatch.setenv("MAINSTEM_SECRETS", str(tmp_path / "secrets"))
    kafka.create_topic("tried")
    kafka.create_topic("tried-copies")
    put(kafka, "a", "b", "a", "c", "a", "b")
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(DOCUMENT.format(endpoint=s3.endpoint, servers=kafka.bootstrap_servers), encoding="utf-8")
    changed = old.read_text(encoding="utf-8").replace("topic: tried-copies", "topic: tried-other")
    changed = changed.replace(
        "SELECT CAST(value AS STRING) AS value", "SELECT upper(CAST(value AS STRING)) AS value"
    )
    new.write_text(changed, encoding="utf-8")
    checkpoints = s3.root / "tried" / "checkpoints"
    with DriverProcess(old, tmp_path / "run", arguments=("--cores=1",)) as driver:
        driver.until(lambda: committed(checkpoints, "copies", 2) and committed(checkpoints, "counts", 2), 400)
        state(
            kafka, checkpoints
        )  # the first consumer of a broker makes it create its topic for offsets of groups
        before = state(kafka, checkpoints)
        code, trials = trial(new, old)
        assert state(kafka, checkpoints) == before
        put(kafka, "d")
        driver.until(lambda: committed(checkpoints, "copies", 3) and committed(checkpoints, "counts", 3), 120)
    assert code == 9
    copies, counts = trials
    assert (copies["outcome"], copies["batches"]) == ("differs", [1, 2])
    assert [row["value"] for row in copies["rows"]["examples"]["onlyOld"]] == ["a", "b", "c"]
    assert copies["rows"]["onlyOld"] == copies["rows"]["onlyNew"] == 4
    assert (counts["outcome"], counts["old"]["rows"], counts["new"]["stateRows"]) == ("equal", 4, 3)
    summary = json.loads((tmp_path / "summary").read_text(encoding="utf-8"))
    assert (summary["outcome"], summary["reason"]) == ("completed", "TrialDiffers")
    queries = [TrialQuery.model_validate(each) for each in summary["trial"]]
    assert [(each.name, each.outcome, each.batches) for each in queries] == [
        ("copies", "differs", "1-2"),
        ("counts", "equal", "1-2"),
    ]
    assert (queries[0].only_old, queries[0].only_new, queries[1].state_percent) == (4, 4, 100)
    written = [json.loads(record.value or b"")["value"] for record in kafka.consume_all("tried-copies")]
    assert written == ["a", "b", "a", "c", "a", "b", "d"]


def put(kafka: Broker, *texts: str) -> None:
    produce(new_producer(kafka.client), "tried", [Record(None, text.encode(), partition=0) for text in texts])


def committed(checkpoints: Path, query: str, batch: int) -> bool:
    return (checkpoints / query / "1" / "commits" / str(batch)).exists()


def state(kafka: Broker, checkpoints: Path) -> dict[str, Any]:
    """Topics, records of the sink, consumer groups, and all objects of the checkpoints."""
    admin = kafka.admin()
    return {
        "topics": sorted(admin.list_topics(timeout=10).topics),
        "groups": sorted(each.group_id for each in admin.list_consumer_groups().result().valid),
        "records": [record.value for record in kafka.consume_all("tried-copies")],
        "objects": {str(file): file.read_bytes() for file in checkpoints.rglob("*") if file.is_file()},
    }


def trial(new: Path, old: Path) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the queries of `mainstem trial` in a process of its own."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mainstem",
            "trial",
            str(new),
            f"--against={old}",
            "--batches=2",
            "--output=json",
            "--cores=1",
            "--heap=1g",
            f"--summary={new.parent / 'summary'}",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **SHORT_LIVED},
        timeout=600,
    )
    assert done.stdout.startswith("{"), done.stderr[-4000:]
    return done.returncode, json.loads(done.stdout)["queries"]
