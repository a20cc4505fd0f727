"""All queries stopped at once, each at its batch's end."""

import threading
from collections.abc import Callable, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem import logs
from mainstem.run.drain import Outcome
from mainstem.run.failures import classify
from mainstem.run.handles import Handle
from mainstem.run.running import Run


def drained(
    runs: Sequence[Run], deadline: float, hurry: Callable[[], bool], turn: Callable[[], None]
) -> dict[str, Outcome]:
    """How each query that ran was stopped, by its name.

    Args:
        runs: the queries; those that do not run are left alone.
        deadline: `time.monotonic()` at which batches are cut.
        hurry: true when to cut at once.
        turn: called every second meanwhile.
    """
    outcomes: dict[str, Outcome] = {}
    threads = [
        threading.Thread(
            target=_one,
            args=(run.query.name, run.handle, deadline, hurry, outcomes),
            name=f"drain-{run.query.name}",
        )
        for run in runs
        if run.handle is not None
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(1.0)
            turn()
    return outcomes


def _one(
    name: str,
    handle: Handle,
    deadline: float,
    hurry: Callable[[], bool],
    outcomes: dict[str, Outcome],
) -> None:
    try:
        outcomes[name] = handle.drain(deadline, hurry)
    except (PySparkException, Py4JError, ConnectionError) as error:
        logs.get("mainstem").warning("drain failed", query=name, error=classify(error).message)
        outcomes[name] = Outcome(clean=False, committed=None, pending=None, seconds=0.0)
