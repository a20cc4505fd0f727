"""Some queries of a document run, and the others are kept down."""

from pathlib import Path

import pyarrow.dataset
import pytest
from harness.driver import DriverProcess


pytestmark = [pytest.mark.S35, pytest.mark.timeout(400)]

DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: some}}
spec:
  sources: [{{name: lines, files: {{path: {folder}/in}}}}]
  queries:
    - {{name: first, from: lines, to: [{{name: files, parquet: {{path: {folder}/first}}}}], trigger: {{availableNow: true}}}}
    - name: second
      from: lines
      suspend: true
      to: [{{name: files, parquet: {{path: {folder}/second}}}}]
      trigger: {{availableNow: true}}
  checkpoints: {{location: {folder}/checkpoints}}
  spark: {{conf: {{spark.ui.enabled: "false"}}}}
"""


def rows(folder: Path) -> list[str]:
    if not folder.exists():
        return []
    return sorted(pyarrow.dataset.dataset(folder, format="parquet").to_table()["value"].to_pylist())


@pytest.mark.full(
    gate="spark/test_unready.py::test_a_run_in_a_process_starts_the_ready_queries_that_it_names"
)
def test_a_suspended_query_does_not_run_and_a_selected_query_runs_alone(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.txt").write_text("a\nb\n", encoding="utf-8")
    file = tmp_path / "some.yaml"
    file.write_text(DOCUMENT.format(folder=tmp_path), encoding="utf-8")
    with DriverProcess(file, tmp_path / "run") as driver:
        assert driver.wait(180) == 0, driver.stderr[-3000:]
    states = {query["name"]: query["state"] for query in driver.final()["queries"]}
    assert states == {"first": "Completed", "second": "Suspended"}
    assert (rows(tmp_path / "first"), rows(tmp_path / "second")) == (["a", "b"], [])
    (tmp_path / "in" / "2.txt").write_text("c\n", encoding="utf-8")
    with DriverProcess(file, tmp_path / "run", arguments=("--query", "second")) as driver:
        assert driver.wait(180) == 0, driver.stderr[-3000:]
    states = {query["name"]: query["state"] for query in driver.final()["queries"]}
    assert states == {"first": "Suspended", "second": "Completed"}
    assert (rows(tmp_path / "first"), rows(tmp_path / "second")) == (["a", "b"], ["a", "b", "c"])
