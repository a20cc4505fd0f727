"""Nobody reads any more: a closed terminal, or a pipe whose reader has gone, ends no run in the middle of a batch."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from harness.driver import descendants
from harness.java import SHORT_LIVED
from harness.sampling import only
from harness.waiting import eventually


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


# `mainstem`, and where it stands in each thread, once it is asked.
TELLING = """
import faulthandler, signal
faulthandler.register(signal.SIGUSR1, file=open("stacks.txt", "w"))
from mainstem.cli import main
main()
"""


@pytest.mark.full(gate="unit/test_stop.py::test_a_closed_terminal_never_forces_the_end")
@pytest.mark.S34
@pytest.mark.timeout(600)
def test_a_closed_terminal_drains(tmp_path: Path) -> None:
    process, screen = on_a_terminal(tmp_path, signal.SIGHUP, "--report=report.json")
    try:
        shown = b""
        while b"Running" not in shown:
            shown += os.read(screen, 65536)
        os.close(screen)  # every write to the terminal is an error from now on
        process.send_signal(signal.SIGHUP)  # the shell's
        eventually("the first signal is delivered", lambda: not pending(process.pid, signal.SIGHUP))
        process.send_signal(signal.SIGHUP)  # the kernel's, once the shell has ended
        assert ended(process, tmp_path) == 0
    finally:
        process.kill()
        process.wait(10)
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["outcome"] == "drained"
    assert [query["state"] for query in report["queries"]] == ["Drained"]
    assert list((tmp_path / "tmp").glob("mainstem-*")) == [], "scratch, and the credentials in it"


def on_a_terminal(folder: Path, number: signal.Signals, *options: str) -> tuple[subprocess.Popen[bytes], int]:
    """A run that hears the signal, and the screen of its terminal."""
    (folder / "ticks.yaml").write_text(DOCUMENT, encoding="utf-8")
    (folder / "tmp").mkdir()
    screen, terminal = os.openpty()
    command = (sys.executable, "-c", TELLING, "run", "ticks.yaml", "--cores=2", *options)
    with heard(number):
        process = subprocess.Popen(
            command, cwd=folder, stdin=terminal, stdout=terminal, stderr=terminal, env=os.environ | SHORT_LIVED | {"TMPDIR": str(folder / "tmp")}
        )  # fmt: skip
    os.close(terminal)
    return process, screen


@contextmanager
def heard(number: signal.Signals) -> Iterator[None]:
    """A process that is started within hears the signal: under nohup these tests ignore it, and children inherit that."""
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


def ended(process: subprocess.Popen[bytes], folder: Path) -> int:
    """The exit code; of a process that does not end, where it and its JVM stand."""
    try:
        return process.wait(120)
    except subprocess.TimeoutExpired:
        jstack = [["jstack", str(pid)] for pid in descendants(process.pid) if shutil.which("jstack")]
        output = [
            subprocess.run(words, capture_output=True, text=True, check=False).stdout for words in jstack
        ]
        process.send_signal(signal.SIGUSR1)
        stacks = eventually("the stacks of its threads", (folder / "stacks.txt").read_text)
        pytest.fail("\n".join(["it does not end", stacks, *output]))


def pending(pid: int, number: signal.Signals) -> bool:
    """Whether a process has a signal before it that its handler has not received yet."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    [mask] = [line.split()[1] for line in status.splitlines() if line.startswith("ShdPnd:")]
    return bool(int(mask, 16) >> number - 1 & 1)


@pytest.mark.S34
@pytest.mark.parametrize("number", only((signal.SIGINT, signal.SIGTERM), (signal.SIGINT,)))
def test_a_signal_before_spark_has_started_ends_the_run_at_once(
    tmp_path: Path, number: signal.Signals
) -> None:
    """The screen shows what the start waits for; the JVM and its scratch folder go, and no query has begun."""
    process, screen = on_a_terminal(tmp_path, number)
    try:
        shown = b""
        while b"ticks starts Spark (" not in shown:
            shown += os.read(screen, 65536)
        begun = eventually("the JVM begins", lambda: descendants(process.pid))
        process.send_signal(number)
        with suppress(OSError):  # the other end is closed
            while True:
                shown += os.read(screen, 65536)
        assert ended(process, tmp_path) == 128 + number
    finally:
        process.kill()
        process.wait(10)
        os.close(screen)
    assert shown.rstrip().endswith(b"error: interrupted")
    assert list((tmp_path / "tmp").glob("mainstem-*")) == []
    assert not (tmp_path / "checkpoints").exists()
    eventually("the JVM ends with its run", lambda: not any(map(alive, begun)))


def alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()
