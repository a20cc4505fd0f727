"""`mainstem run --watch` applies each change of the file to the running queries."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness.checkpoints import logged_rows
from harness.documents import pipeline_head
from harness.driver import DriverProcess


def write(file: Path, spec: dict[str, Any]) -> None:
    """As editors do: a new file in the place of the old one."""
    part = file.with_suffix(".part")
    part.write_text(json.dumps({**pipeline_head("watched"), "spec": spec}), encoding="utf-8")
    part.rename(file)


@pytest.mark.full(
    gate="spark/test_live_changes.py::test_a_change_restarts_the_query_that_it_touches_and_no_other"
)
def test_a_run_takes_each_change_of_its_file_and_ignores_what_it_cannot_apply(tmp_path: Path) -> None:
    def query(name: str, read: str) -> dict[str, Any]:
        sink = {"name": "files", "parquet": {"path": str(tmp_path / name)}}
        return {"name": name, "from": read, "to": [sink], "trigger": {"processingTime": "500 ms"}}

    def spec(mark: str, *queries: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {
            "sources": [{"name": "ticks", "rate": {"rowsPerSecond": 5, "numPartitions": 1}}],
            "views": [{"name": "marked", "sql": f"SELECT value, {mark} AS mark FROM ticks"}],
            "queries": list(queries),
            "checkpoints": {"location": str(tmp_path / "checkpoints")},
            **more,
        }

    def marks(name: str) -> set[str]:
        return {row["mark"] for row in logged_rows(tmp_path / name)}

    def has_logged(text: str) -> bool:
        return text in driver.stderr

    file, first = tmp_path / "watched.yaml", query("first", "marked")
    write(file, spec("'old'", first))
    with DriverProcess(file, tmp_path / "run", arguments=("--watch",)) as driver:
        driver.until(lambda: marks("first") == {"old"}, 120)
        write(file, spec("'new'", first, query("second", "marked")))
        driver.until(lambda: marks("first") == {"old", "new"} and marks("second") == {"new"}, 60)
        write(file, spec("'new'", first, timeZone="Europe/Berlin"))
        driver.until(lambda: has_logged("NewDriverNeeded"), 60)
        driver.process.terminate()
        assert driver.wait(120) == 0, driver.stderr[-3000:]
    queries = {each["name"]: each["state"] for each in driver.final()["queries"]}
    assert queries == {"first": "Drained", "second": "Drained"}
    values = [row["value"] for row in logged_rows(tmp_path / "first")]
    assert sorted(values) == list(range(len(values)))
