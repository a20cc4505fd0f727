"""SIGTERM and Ctrl-C within a batch: the batch is committed, and no later run computes it again."""

import os
import shutil
import signal
from pathlib import Path

import pyarrow.dataset
import pytest
from harness.checkpoints import newest
from harness.driver import DriverProcess
from harness.sampling import only


TESTS = Path(__file__).parents[1]
DOCUMENT = TESTS / "documents" / "held_batches.yaml"
TRIGGERS = {
    "default": "",
    "processingTime": "trigger: {processingTime: 1 second}",
    "availableNow": "trigger: {availableNow: true}",
}
LINES = 4
"""Rows a file, and so a batch."""
START = 240.0
"""Seconds for a start, on a machine that does other things too."""
WAIT = "1 second, onTimeout: wait"


class Pipeline:
    """The document in a folder of its own; each batch waits until the test opens its gate."""

    def __init__(self, folder: Path, trigger: str, files: int, drain: str = "180 seconds") -> None:
        self.folder = folder
        self.checkpoint = folder / "checkpoints" / "held" / "1"
        self.runs = 0
        text = DOCUMENT.read_text(encoding="utf-8").replace(
            "trigger: {processingTime: 1 second}", TRIGGERS[trigger]
        )
        self.document = folder / "pipeline.yaml"
        self.document.write_text(text.replace("180 seconds", drain), encoding="utf-8")
        shutil.copy(TESTS / "usercode" / "hanging.py", folder)
        (folder / "in").mkdir()
        for number in range(files):
            gate, file = self._gate(number), folder / "in" / f"{number:03d}.txt"
            gate.touch()
            rows = range(number * LINES, (number + 1) * LINES)
            file.write_text("".join(f"{row} {gate}\n" for row in rows))
            # Spark takes files in the order of their times.
            os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))

    def run(self, *arguments: str) -> DriverProcess:
        self.runs += 1
        run = self.folder / f"run-{self.runs}"
        return DriverProcess(self.document, run, sets={"folder": str(self.folder)}, arguments=arguments)

    def drain_in_batch(self, driver: DriverProcess, number: int, sent: signal.Signals) -> None:
        """Send a signal while a batch is held, and wait until the run has taken it."""
        held = Path(f"{self._gate(number)}.held")
        driver.until(held.exists, START)
        assert (self.planned(), self.committed()) == (number, number - 1)
        driver.send(sent)
        driver.until(lambda: '"draining"' in driver.stderr, START)

    def open(self, number: int) -> None:
        """Let a batch end."""
        self._gate(number).unlink()

    def planned(self) -> int:
        return newest(self.checkpoint / "offsets")

    def committed(self) -> int:
        return newest(self.checkpoint / "commits")

    def ids(self) -> list[int]:
        table = pyarrow.dataset.dataset(self.folder / "out", format="parquet").to_table()
        return sorted(table["id"].to_pylist())

    def _gate(self, number: int) -> Path:
        return self.folder / f"gate-{number}"


@pytest.mark.full(gate="cluster/test_story.py::test_a_suspended_pipeline_drains")
@pytest.mark.S34
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    ("trigger", "count"),
    only([(name, count) for count in (1, 4) for name in TRIGGERS], [("processingTime", 1)]),
)
def test_a_signal_within_a_batch_drains_the_run(trigger: str, count: int, tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, trigger, files=count + 1)
    for number in range(count):
        sent = (signal.SIGTERM, signal.SIGINT)[number % 2]
        with pipeline.run() as driver:
            pipeline.drain_in_batch(driver, number, sent)
            pipeline.open(number)
            assert driver.wait(START) == 0, driver.stderr[-3000:]
        final = driver.final()
        assert final["outcome"] == "drained"
        query = final["queries"][0]
        assert (query["state"], query["batch"]) == ("Drained", number)
        assert query["batches"] == 1, "the batch before was not computed again"
        assert pipeline.planned() == pipeline.committed() == number
        assert pipeline.ids() == list(range((number + 1) * LINES)), "every row once"


@pytest.mark.full(
    gate="spark/test_interrupt.py::test_a_drain_interrupts_a_batch_once_its_timeout_has_passed_unless_it_waits"
)
@pytest.mark.S34
@pytest.mark.S36
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_deadline_shorter_than_the_batch_interrupts_it(trigger: str, tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, trigger, files=2, drain="1 second")
    with pipeline.run() as driver:
        pipeline.drain_in_batch(driver, 0, signal.SIGTERM)
        assert driver.wait(START) == 6, driver.stderr[-3000:]
    assert "[DrainTimedOut]" in driver.stderr
    assert driver.final()["queries"][0]["state"] == "Interrupted"
    assert (pipeline.planned(), pipeline.committed()) == (0, -1)
    for number in range(2):
        pipeline.open(number)
    with pipeline.run("--stop-when-idle=3s") as driver:
        assert driver.wait(START) == 0, driver.stderr[-3000:]
    assert pipeline.ids() == list(range(2 * LINES)), "every row once, the bare folder included"


@pytest.mark.full(
    gate="spark/test_interrupt.py::test_a_batch_that_ignores_interruption_does_not_block_the_stop"
)
@pytest.mark.S34
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("sent", "drain"), [(signal.SIGINT, "180 seconds"), (signal.SIGTERM, WAIT)])
def test_a_second_signal_interrupts_at_once(sent: signal.Signals, drain: str, tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, "processingTime", files=1, drain=drain)
    with pipeline.run() as driver:
        # Two signals that come before the first was handled are one.
        pipeline.drain_in_batch(driver, 0, sent)
        driver.send(sent)
        assert driver.wait(START) == 6, driver.stderr[-3000:]
    assert "[Interrupted]" in driver.stderr
    assert pipeline.committed() == -1
