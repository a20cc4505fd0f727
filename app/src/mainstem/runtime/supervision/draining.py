"""Drains all queries at the same time, each at the end of its batch."""

import math
import threading
from collections.abc import Callable, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem import logs
from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Drain
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution
from mainstem.runtime.query.supervised_query import SupervisedQuery


def out_of_time(drain: Drain, clock: Clock) -> Callable[[], bool]:
    """Whether a drain that begins now interrupts batches: after its timeout, or never if it waits for their ends."""
    deadline = math.inf if drain.on_timeout == "wait" else clock.seconds() + seconds(drain.timeout)
    return lambda: clock.seconds() >= deadline


def drained(
    queries: Sequence[SupervisedQuery], interrupt: Callable[[], bool], tick: Callable[[], None]
) -> dict[str, DrainOutcome]:
    """Stop the running queries at the same time; returns the outcome of each, by its name.

    Args:
        queries: all queries.
        interrupt: whether to interrupt batches now; asked again and again.
        tick: called every second during the drain.
    """
    outcomes: dict[str, DrainOutcome] = {}

    def stop(name: str, execution: Execution) -> None:
        outcomes[name] = stopped(name, execution, interrupt)

    threads = [
        threading.Thread(
            target=stop,
            args=(supervised.query.name, supervised.execution),
            name=f"drain-{supervised.query.name}",
        )
        for supervised in queries
        if supervised.execution is not None
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1.0)
            tick()
    return outcomes


def stopped(name: str, execution: Execution, interrupt: Callable[[], bool]) -> DrainOutcome:
    """Stop one query and return the outcome. A query that cannot be stopped counts as interrupted."""
    try:
        return execution.drain(interrupt)
    except (PySparkException, Py4JError, ConnectionError) as error:
        logs.get("mainstem").warning("drain failed", query=name, error=classify(error).message)
        return DrainOutcome(clean=False, committed=None, pending=None, seconds=0.0)
