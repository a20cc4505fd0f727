"""Part c of streaming.py: the time of a small batch from Kafka to a Delta table on S3, with Mainstem's defaults and Spark's."""

import secrets
import statistics
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import jobs
from checkpointlog import batches, cycles
from deltalake import DeltaTable
from harness.kafka import Broker
from harness.records import Record
from harness.s3 import S3Server
from jobs import RunFailed
from stats import orders, span


MAINSTEM: Final = "Mainstem"
SPARK: Final = "Spark's defaults"
VARIANTS: Final = (SPARK, MAINSTEM)
BATCH: Final = 500
WARM_UP: Final = 50
"""Number of batches after which Java has compiled most of their code."""
TIMES: Final = 4.0
BUCKET: Final = "bench"


def run(count: int, rounds: int, seed: int) -> dict[str, Any]:
    """Print the table; the seconds of every batch."""
    print(f"c. Kafka to Delta: {count} batches of {BATCH} records, {WARM_UP} to warm up, {rounds} rounds")
    seconds: dict[str, list[float]] = defaultdict(list)
    with Broker(lasting=True) as broker, S3Server() as s3:
        broker.create_topic("numbers", 2)
        broker.produce("numbers", _numbers(count * BATCH))
        s3.make_bucket(BUCKET)
        for number, order in enumerate(orders(VARIANTS, rounds, seed)):
            for variant in order:
                took = _run(broker, s3, variant, count)
                seconds[variant] += took
                jobs.note(f"round {number + 1}: {variant}: {statistics.median(took):.2f} s")
    print("\n| seconds from commit to commit | median (min-max) | batches |\n|---|---|---|")
    for variant in VARIANTS:
        print(f"| {variant} | {span(seconds[variant])} | {len(seconds[variant])} |")
    times = statistics.median(seconds[SPARK]) / statistics.median(seconds[MAINSTEM])
    jobs.shorter("a batch", times, TIMES)
    return dict(seconds)


def _run(broker: Broker, s3: S3Server, variant: str, count: int) -> list[float]:
    """Seconds of each batch after the warm-up; raises unless every row is in the table."""
    folder, place = jobs.fresh("run"), secrets.token_hex(4)
    root, url = s3.root / BUCKET / place, f"s3a://{BUCKET}/{place}"
    values = {
        "brokers": broker.bootstrap_servers,
        "store": s3.endpoint,
        "lake": f"{url}/lake",
        "checkpoints": f"{url}/checkpoints",
    }
    if variant == MAINSTEM:
        job, checkpoint = jobs.mainstem("small_batches.yaml", values), root / "checkpoints/table/1"
    else:
        job = jobs.by_hand("plain_streaming.py", values, "small_batches")
        checkpoint = root / "checkpoints/table"
    keys = {"AWS_ACCESS_KEY_ID": s3.access_key, "AWS_SECRET_ACCESS_KEY": s3.secret_key}
    jobs.measure(job, folder, checkpoint / "commits/0", **keys)
    rows = DeltaTable(root / "lake/numbers").to_pyarrow_dataset().count_rows()
    if rows != count * BATCH:
        raise RunFailed(f"{variant} wrote {rows} rows of {count * BATCH}")
    return cycles(batches(checkpoint))[WARM_UP:]


def _numbers(count: int) -> Iterator[Record]:
    for number in range(count):
        yield Record(None, b"%d" % number, partition=number % 2)
