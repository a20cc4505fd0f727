"""Reports progress from a driver's pod: lines on standard output, HTTP endpoints, and the resource's status."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TextIO

from py4j.protocol import Py4JError

from mainstem import names
from mainstem.dataframes import query as build
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.clock import Clock
from mainstem.runtime.console.reporter import for_stream
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.endpoints import Answers, Endpoints
from mainstem.runtime.driver.executor_losses import MemoryLoss, lost_executors, newest_memory_loss
from mainstem.runtime.driver.pod import Pod
from mainstem.runtime.driver.pod_conf import executor_memory
from mainstem.runtime.driver.status_report import ExecutorCounts
from mainstem.runtime.driver.status_writer import StatusTarget, StatusWriter


_LOSSES_SECONDS: Final = 5.0


class PodReporter:
    """The reporter of a driver pod. It serves HTTP and writes the status from its creation on, while Spark still starts.

    Args:
        graph: the graph of the checked document.
        pod: the driver pod.
        stream: gets the JSON lines.
        clock: the time of the run.
        connect: makes the client of the API server; by default with the pod's service account.
        port: the port of the HTTP server.
    """

    def __init__(
        self,
        graph: Graph,
        pod: Pod,
        stream: TextIO,
        clock: Clock,
        connect: Callable[[], StatusTarget] | None = None,
        port: int = names.HTTP_PORT,
    ) -> None:
        pipeline = graph.pipeline
        self._executors, self._clock = graph.spec.executors, clock
        self._context: Any = None
        self._ask_for_losses = 0.0
        self._newest_loss: MemoryLoss | None = None
        self.driver = DriverState(_first(graph), clock, pod.revision)
        self._lines = for_stream(stream, pipeline.name, clock)
        answers = Answers(pipeline.name, pod.namespace, pod.attempt, self.driver)
        self.endpoints = Endpoints(answers, port, "::" if ":" in pod.ip else "0.0.0.0")  # noqa: S104
        self._writer = StatusWriter(
            connect or (lambda: _connect(pod.namespace, pipeline.name)), self.driver, pod.attempt, self._count
        )
        self.endpoints.start()
        self._writer.start()

    def opened(self, session: Any) -> None:
        """Take Spark's session once it has started."""
        process = session.sparkContext._gateway.proc  # noqa: SLF001
        self.driver.jvm_alive = lambda: process.poll() is None
        self.driver.alive()
        self._context = session.sparkContext._jsc.sc()  # noqa: SLF001

    def changed(self, statuses: Sequence[QueryProgress]) -> None:
        """Take the statuses after a tick of the supervisor."""
        self.driver.update(statuses)
        self._lines.changed(statuses)

    def output(self, line: str) -> None:
        """Write a line of a console sink."""
        self._lines.output(line)

    def ended(self, statuses: Sequence[QueryProgress]) -> None:
        """Take the last statuses once the queries have ended, before Spark ends."""
        self._context = None
        self.driver.update(statuses)
        self.driver.ending()

    def close(self) -> None:
        """Write the last status, and stop serving HTTP."""
        self.driver.ending()
        self._lines.close()
        self._writer.close()
        self.endpoints.close()

    def _count(self) -> ExecutorCounts | None:
        """The number of executors, from Spark's scheduler."""
        if not self._executors.wanted:
            return None
        context, wanted = self._context, self._executors.instances
        if context is not None:
            with suppress(Py4JError, ConnectionError):  # Spark is ending
                if self._executors.dynamic_allocation:
                    wanted = _target(context, wanted)
                return ExecutorCounts(int(context.getExecutorIds().size()), wanted, loss=self._loss(context))
        return ExecutorCounts(0, wanted)

    def _loss(self, context: Any) -> MemoryLoss | None:
        """The newest executor that ran out of memory; asks Spark every few seconds only."""
        now = self._clock.seconds()
        if now >= self._ask_for_losses:
            self._ask_for_losses = now + _LOSSES_SECONDS
            limit, heap = executor_memory(self._executors)
            present = self._clock.now().timestamp()
            self._newest_loss = newest_memory_loss(lost_executors(context), limit, heap, present)
        return self._newest_loss


def _target(context: Any, initial: int) -> int:
    """How many executors dynamic allocation wants now, of the only resource profile."""
    manager = context.executorAllocationManager()
    if not manager.isDefined():
        return initial
    return int(manager.get().numExecutorsTargetPerResourceProfileId().apply(0))


def _first(graph: Graph) -> list[QueryProgress]:
    return [
        QueryProgress(query.name, pool=query.name, checkpoint=build.checkpoint(graph, query))
        for query in graph.spec.queries
    ]


def _connect(namespace: str, pipeline: str) -> StatusTarget:
    from mainstem.runtime.driver.status_api import StatusApi

    return StatusApi(namespace, pipeline)
