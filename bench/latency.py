"""Part b of streaming.py: how long a record takes from one topic to another.

A record contains the time at which the producer got it. The broker adds the time at which it appends the record to the
other topic (`LogAppendTime`, of the same clock), rounded up to a millisecond. The difference includes both topics.
"""

import statistics
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jobs
import yaml
from checkpointlog import batches
from confluent_kafka import Consumer, Producer, TopicPartition
from harness.kafka import Broker
from jobs import RunFailed
from stats import percentile


PLAIN: Final = "plain Spark, realTime"
MODES: Final[dict[str, dict[str, Any]]] = {
    "Mainstem, micro-batch": {},
    "Mainstem, async progress": {"asyncProgressTracking": {}},
    "Mainstem, realTime": {"trigger": {"realTime": "1 minute"}},
}
REAL_TIME: Final = "Mainstem, realTime"
NEAR: Final = 1.0
"""Seconds on either side of a boundary, the commit of a real-time batch."""
P50_MS: Final = 10.0
P99_RATIO: Final = 1.2
P99_MS: Final = 50.0
WARM_UP: Final = 15.0


@dataclass(frozen=True)
class Run:
    """The records of one run.

    Attributes:
        sent: seconds of the clock at which each record was sent, in that order.
        took: milliseconds that it took.
        boundaries: seconds of the clock at which batches were committed.
        pauses: milliseconds of the collector's pauses.
    """

    sent: list[float]
    took: list[float]
    boundaries: list[float]
    pauses: list[float]


def run(seconds: float, short: float, rate: int) -> dict[str, Any]:
    """Print the tables; percentiles of every mode.

    Args:
        seconds: of the real-time runs.
        short: of the others.
        rate: records a second.
    """
    print(f"b. Kafka to Kafka: {rate:,} records/s, real time {seconds:g} s, else {short:g} s")
    runs: dict[str, Run] = {}
    for mode in (*MODES, PLAIN):
        long = mode in (REAL_TIME, PLAIN)
        runs[mode] = _run(mode, seconds if long else short, rate)
        jobs.note(f"{mode}: p50 {percentile(runs[mode].took, 50):.1f} ms")
    _print(runs)
    return {
        mode: {f"p{p}": percentile(measured.took, p) for p in (50, 95, 99, 100)}
        for mode, measured in runs.items()
    }


def _print(runs: dict[str, Run]) -> None:
    print("\n| ms | p50 | p95 | p99 | max | records |\n|---|---|---|---|---|---|")
    for mode, measured in runs.items():
        quantiles = " | ".join(f"{percentile(measured.took, p):.1f}" for p in (50, 95, 99, 100))
        print(f"| {mode} | {quantiles} | {len(measured.took):,} |")
    print(
        f"\n| real time, latency in ms | p99 away from boundaries (±{NEAR:g} s) | p99 near boundaries | number of boundaries | longest latency near a boundary, median | number of pauses | longest pause |"
    )
    print("|---|---|---|---|---|---|---|")
    for mode in (REAL_TIME, PLAIN):
        print(f"| {mode} | {_where(runs[mode])} |")
    ours, plain = percentile(runs[REAL_TIME].took, 99), percentile(runs[PLAIN].took, 99)
    p50 = percentile(runs[REAL_TIME].took, 50)
    jobs.verdict("realTime p50", f"{p50:.1f} ms", f"at most {P50_MS:g} ms", met=p50 <= P50_MS)
    ratio = ours / plain
    jobs.verdict(
        "realTime p99, Mainstem / plain", f"{ratio:.2f}", f"at most {P99_RATIO}", met=ratio <= P99_RATIO
    )
    jobs.verdict("realTime p99", f"{ours:.1f} ms", f"at most {P99_MS:g} ms (a goal)", met=ours <= P99_MS)


def _where(measured: Run) -> str:
    near = [
        took
        for sent, took in zip(measured.sent, measured.took, strict=True)
        if _is_near(measured, sent, took)
    ]
    far = [
        took
        for sent, took in zip(measured.sent, measured.took, strict=True)
        if not _is_near(measured, sent, took)
    ]
    waits = [
        max(
            (t for s, t in zip(measured.sent, measured.took, strict=True) if abs(s - boundary) <= NEAR),
            default=0.0,
        )
        for boundary in measured.boundaries
    ]
    quantiles = [percentile(values, 99) if values else 0.0 for values in (far, near)]
    longest = statistics.median(waits) if waits else 0.0
    pauses = f"{len(measured.pauses)} | {max(measured.pauses, default=0.0):.1f}"
    return f"{quantiles[0]:.1f} | {quantiles[1]:.1f} | {len(measured.boundaries)} | {longest:.1f} | {pauses}"


