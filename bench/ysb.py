"""Part a of streaming.py: the Yahoo streaming benchmark from Kafka JSON, with Mainstem and twice hand-written.

Its definition: github.com/yahoo/streaming-benchmarks. Events are written to the topic before anything is measured.
Records per second are those of all batches but the first, over the time between the commits of the first and the last.
"""

import json
import random
import statistics
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jobs
from checkpointlog import batches
from harness.kafka import Broker
from harness.records import Record
from jobs import RunFailed
from stats import Ratio, orders, span


PLAIN: Final = "plain PySpark"
MAINSTEM: Final = "Mainstem"
AGAIN: Final = "plain PySpark again"
VARIANTS: Final = (PLAIN, MAINSTEM, AGAIN)
PARTITIONS: Final = 2
BATCH: Final = 500_000
CAMPAIGNS: Final = 100
ADS: Final = 10
RATIO: Final = 0.97
_DISTINCT: Final = 40_000
_PER_SECOND: Final = 10_000
"""Events of one second of event time."""


def run(records: int, rounds: int, seed: int) -> dict[str, Any]:
    """Print the table; every figure of every run."""
    print(
        f"a. Yahoo streaming benchmark: {records:,} events of Kafka JSON, batches of {BATCH:,}, {rounds} rounds"
    )
    speed: dict[str, list[float]] = defaultdict(list)
    cpu: dict[str, list[float]] = defaultdict(list)
    campaigns = jobs.fresh("campaigns") / "campaigns.csv"
    ads = [f"ad-{number:04}" for number in range(CAMPAIGNS * ADS)]
    campaigns.write_text(
        "ad_id,campaign_id\n" + "".join(f"{ad},c-{n // ADS:03}\n" for n, ad in enumerate(ads))
    )
    with Broker(lasting=True) as broker:
        broker.create_topic("events", PARTITIONS)
        broker.produce("events", _events(records, seed, ads))
        views = _views(records, seed)
        _run(broker, campaigns, PLAIN, "warm-up", records, views)
        for number, order in enumerate(orders(VARIANTS, rounds, seed)):
            for variant in order:
                rate, seconds = _run(
                    broker, campaigns, variant, f"{number}-{VARIANTS.index(variant)}", records, views
                )
                speed[variant].append(rate)
                cpu[variant].append(seconds / records * 1e6)
                jobs.note(f"round {number + 1}: {variant}: {rate:,.0f} records/s, {seconds:.1f} CPU-s")
    _print(speed, cpu)
    return {"records_per_second": speed, "cpu_per_million": cpu}


def _print(speed: dict[str, list[float]], cpu: dict[str, list[float]]) -> None:
    print(
        "\n| median (min-max) | records/s | records/s per core | CPU-s per million records |\n|---|---|---|---|"
    )
    for variant in VARIANTS:
        per_core = statistics.median(speed[variant]) / jobs.CORES
        print(f"| {variant} | {span(speed[variant], 0)} | {per_core:,.0f} | {span(cpu[variant])} |")
    again = Ratio.between(speed[AGAIN], speed[PLAIN])
    ratio = Ratio.between(speed[MAINSTEM], speed[PLAIN])
    least = RATIO - again.spread
    print(f"\nA/A: {again.of_medians:.3f} ± {again.spread:.3f} ({again.low:.3f}-{again.high:.3f})")
    jobs.verdict(
        "records/s, Mainstem / plain PySpark",
        f"{ratio.of_medians:.3f} ± {ratio.spread:.3f}",
        f"at least {RATIO} - {again.spread:.3f} = {least:.3f}",
        met=ratio.of_medians >= least,
    )


def _run(
    broker: Broker, campaigns: Path, variant: str, name: str, records: int, views: int
) -> tuple[float, float]:
    """(records per second, CPU-seconds) of one run; raises if its counts are wrong."""
    folder, topic = jobs.fresh("run"), f"counts-{name}"
    broker.create_topic(topic, PARTITIONS)
    values = {
        "brokers": broker.bootstrap_servers,
        "campaigns": campaigns,
        "topic": topic,
        "checkpoints": folder / "checkpoints",
    }
    if variant == MAINSTEM:
        job, checkpoint = jobs.mainstem("ysb.yaml", values), folder / "checkpoints/counts/1"
    else:
        job, checkpoint = jobs.by_hand("plain_streaming.py", values, "ysb"), folder / "checkpoints/counts"
    took = jobs.measure(job, folder, checkpoint / "commits/0")
    counts = _counted(broker, topic)
    if counts != views:
        raise RunFailed(f"{variant} counted {counts} views of {views}")
    done = [batch for batch in batches(checkpoint) if batch.number < records // BATCH]
    return BATCH * (len(done) - 1) / (done[-1].committed - done[0].committed), took.cpu


def _counted(broker: Broker, topic: str) -> int:
    newest = {record.key: json.loads(record.value or b"{}")["views"] for record in broker.consume_all(topic)}
    return sum(newest.values())


def _kinds(seed: int) -> list[tuple[int, str]]:
    chance = random.Random(seed)
    return [
        (chance.randrange(CAMPAIGNS * ADS), chance.choice(("view", "click", "purchase")))
        for _ in range(_DISTINCT)
    ]


def _views(records: int, seed: int) -> int:
    kinds = [kind == "view" for _, kind in _kinds(seed)]
    whole, rest = divmod(records, _DISTINCT)
    return whole * sum(kinds) + sum(kinds[:rest])


def _events(count: int, seed: int, ads: list[str]) -> Iterator[Record]:
    heads = [
        f'{{"user_id":"{number:036}","page_id":"{number * 7:036}","ad_id":"{ads[ad]}","ad_type":"banner",'
        f'"event_type":"{kind}","ip_address":"1.2.3.4","event_time":"'
        for number, (ad, kind) in enumerate(_kinds(seed))
    ]
    for number in range(count):
        second, rest = divmod(number, _PER_SECOND)
        minute, second = divmod(second, 60)
        stamp = f"2026-01-01T{minute // 60:02}:{minute % 60:02}:{second:02}.{rest * 1000 // _PER_SECOND:03}Z"
        yield Record(None, f'{heads[number % _DISTINCT]}{stamp}"}}'.encode(), partition=number % PARTITIONS)
