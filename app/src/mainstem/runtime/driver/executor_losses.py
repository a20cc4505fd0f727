"""Reports executors that ran out of memory, from Spark's list of removed executors."""

import re
from typing import Any, Final, NamedTuple

from mainstem import reasons
from mainstem.language.model.deployment import larger_memory


REMEMBERED_SECONDS: Final = 600.0
"""How long the status shows a loss: a loss that recurs every few minutes is always shown."""
_EXIT_OF_JVM: Final = 52
_EXIT_CODE: Final = re.compile(r"exit(?:ed with exit)? code:? (\d+)")


class MemoryLoss(NamedTuple):
    """An executor that ran out of memory.

    Attributes:
        reason: `ExecutorOOMKilled` for its container, `ExecutorOutOfMemory` for the Java heap.
        message: which executor, its limit, and what to change.
    """

    reason: reasons.Reason
    message: str


class Lost(NamedTuple):
    """An executor that Spark removed.

    Attributes:
        id: Spark's number of the executor.
        at: when Spark removed it, in seconds since 1970.
        words: why, quoted from Spark and the API server.
    """

    id: str
    at: float
    words: str


def memory_loss(lost: Lost, limit: str, heap: str) -> MemoryLoss | None:
    """The report of an executor that ran out of memory; None if another cause is possible.

    Args:
        lost: the executor.
        limit: its container's memory limit.
        heap: its Java heap.
    """
    if "OOMKilled" in lost.words:
        return MemoryLoss(
            reasons.EXECUTOR_OOM_KILLED,
            f"executor {lost.id} went over its memory limit of {limit} and was killed; Spark starts another one. Set "
            f"executors.resources.limits.memory to {larger_memory(limit)}, lower executors.heap to leave more to Python and RocksDB, or make "
            "batches smaller",
        )
    codes = [int(code) for code in _EXIT_CODE.findall(lost.words)]
    if _EXIT_OF_JVM in codes or "java.lang.OutOfMemoryError" in lost.words:
        return MemoryLoss(
            reasons.EXECUTOR_OUT_OF_MEMORY,
            f"executor {lost.id} used up its Java heap of {heap} and ended; Spark starts another one. Raise "
            f"executors.heap, or set executors.resources.limits.memory to {larger_memory(limit)}, or make batches smaller",
        )
    return None


def newest_memory_loss(lost: list[Lost], limit: str, heap: str, now: float) -> MemoryLoss | None:
    """The newest executor that ran out of memory in the last ten minutes; None without one."""
    for executor in sorted(lost, key=lambda executor: executor.at, reverse=True):
        if now - executor.at > REMEMBERED_SECONDS:
            return None
        if loss := memory_loss(executor, limit, heap):
            return loss
    return None


def lost_executors(context: Any) -> list[Lost]:
    """The executors that Spark removed; Spark keeps `spark.ui.retainedDeadExecutors` of them.

    Args:
        context: the JVM's SparkContext.

    Raises:
        Py4JError: Spark is ending.
    """
    known = context.statusStore().executorList(False)
    executors = (known.apply(index) for index in range(known.size()))
    removed = [executor for executor in executors if not executor.isActive()]
    return [
        Lost(
            str(executor.id()),
            executor.removeTime().get().getTime() / 1000,
            str(executor.removeReason().get()),
        )
        for executor in removed
        if executor.removeTime().isDefined() and executor.removeReason().isDefined()
    ]
