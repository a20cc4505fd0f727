"""A killed executor leaves the files of its task, and the task runs again."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.dataset
import pytest
import yaml
from harness import with_executors
from harness.checkpoints import data_files, logged_files, newest
from harness.documents import pipeline_head
from harness.driver import DriverProcess
from harness.java import SHORT_LIVED


ROWS = 1_000
SHOPS = 100
"""Partitions of the folder: a file of each, one after the other, so that the task takes a while."""
WITHIN = 240.0


def document(folder: Path) -> Path:
    files = {"path": f"{folder}/in", "format": "json", "schema": "id INT, shop INT"}
    spec: dict[str, Any] = {
        "sources": [{"name": "lines", "files": files}],
        "queries": [
            {
                "name": "copy",
                "from": "lines",
                "to": [{"name": "files", "parquet": {"path": f"{folder}/out", "partitionBy": ["shop"]}}],
            }
        ],
        "checkpoints": {"location": f"{folder}/checkpoints"},
        # The task is written again without a restart of its query: one that fails shall end the test at once.
        "restart": {"policy": "Never"},
        "spark": {"conf": {"spark.ui.enabled": "false"}},
    }
    head = pipeline_head("lost")
    (folder / "lost.yaml").write_text(yaml.safe_dump(head | {"spec": spec}))
    return folder / "lost.yaml"


def give(folder: Path) -> None:
    (folder / "in").mkdir()
    lines = [json.dumps({"id": number, "shop": number % SHOPS}) for number in range(ROWS)]
    (folder / "in" / "0.json").write_text("\n".join(lines))


def ids(folder: Path) -> list[int] | str:
    """The ids in all files of the folder, by a reader that knows nothing of Spark's log; or why it cannot read them."""
    try:
        return sorted(
            pyarrow.dataset.dataset(folder, format="parquet").to_table(columns=["id"])["id"].to_pylist()
        )
    except (pyarrow.ArrowInvalid, FileNotFoundError) as broken:
        return str(broken)


@pytest.mark.full(
    gate="spark/test_leftovers.py::test_files_of_a_lost_executor_are_removed_after_their_batch_is_committed"
)
@pytest.mark.S26
@pytest.mark.S36
@pytest.mark.timeout(400)
def test_a_plain_reader_counts_right_after_an_executor_was_killed(tmp_path: Path) -> None:
    give(tmp_path)
    out, commits = tmp_path / "out", tmp_path / "checkpoints" / "copy" / "1" / "commits"
    env = SHORT_LIVED | with_executors.ENV
    with DriverProcess(document(tmp_path), tmp_path, env=env, program=with_executors.PROGRAM) as driver:
        driver.until(lambda: bool(driver.executors()), WITHIN)
        [executor] = driver.executors()
        driver.until(lambda: len(data_files(out)) > 2, WITHIN, pause=0.002)
        os.kill(executor, signal.SIGKILL)
        left = data_files(out)
        driver.until(lambda: newest(commits) == 0, WITHIN)
        assert left - logged_files(out), "the executor was killed before its task was done"
        driver.until(lambda: data_files(out) == logged_files(out), WITHIN)
        assert ids(out) == list(range(ROWS))
