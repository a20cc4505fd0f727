"""Drains all queries at once, each at its batch's end."""

import threading
from collections.abc import Callable, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem import logs
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.query.drain import DrainOutcome
from mainstem.runtime.query.execution import Execution
from mainstem.runtime.query.supervised_query import SupervisedQuery


def drained(
    queries: Sequence[SupervisedQuery], deadline: float, force: Callable[[], bool], tick: Callable[[], None]
) -> dict[str, DrainOutcome]:
    """Stop the queries at once; returns how each query that ran was stopped, by its name.

    Args:
        queries: the queries; those that do not run are left alone.
        deadline: `time.monotonic()` at which batches are cut.
        force: true when to interrupt at once.
        tick: called every second meanwhile.
    """
    outcomes: dict[str, DrainOutcome] = {}

    def stop(name: str, execution: Execution) -> None:
        outcomes[name] = stopped(name, execution, deadline, force)

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


def stopped(name: str, execution: Execution, deadline: float, force: Callable[[], bool]) -> DrainOutcome:
    """Stop one query; returns how. A query that could not be stopped counts as interrupted."""
    try:
        return execution.drain(deadline, force)
    except (PySparkException, Py4JError, ConnectionError) as error:
        logs.get("mainstem").warning("drain failed", query=name, error=classify(error).message)
        return DrainOutcome(clean=False, committed=None, pending=None, seconds=0.0)
