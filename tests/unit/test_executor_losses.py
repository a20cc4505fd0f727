"""An executor that ran out of memory is known by what Spark keeps of it."""

import pytest
from mainstem.runtime.driver.executor_losses import Lost, MemoryLoss, memory_loss, newest_memory_loss
from mainstem.runtime.driver.status_report import ExecutorCounts, summary


# As Spark's ExecutorPodsLifecycleManager writes it, with the API server's text about the container.
OOM_KILLED = """
The executor with id 3 exited with exit code 137(SIGKILL, possible container OOM).

The API gave the following container statuses:

\t container name: executor
\t container image: registry.example/mainstem:1
\t container state: terminated
\t container started at: 2026-03-01T12:00:00Z
\t container finished at: 2026-03-01T12:05:00Z
\t exit code: 137
\t termination reason: OOMKilled
"""
JVM = """
The executor with id 3 exited with exit code 52(JVM OOM).

The API gave the following container statuses:

\t exit code: 52
\t termination reason: Error
"""
KILLED = OOM_KILLED.replace("OOMKilled", "Error")


@pytest.mark.parametrize(
    ("words", "reason", "limit"),
    [(OOM_KILLED, "ExecutorOOMKilled", "2Gi"), (JVM, "ExecutorOutOfMemory", "1228Mi")],
)
def test_an_executor_that_ran_out_of_memory_is_reported_with_its_limit(
    words: str, reason: str, limit: str
) -> None:
    loss = memory_loss(Lost("3", 0.0, words), "2Gi", "1228Mi")
    assert loss is not None
    assert loss.reason == reason
    assert "executor 3" in loss.message
    assert f"of {limit} " in loss.message
    assert "set executors.resources.limits.memory to 3Gi" in loss.message.replace("Set", "set")
    shown = summary([], ExecutorCounts(1, 2, "0/1 nodes", loss))
    assert (shown["executorsReason"], shown["executorsMessage"]) == loss


@pytest.mark.parametrize(
    "words",
    [KILLED, "Executor decommission.", "Executor heartbeat timed out after 60000 ms", "None", "exit code 0"],
)
def test_other_losses_are_not_memory_losses(words: str) -> None:
    assert memory_loss(Lost("3", 0.0, words), "2Gi", "1228Mi") is None


def test_the_newest_memory_loss_is_reported_for_ten_minutes() -> None:
    lost = [Lost("1", 100.0, OOM_KILLED), Lost("2", 200.0, JVM), Lost("4", 300.0, KILLED)]
    newest = memory_loss(lost[1], "2Gi", "1Gi")
    assert isinstance(newest, MemoryLoss)
    assert newest_memory_loss(lost, "2Gi", "1Gi", now=800.0) == newest
    assert newest_memory_loss(lost, "2Gi", "1Gi", now=801.0) is None
    assert newest_memory_loss([], "2Gi", "1Gi", now=0.0) is None
