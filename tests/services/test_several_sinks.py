"""One query, five sinks, and a driver that is killed between two of them, twice."""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
import yaml
from deltalake import DeltaTable
from harness.driver import Driver
from harness.java import SHORT_LIVED
from harness.kafka import Broker
from harness.postgres import Postgres
from mainstem import names


FILES, ROWS = 4, 5


def document(folder: Path, kafka: Broker, postgres: Postgres) -> dict[str, Any]:
    def killer(name: str) -> dict[str, Any]:
        code = {"foreachBatch": "sinks:die_once", "arguments": {"flag": f"{folder}/{name}"}}
        return {"name": name, "python": code}

    files = {"path": f"{folder}/in", "format": "json", "schema": "id INT", "maxFilesPerTrigger": 1}
    to = [
        {"name": "table", "delta": {"path": f"{folder}/table"}},
        killer("first"),
        {"name": "merged", "delta": {"path": f"{folder}/merged", "merge": {"keys": ["id"]}}},
        {"name": "files", "parquet": {"path": f"{folder}/files"}},
        {"name": "row", "jdbc": {"connection": "shop", "table": "s31"}},
        killer("second"),
        {"name": "topic", "kafka": {"connection": "events", "topic": "s31"}},
    ]
    spec = {
        "connections": [
            {"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}},
            {"name": "shop", "jdbc": {"url": postgres.url, "secretRef": {"name": "pg"}}},
        ],
        "sources": [{"name": "lines", "files": files}],
        "queries": [{"name": "q", "from": "lines", "to": to, "trigger": {"availableNow": True}}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
    }
    head = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline", "metadata": {"name": "s31"}}
    return head | {"spec": spec}


@pytest.mark.S31
@pytest.mark.timeout(600)
def test_killed_between_two_sinks_those_with_transactions_agree(
    kafka: Broker, postgres: Postgres, tmp_path: Path
) -> None:
    kafka.create_topic("s31")
    postgres.run("CREATE TABLE s31 (id int)")
    postgres.secret(tmp_path / "secrets", "pg")
    (tmp_path / "in").mkdir()
    rows = [{"id": number} for number in range(FILES * ROWS)]
    for file in range(FILES):
        lines = (json.dumps(row) + "\n" for row in rows[file * ROWS : (file + 1) * ROWS])
        (tmp_path / "in" / f"{file}.json").write_text("".join(lines))
    for flag in ("first", "second"):
        (tmp_path / flag).touch()
    (tmp_path / "s31.yaml").write_text(yaml.safe_dump(document(tmp_path, kafka, postgres)))
    (tmp_path / "scratch").mkdir()
    code = os.pathsep.join([str(Path(__file__).parents[1] / "usercode"), os.environ.get("PYTHONPATH", "")])
    env = {
        names.ENV_SECRETS: str(tmp_path / "secrets"),
        "TMPDIR": str(tmp_path / "scratch"),
        "PYTHONPATH": code,
    }
    ends = []
    for _ in range(3):
        with Driver(
            tmp_path / "s31.yaml", tmp_path / "run", arguments=("--cores=2",), env=SHORT_LIVED | env
        ) as driver:
            ends.append(driver.wait(within=180))
    assert ends == [-signal.SIGKILL, -signal.SIGKILL, 0]
    ids = [row["id"] for row in rows]
    assert sorted(DeltaTable(tmp_path / "table").to_pyarrow_table()["id"].to_pylist()) == ids
    bare = pyarrow.dataset.dataset(tmp_path / "files", format="parquet")
    assert sorted(bare.to_table()["id"].to_pylist()) == ids
    assert [row[0] for row in postgres.run("SELECT id FROM s31 ORDER BY 1")] == ids
    assert sorted(DeltaTable(tmp_path / "merged").to_pyarrow_table()["id"].to_pylist()) == ids
    topic = Counter(json.loads(record.value or b"")["id"] for record in kafka.consume_all("s31"))
    assert sorted(topic) == ids
    assert max(topic.values()) <= 3
