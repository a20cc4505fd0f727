"""One query, seven sinks, and a failure between two of them, twice. Kills: `test_kill`."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness.kafka import Broker
from harness.postgres import Postgres
from mainstem import names


pytestmark = pytest.mark.full(
    gate="spark/test_several_sinks.py::test_a_failure_between_two_sinks_repeats_and_loses_nothing"
)


FILES, ROWS = 4, 5


def spec(folder: Path, kafka: Broker, postgres: Postgres) -> dict[str, Any]:
    def failing(name: str) -> dict[str, Any]:
        code = {"foreachBatch": "sinks:fail_once", "arguments": {"flag": f"{folder}/{name}"}}
        return {"name": name, "python": code}

    files = {"path": f"{folder}/in", "format": "json", "schema": "id INT", "maxFilesPerTrigger": 1}
    to = [
        {"name": "table", "delta": {"path": f"{folder}/table"}},
        failing("first"),
        {"name": "merged", "delta": {"path": f"{folder}/merged", "merge": {"keys": ["id"]}}},
        {"name": "files", "parquet": {"path": f"{folder}/files"}},
        {"name": "row", "jdbc": {"connection": "shop", "table": "s31"}},
        failing("second"),
        {"name": "topic", "kafka": {"connection": "events", "topic": "s31"}},
    ]
    return {
        "connections": [
            {"name": "events", "kafka": {"bootstrapServers": kafka.bootstrap_servers}},
            {"name": "shop", "jdbc": {"url": postgres.url, "secretRef": {"name": "pg"}}},
        ],
        "sources": [{"name": "lines", "files": files}],
        "queries": [{"name": "q", "from": "lines", "to": to, "trigger": {"availableNow": True}}],
    }


@pytest.mark.S31
def test_after_failures_between_two_sinks_transactional_sinks_agree(
    pipelines: Any,
    kafka: Broker,
    postgres: Postgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(names.ENV_SECRETS, str(tmp_path / "secrets"))
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
    ends = [pipelines.run(spec(tmp_path, kafka, postgres))[0].state for _ in range(3)]
    assert ends == ["Failed", "Failed", "Completed"]
    ids = [row["id"] for row in rows]
    assert sorted(DeltaTable(tmp_path / "table").to_pyarrow_table()["id"].to_pylist()) == ids
    bare = pyarrow.dataset.dataset(tmp_path / "files", format="parquet")
    assert sorted(bare.to_table()["id"].to_pylist()) == ids
    assert [row[0] for row in postgres.run("SELECT id FROM s31 ORDER BY 1")] == ids
    assert sorted(DeltaTable(tmp_path / "merged").to_pyarrow_table()["id"].to_pylist()) == ids
    topic = Counter(json.loads(record.value or b"")["id"] for record in kafka.consume_all("s31"))
    assert sorted(topic) == ids
    assert max(topic.values()) <= 3
