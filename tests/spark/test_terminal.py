"""Nobody reads any more: a closed terminal, or a pipe whose reader has gone, ends no run in the middle of a batch."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from harness.java import SHORT_LIVED


DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: ticks}
spec:
  sources: [{name: ticks, rate: {rowsPerSecond: 5}}]
  queries:
    - name: keep
      from: ticks
      to: [{name: files, parquet: {path: ./out}}]
      trigger: {processingTime: 300 ms}
  checkpoints: {location: ./checkpoints}
"""


@pytest.mark.S34
@pytest.mark.timeout(240)
def test_a_closed_terminal_drains(tmp_path: Path) -> None:
    (tmp_path / "ticks.yaml").write_text(DOCUMENT, encoding="utf-8")
    (tmp_path / "tmp").mkdir()
    screen, terminal = os.openpty()
    command = (sys.executable, "-m", "mainstem", "run", "ticks.yaml", "--report=report.json", "--cores=2")
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal, env=os.environ | SHORT_LIVED | {"TMPDIR": str(tmp_path / "tmp")}
    )  # fmt: skip
    os.close(terminal)
    try:
        shown = b""
        while b"Running" not in shown:
            shown += os.read(screen, 65536)
        time.sleep(1)
        os.close(screen)  # every write to the terminal is an error from now on
        process.send_signal(signal.SIGHUP)
        assert process.wait(120) == 0
    finally:
        process.kill()
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["outcome"] == "drained"
    assert [query["state"] for query in report["queries"]] == ["Drained"]
    assert list((tmp_path / "tmp").glob("mainstem-*")) == [], "scratch, and the credentials in it"
