"""Changes the pools of Spark's FAIR scheduler while queries run.

Spark reads its allocation file once, and gives a pool that is not in the file a weight of 1. Spark 4.2 has no call to
change a pool. It reads both numbers of a pool anew whenever it compares two pools, so a new value takes effect at the
next task that the scheduler offers.
"""

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from mainstem.language.model.queries import Pool, Query


def set_pools(session: SparkSession, queries: Iterable[Query]) -> None:
    """Give the pool of each query its weight and its minimum share; creates the pools that Spark does not have."""
    for query in queries:
        _set_pool(session, query.name, query.pool)


def _set_pool(session: SparkSession, name: str, pool: Pool) -> None:
    jvm: Any = session._jvm  # noqa: SLF001
    root = session.sparkContext._jsc.sc().taskScheduler().rootPool()  # noqa: SLF001
    known = root.getSchedulableByName(name)
    if known is None:
        scheduler = jvm.org.apache.spark.scheduler
        root.addSchedulable(
            scheduler.Pool(name, scheduler.SchedulingMode.FIFO(), pool.min_share, pool.weight)
        )
        return
    for field, value in (("weight", pool.weight), ("minShare", pool.min_share)):
        if int(getattr(known, field)()) != value:
            declared = known.getClass().getDeclaredField(field)
            declared.setAccessible(True)
            declared.setInt(known, value)
