"""Part d of streaming.py: a light query beside a heavy one, with two pools and without pools."""

import statistics
from typing import Any, Final

import jobs
from checkpointlog import Batch, batches
from harness.kafka import Broker
from harness.records import Record
from stats import percentile, span


POOLS: Final = "Mainstem, two pools"
ALONE: Final = "plain PySpark, one pool"
WARM_UP: Final = 3
RECORDS: Final = 20_000
SECONDS: Final = 300.0


def run(count: int) -> dict[str, Any]:
    """Print the table; the milliseconds of every batch."""
    print(f"d. A light query beside a heavy one: {count} batches of the light one")
    results = {}
    with Broker(lasting=True) as broker:
        broker.create_topic("busy", 2)
        broker.produce("busy", (Record(None, b"work", partition=n % 2) for n in range(RECORDS)))
        for variant in (POOLS, ALONE):
            results[variant] = _run(broker, variant, count)
            jobs.note(f"{variant}: {statistics.median(results[variant]):.0f} ms")
    print("\n| a batch of the light query, ms | median (min-max) | p95 |\n|---|---|---|")
    for variant, took in results.items():
        print(f"| {variant} | {span(took, 0)} | {percentile(took, 95):.0f} |")
    less = percentile(results[ALONE], 95) / percentile(results[POOLS], 95)
    jobs.shorter("p95", less, 2)
    return results


def _run(broker: Broker, variant: str, count: int) -> list[float]:
    folder = jobs.fresh("run")
    values = {"brokers": broker.bootstrap_servers, "checkpoints": folder / "checkpoints"}
    if variant == POOLS:
        job, checkpoint = jobs.mainstem("mixed.yaml", values), folder / "checkpoints/light/1"
    else:
        job, checkpoint = jobs.by_hand("plain_streaming.py", values, "mixed"), folder / "checkpoints/light"
    enough = WARM_UP + count
    with jobs.running(job, folder):
        jobs.wait(folder, lambda: len(batches(checkpoint)) > enough, SECONDS)
    return [_milliseconds(batch) for batch in batches(checkpoint)][WARM_UP:enough]


def _milliseconds(batch: Batch) -> float:
    return (batch.committed - batch.planned) * 1000
