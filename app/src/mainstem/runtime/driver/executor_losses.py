"""Reports executors that were lost because their memory ran out, from what Spark keeps of lost executors."""

import re
from typing import Any, Final, NamedTuple


REMEMBERED_SECONDS: Final = 600.0
"""How long a loss stands in the status: one that comes back every few minutes stands all the time."""
_EXIT_OF_JVM: Final = 52
_EXIT_CODE: Final = re.compile(r"exit(?:ed with exit)? code:? (\d+)")


class MemoryLoss(NamedTuple):
    """An executor that ran out of memory.

    Attributes:
        reason: `ExecutorOOMKilled` for its container, `ExecutorOutOfMemory` for the Java heap.
        message: which executor, its limit, and what to change.
    """

    reason: str
    message: str


class Lost(NamedTuple):
    """An executor that Spark has removed.

    Attributes:
        id: Spark's number of it.
        at: when Spark removed it, in seconds since 1970.
        words: why, in Spark's and the API server's words.
    """

    id: str
    at: float
    words: str


def memory_loss(lost: Lost, limit: str, heap: str) -> MemoryLoss | None:
    """The report of a lost executor whose memory ran out; None where its memory is not known to be the cause.

    Args:
        lost: the executor.
        limit: its container's memory limit.
        heap: its Java heap.
    """
    if "OOMKilled" in lost.words:
        return MemoryLoss(
            "ExecutorOOMKilled",
            f"executor {lost.id} went over its memory limit of {limit} and was killed; Spark starts another one. Raise "
            "executors.resources.limits.memory, lower executors.heap to leave more to Python and RocksDB, or make "
            "batches smaller",
        )
    codes = [int(code) for code in _EXIT_CODE.findall(lost.words)]
    if _EXIT_OF_JVM in codes or "java.lang.OutOfMemoryError" in lost.words:
        return MemoryLoss(
            "ExecutorOutOfMemory",
            f"executor {lost.id} used up its Java heap of {heap} and ended; Spark starts another one. Raise "
            "executors.heap or executors.resources.limits.memory, or make batches smaller",
        )
    return None


def newest_memory_loss(lost: list[Lost], limit: str, heap: str, now: float) -> MemoryLoss | None:
    """The newest lost executor of the last ten minutes whose memory ran out; None where there is none."""
    for executor in sorted(lost, key=lambda one: one.at, reverse=True):
        if now - executor.at > REMEMBERED_SECONDS:
            return None
        if loss := memory_loss(executor, limit, heap):
            return loss
    return None


def lost_executors(context: Any) -> list[Lost]:
    """The executors that Spark has removed, as many as it remembers (`spark.ui.retainedDeadExecutors`).

    Args:
        context: the JVM's SparkContext.

    Raises:
        Py4JError: Spark is just ending.
    """
    known = context.statusStore().executorList(False)
    gone = [one for one in (known.apply(index) for index in range(known.size())) if not one.isActive()]
    return [
        Lost(str(one.id()), one.removeTime().get().getTime() / 1000, str(one.removeReason().get()))
        for one in gone
        if one.removeTime().isDefined() and one.removeReason().isDefined()
    ]
