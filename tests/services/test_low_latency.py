"""Kafka to Kafka without batches in between: real-time, continuous, and progress beside the batches."""

import signal
import statistics
from pathlib import Path

import pytest
from harness.driver import Driver
from harness.kafka import Broker
from harness.records import Record


pytestmark = [pytest.mark.S34, pytest.mark.timeout(600)]
START = 240.0
DOCUMENT = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: low-latency}}
spec:
  connections: [{{name: events, kafka: {{bootstrapServers: "{servers}", properties: {{linger.ms: "0"}}}}}}]
  sources:
    - {{name: raw, kafka: {{connection: events, subscribe: [{name}-in], startingOffsets: earliest}}}}
  views: [{{name: texts, sql: "SELECT CAST(value AS STRING) AS n FROM raw"}}]
  queries:
    - name: forward
      from: texts
      outputMode: {mode}
      to: [{{name: topic, kafka: {{connection: events, topic: {name}-out}}}}]
      {how}
  checkpoints: {{location: {folder}/checkpoints}}
  spark: {{conf: {{spark.ui.enabled: "false"}}}}
"""


class Line:
    """A pipeline from one topic of two partitions to another."""

    def __init__(self, kafka: Broker, folder: Path, name: str, how: str, mode: str = "append") -> None:
        self.kafka, self.folder, self.name, self.mode = kafka, folder, name, mode
        kafka.create_topic(f"{name}-in", partitions=2)
        kafka.create_topic(f"{name}-out")
        self.sent = 0
        self.says(how)

    def says(self, how: str) -> None:
        """What the document says of the query from now on."""
        self.document = self.folder / "pipeline.yaml"
        text = DOCUMENT.format(
            servers=self.kafka.bootstrap_servers, folder=self.folder, name=self.name, how=how, mode=self.mode
        )
        self.document.write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> Driver:
        return Driver(self.document, self.folder / "run", arguments=("--cores=2", *arguments))

    def send(self, count: int) -> None:
        """Numbers in turn to both partitions."""
        for number in range(self.sent, self.sent + count):
            self.kafka.produce(f"{self.name}-in", [Record(None, str(number).encode(), partition=number % 2)])
        self.sent += count

    def came(self) -> list[int]:
        values = [record.value for record in self.kafka.consume_all(f"{self.name}-out")]
        return sorted(int(value[6:-2]) for value in values)  # {"n":"5"}

    def arrived(self) -> bool:
        return set(self.came()) == set(range(self.sent))

    def gaps(self) -> bool:
        """Whether the newest batch that was written down is not preceded by the one before it."""
        folder = self.folder / "checkpoints/forward/1/offsets"
        batches = {int(file.name) for file in folder.glob("[0-9]*")}
        return bool(batches) and max(batches) > 0 and max(batches) - 1 not in batches

    def latencies(self) -> list[float]:
        """Milliseconds from the producer's stamp to that of the sink's producer."""
        sent = {int(r.value): r.timestamp_ms for r in self.kafka.consume_all(f"{self.name}-in")}
        return [r.timestamp_ms - sent[int(r.value[6:-2])] for r in self.kafka.consume_all(f"{self.name}-out")]

    def drained(self, driver: Driver) -> dict[str, object]:
        """The query's last status, after SIGTERM."""
        driver.send(signal.SIGTERM)
        assert driver.wait(120) == 0, driver.stderr[-3000:]
        assert driver.final()["outcome"] == "drained"
        [query] = driver.final()["queries"]
        return query


def states(driver: Driver) -> set[str]:
    return {line["state"] for line in driver.progress}


def test_real_time_writes_each_row_once_and_soon(kafka: Broker, tmp_path: Path) -> None:
    line = Line(kafka, tmp_path, "realtime", "trigger: {realTime: 5 seconds}", mode="update")
    with line.run() as driver:
        driver.until(lambda: "Running" in states(driver), START)
        line.send(2)
        driver.until(line.arrived, START)
        line.send(20)
        driver.until(line.arrived, 30)
        line.send(3)  # within a batch: the drain waits for its end
        query = line.drained(driver)
    assert query["state"] == "Drained"
    assert query["inputRows"] == 25
    with line.run() as driver:
        line.send(5)
        driver.until(line.arrived, START)
        line.drained(driver)
    assert line.came() == list(range(30)), "each row once, over a drain too"
    soon = statistics.median(line.latencies()[2:22])
    print(f"real time: median {soon:.0f} ms")
    assert soon < 1000, "a batch of 5 seconds would hold a row for longer"


def test_continuous_loses_no_row(kafka: Broker, tmp_path: Path) -> None:
    line = Line(kafka, tmp_path, "continuous", "trigger: {continuous: 1 second}")
    with line.run() as driver:
        line.send(20)
        driver.until(line.arrived, START)
        line.send(5)
        query = line.drained(driver)
    assert query["state"] == "Drained"
    assert query["batch"] is not None, "the last epoch"
    line.says("")
    with line.run() as driver:
        assert driver.wait(START) == 4, "Spark reads no batches from a continuous stream's checkpoint"
    assert "[TriggerChanged]" in driver.stderr
    assert set(line.came()) == set(range(25))


def test_async_progress_may_repeat_and_is_left_in_two_steps(kafka: Broker, tmp_path: Path) -> None:
    line = Line(kafka, tmp_path, "beside", "asyncProgressTracking: {checkpointInterval: 2 seconds}")
    with line.run() as driver:
        driver.until(lambda: line.send(1) or line.gaps(), START, pause=0.1)
        driver.until(line.arrived, START)
        line.drained(driver)
    line.says("")
    with line.run() as driver:
        assert driver.wait(START) == 4
    assert "[AsyncProgressLeft]" in driver.stderr
    line.says("asyncProgressTracking: {checkpointInterval: 0 seconds}")
    with line.run() as driver:
        for _ in range(3):
            line.send(2)
            driver.until(line.arrived, START)
        line.drained(driver)
    line.says("")
    with line.run() as driver:
        line.send(2)
        driver.until(line.arrived, START)
        line.drained(driver)
    assert line.arrived(), "no row is lost"


def test_too_few_cores_are_told_before_the_start(kafka: Broker, tmp_path: Path) -> None:
    line = Line(kafka, tmp_path, "narrow", "trigger: {realTime: 5 seconds}", mode="update")
    with line.run("--cores=1") as driver:
        assert driver.wait(START) == 5
    assert "2 cores are needed and there are 1" in driver.stderr
    assert "[CoresMissing]" in driver.stderr