def _is_near(measured: Run, sent: float, took: float) -> bool:
    """Whether a boundary was less than a second before or after the record's latency."""
    return any(sent - NEAR <= boundary <= sent + took / 1000 + NEAR for boundary in measured.boundaries)


def _run(mode: str, seconds: float, rate: int) -> Run:
    folder = jobs.fresh("run")
    with Broker(lasting=True) as broker:
        broker.create_topic("incoming")
        broker.create_topic("outgoing", 1, {"message.timestamp.type": "LogAppendTime"})
        values = {"brokers": broker.bootstrap_servers, "checkpoints": folder / "checkpoints"}
        if mode == PLAIN:
            job, checkpoint = (
                jobs.by_hand("plain_streaming.py", values, "relay"),
                folder / "checkpoints/relay",
            )
        else:
            job, checkpoint = jobs.mainstem(_document(folder, mode), values), folder / "checkpoints/relay/1"
        log = folder / "gc.log"
        with jobs.running(job, folder, JDK_JAVA_OPTIONS=f"-Xlog:gc:file={log}"):
            jobs.wait(folder, lambda: _passes(broker), 120)
            begun = time.time()
            count = _send(broker, rate, WARM_UP + seconds)
            sent, took = _received(broker, count, begun + WARM_UP)
        boundaries = [b.committed for b in batches(checkpoint) if b.committed > begun + WARM_UP]
        return Run(sent, took, boundaries if mode in (REAL_TIME, PLAIN) else [], _pauses(log))


def _document(folder: Path, mode: str) -> str:
    document = yaml.safe_load((jobs.HERE / "relay.yaml").read_text(encoding="utf-8"))
    query = document["spec"]["queries"][0]
    query |= MODES[mode]
    if "trigger" not in query:
        query["outputMode"] = "append"
    file = folder / "relay.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    return str(file)


def _passes(broker: Broker) -> bool:
    """Whether the query runs: a record sent now reaches the other topic."""
    _producer(broker, struct.pack(">d", 0.0)).flush(10)
    return _end(broker) > 0


def _producer(broker: Broker, *values: bytes) -> Producer:
    producer = Producer({**broker.client, "linger.ms": 0})
    for value in values:
        producer.produce("incoming", value)
    return producer


def _send(broker: Broker, rate: int, seconds: float) -> int:
    """Send at a steady rate; return the number of records."""
    producer, begun, count = _producer(broker), time.time(), 0
    while (now := time.time()) < begun + seconds:
        while count < (now - begun) * rate:
            producer.produce("incoming", struct.pack(">d", time.time()))
            count += 1
        producer.poll(0)
        time.sleep(0.001)
    producer.flush(30)
    return count


def _received(broker: Broker, count: int, since: float) -> tuple[list[float], list[float]]:
    """(when sent, milliseconds taken) of the records that were sent after a moment; waits for all that were sent."""
    consumer = Consumer({**broker.client, "group.id": "bench"})
    consumer.assign([TopicPartition("outgoing", 0, 0)])
    sent, took, received, deadline = [], [], 0, time.monotonic() + 120
    try:
        while received < count:
            if time.monotonic() > deadline:
                raise RunFailed(f"{received} records of {count} came out")
            for message in consumer.consume(10_000, 1.0):
                [stamp] = struct.unpack(">d", message.value())
                received += stamp > 0
                if stamp >= since:
                    sent.append(stamp)
                    took.append(message.timestamp()[1] + 1 - stamp * 1000)
    finally:
        consumer.close()
    return sent, took


def _end(broker: Broker) -> int:
    consumer = Consumer({**broker.client, "group.id": "bench"})
    try:
        return int(consumer.get_watermark_offsets(TopicPartition("outgoing", 0), timeout=10)[1])
    finally:
        consumer.close()


def _pauses(log: Path) -> list[float]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [
        float(line.rsplit(" ", 1)[1].removesuffix("ms"))
        for line in lines
        if "Pause" in line and line.endswith("ms")
    ]
