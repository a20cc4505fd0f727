"""SIGTERM and Ctrl-C within a batch of several seconds: the batch is committed, and no later run computes it again."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest
from harness.checkpoints import newest
from harness.driver import DriverProcess
from harness.sampling import only


DOCUMENT = Path(__file__).parents[1] / "documents" / "slow_batches.yaml"
TRIGGERS = {
    "default": "",
    "processingTime": "trigger: {processingTime: 1 second}",
    "availableNow": "trigger: {availableNow: true}",
}
LINES = 4
"""Rows a file, and so a batch; each keeps a core busy for more than a second, all of them for five or six."""
START = 240.0
"""Seconds for a start, on a machine that does other things too."""


class Pipeline:
    """The slow document in a folder of its own."""

    def __init__(self, folder: Path, trigger: str, files: int, drain: str = "180 seconds") -> None:
        self.folder = folder
        self.checkpoint = folder / "checkpoints" / "slow" / "1"
        text = DOCUMENT.read_text(encoding="utf-8").replace(
            "trigger: {processingTime: 1 second}", TRIGGERS[trigger]
        )
        self.document = folder / "pipeline.yaml"
        self.document.write_text(text.replace("180 seconds", drain), encoding="utf-8")
        (folder / "in").mkdir()
        for number in range(files):
            rows = range(number * LINES, (number + 1) * LINES)
            (folder / "in" / f"{number:03d}.txt").write_text("".join(f"{row}\n" for row in rows))
            # Spark takes files in the order of their times.
            os.utime(folder / "in" / f"{number:03d}.txt", (1_700_000_000 + number, 1_700_000_000 + number))

    def run(self, *arguments: str) -> DriverProcess:
        return DriverProcess(
            self.document, self.folder / "run", sets={"folder": str(self.folder)}, arguments=arguments
        )

    def planned(self) -> int:
        return newest(self.checkpoint / "offsets")

    def committed(self) -> int:
        return newest(self.checkpoint / "commits")

    def ids(self) -> list[int]:
        table = pyarrow.dataset.dataset(self.folder / "out", format="parquet").to_table()
        return sorted(table["id"].to_pylist())


def signals(count: int) -> Iterator[tuple[signal.Signals, float]]:
    """Signals in turn, each with the moment within the batch, in seconds after its plan."""
    seed = int(os.environ.get("MAINSTEM_SEED", str(random.SystemRandom().randrange(10**6))))
    print(f"seed {seed} (MAINSTEM_SEED={seed} repeats it)")
    chance = random.Random(seed)
    for number in range(count):
        yield (signal.SIGTERM, signal.SIGINT)[number % 2], chance.uniform(0.3, 4.0)


@pytest.mark.S34
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    ("trigger", "count"),
    only([(name, count) for count in (1, 14) for name in TRIGGERS], [("processingTime", 1)]),
)
def test_a_signal_within_a_batch_drains_the_run(trigger: str, count: int, tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, trigger, files=count + 1)
    for number, (sent, moment) in enumerate(signals(count)):
        with pipeline.run() as driver:
            driver.until(lambda: pipeline.planned() == number, START, pause=0.01)  # noqa: B023 - called at once
            time.sleep(moment)
            assert pipeline.committed() == number - 1, "the signal is to come within the batch"
            begun = time.monotonic()
            driver.send(sent)
            assert driver.wait(180) == 0, driver.stderr[-3000:]
            took = time.monotonic() - begun
        print(f"{trigger} {sent.name} {moment:.1f} s into batch {number}: exit 0 after {took:.1f} s")
        final = driver.final()
        assert final["outcome"] == "drained"
        query = final["queries"][0]
        assert (query["state"], query["batch"]) == ("Drained", number)
        assert query["batches"] == 1, "the batch before was not computed again"
        assert pipeline.planned() == pipeline.committed() == number
        assert pipeline.ids() == list(range((number + 1) * LINES)), "every row once"


@pytest.mark.full(gate="spark/test_interrupt.py::test_a_drain_interrupts_a_batch_once_its_timeout_has_passed")
@pytest.mark.S34
@pytest.mark.S36
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("trigger", TRIGGERS)
def test_a_deadline_shorter_than_the_batch_interrupts_it(trigger: str, tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, trigger, files=2, drain="1 second")
    with pipeline.run() as driver:
        driver.until(lambda: pipeline.planned() == 0, START, pause=0.01)
        time.sleep(1.0)
        driver.send(signal.SIGTERM)
        assert driver.wait(180) == 6, driver.stderr[-3000:]
    assert "[DrainTimedOut]" in driver.stderr
    assert driver.final()["queries"][0]["state"] == "Interrupted"
    assert (pipeline.planned(), pipeline.committed()) == (0, -1)
    with pipeline.run("--stop-when-idle=3s") as driver:
        assert driver.wait(START) == 0, driver.stderr[-3000:]
    assert pipeline.ids() == list(range(2 * LINES)), "every row once, the bare folder included"


@pytest.mark.full(
    gate="spark/test_interrupt.py::test_a_batch_that_ignores_interruption_does_not_block_the_stop"
)
@pytest.mark.S34
@pytest.mark.timeout(600)
def test_a_second_signal_interrupts_at_once(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, "processingTime", files=1)
    with pipeline.run() as driver:
        driver.until(lambda: pipeline.planned() == 0, START, pause=0.01)
        time.sleep(0.5)
        driver.send(signal.SIGINT)
        # Two signals that come before the first was handled are one.
        driver.until(lambda: '"draining"' in driver.stderr, 60)
        begun = time.monotonic()
        driver.send(signal.SIGINT)
        assert driver.wait(180) == 6, driver.stderr[-3000:]
    print(f"cut after {time.monotonic() - begun:.1f} s")
    assert pipeline.committed() == -1


WAIT = "1 second, onTimeout: wait"


@pytest.mark.full(gate="unit/test_restarts.py::test_a_drain_that_waits_has_no_deadline")
@pytest.mark.S34
@pytest.mark.faults
@pytest.mark.timeout(900)
def test_with_wait_a_batch_ends_although_the_timeout_has_passed(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, "processingTime", files=2, drain=WAIT)
    with pipeline.run() as driver:
        driver.until(lambda: pipeline.planned() == 0, START, pause=0.01)
        time.sleep(0.3)
        assert pipeline.committed() == -1, "the signal is to come within the batch"
        begun = time.monotonic()
        driver.send(signal.SIGTERM)
        assert driver.wait(180) == 0, driver.stderr[-3000:]
        took = time.monotonic() - begun
    print(f"drained after {took:.1f} s, with a timeout of 1 s")
    assert took > 2.0, "the batch ended within the timeout, and shows nothing"
    assert driver.final()["queries"][0]["state"] == "Drained"
    assert pipeline.planned() == pipeline.committed() == 0
    assert pipeline.ids() == list(range(LINES)), "every row of the batch once, and no other batch"


@pytest.mark.S34
@pytest.mark.faults
@pytest.mark.full
@pytest.mark.timeout(900)
def test_with_wait_a_second_signal_interrupts_at_once(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, "processingTime", files=2, drain=WAIT)
    with pipeline.run() as driver:
        driver.until(lambda: pipeline.planned() == 0, START, pause=0.01)
        driver.send(signal.SIGTERM)
        driver.until(lambda: '"draining"' in driver.stderr, 60)
        time.sleep(1.5)  # beyond the timeout
        assert driver.process.poll() is None, "it does not wait"
        assert pipeline.committed() == -1
        driver.send(signal.SIGTERM)
        assert driver.wait(60) == 6, driver.stderr[-3000:]
    assert "[Interrupted]" in driver.stderr
    assert (pipeline.planned(), pipeline.committed()) == (0, -1)
    with pipeline.run("--stop-when-idle=3s") as driver:
        assert driver.wait(START) == 0, driver.stderr[-3000:]
    assert pipeline.ids() == list(range(2 * LINES)), "every row once, the bare folder included"
