"""Starts every query in its own session and pool, restarts what fails, and drains all at the end.

One failed query does not end the others: it is built anew and started again after a pause, within the living driver.
Its budget (`restart`) spent, it stays failed, the others go on, and the run ends with its failure.
"""

import json
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from mainstem import logs
from mainstem.build import query as build
from mainstem.errors import NotReady, Problem, SpecInvalid
from mainstem.run import sweep
from mainstem.run.drain import Outcome, drain
from mainstem.run.failures import Failure, classify
from mainstem.run.listener import Listener, Progress
from mainstem.run.progress import QueryStatus, State, updated, waiting
from mainstem.run.restarts import Restarts
from mainstem.spec.base import seconds
from mainstem.spec.graph import Graph
from mainstem.spec.occurrences import occurrence_names
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.queries import Query


TURN: Final = 0.2
SETTLE_SECONDS: Final = 3.0
LOOK_SECONDS: Final = 2.0


class StopAsked(Protocol):
    """Whether the run shall end.

    Attributes:
        asked: at the next batch boundary.
        hurry: at once.
    """

    asked: bool
    hurry: bool


@dataclass
class _Run:
    """One query under supervision; the only mutable state there is."""

    query: Query
    session: SparkSession
    occurrences: list[str]
    restarts: Restarts
    status: QueryStatus
    handle: StreamingQuery | None = None
    due: float | None = None
    busy: float = 0.0
    waiting: bool = False


class Supervisor:
    """Runs the queries of one pipeline.

    Args:
        session: the application's session.
        pipeline: the checked document, parameters filled in.
        changed: called with all statuses after every change.
        stop: whether the run is asked to end, and to end at once; nothing is started once it is.
    """

    def __init__(
        self,
        session: SparkSession,
        pipeline: StreamingPipeline,
        changed: Callable[[list[QueryStatus]], None],
        stop: StopAsked,
    ) -> None:
        self._pipeline = pipeline
        self._graph = Graph(pipeline)
        self._changed = changed
        self._stop = stop
        self._events: queue.Queue[Progress] = queue.Queue()
        self._listener = Listener(self._events)
        self._log = logs.get("mainstem")
        self._looked = 0.0
        self._runs = [self._new_run(session, query) for query in pipeline.spec.queries]

    @property
    def statuses(self) -> list[QueryStatus]:
        """The queries in the order of the document."""
        return [run.status for run in self._runs]

    @property
    def failures(self) -> list[QueryStatus]:
        """Queries that are failed for good."""
        return [run.status for run in self._runs if run.status.state is State.FAILED]

    def start(self) -> None:
        """Build all queries that are not suspended and make their folders fit, then start them: where one is refused, none runs.

        Raises:
            SpecInvalid: Spark's analysis refuses a query; with Spark's own condition as reason.
            NotReady: a sink's folder is another's, or a query cannot start for what is around it.
        """
        wanted = [run for run in self._runs if not run.query.suspend]
        writers = [
            self._analysed(run, partial(build.build, run.session, self._graph, run.query)) for run in wanted
        ]
        for run in wanted:
            self._analysed(run, partial(self._prepare, run))
        for run, writer in zip(wanted, writers, strict=True):
            if self._stop.asked:
                return
            self._started(run, self._analysed(run, partial(build.start, run.session, writer, run.query)))

    def turn(self) -> bool:
        """Take events, see to ended and waiting queries; False once nothing is left to run."""
        self._take_events()
        now = time.monotonic()
        look = now - self._looked >= LOOK_SECONDS
        self._looked = now if look else self._looked
        for run in self._runs:
            if run.handle is not None and not run.handle.isActive:
                self._ended(run, now)
            elif run.due is not None and now >= run.due and not self._stop.asked:
                self._restart(run)
                self._changed(self.statuses)  # a start may take its time, and there may be many
            elif look or run.status.state in (State.STARTING, State.RESTARTING):
                _look(run)
        self._changed(self.statuses)
        return any(run.handle is not None or run.due is not None for run in self._runs)

    def idle_seconds(self) -> float:
        """Time since any query last had data, or waited for a restart."""
        now = time.monotonic()
        for run in self._runs:
            _look(run)
            if run.due is not None or (run.handle is not None and not run.waiting):
                run.busy = now
        return now - max(run.busy for run in self._runs)

    def drain(self) -> bool:
        """Stop every query at its batch's end, all at once, within `drain.timeout`; True where none was cut."""
        deadline = time.monotonic() + seconds(self._pipeline.spec.drain.timeout)
        outcomes: dict[str, Outcome] = {}
        running = [run for run in self._runs if run.handle is not None]
        threads = [
            threading.Thread(
                target=self._drain_one, args=(run, deadline, outcomes), name=f"drain-{run.query.name}"
            )
            for run in running
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(1.0)
                self._changed(self.statuses)
        for run in self._runs:
            self._settle(run, run.handle)
            run.due = None
            self._drained(run, outcomes.get(run.query.name))
        self._changed(self.statuses)
        return all(run.query.name in outcomes and outcomes[run.query.name].clean for run in running)

    def _new_run(self, session: SparkSession, query: Query) -> _Run:
        own = session.newSession()
        self._listener.attach(own)
        restart = self._pipeline.spec.restart
        return _Run(
            query=query,
            session=own,
            occurrences=[name for name, _ in occurrence_names(self._graph, query.from_)],
            restarts=Restarts(restart),
            status=QueryStatus(
                query.name,
                state=State.SUSPENDED if query.suspend else State.STARTING,
                pool=query.name,
                checkpoint=build.checkpoint(self._graph, query),
            ),
        )

    def _analysed(self, run: _Run, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except Py4JNetworkError:
            raise
        except (PySparkException, Py4JError) as error:
            failure = classify(error)
            if not isinstance(error, (AnalysisException, ParseException)):
                message = f"the query {run.query.name!r} cannot start: {failure.message}"
                raise NotReady(message, reason=failure.reason) from error
            path = f"spec.queries[{self._pipeline.spec.queries.index(run.query)}]"
            message = f"Spark refuses the query {run.query.name!r}: {failure.message}"
            raise SpecInvalid([Problem(0, 0, path, message, failure.reason)]) from error

    def _prepare(self, run: _Run) -> None:
        checkpoint = build.checkpoint(self._graph, run.query)
        sweep.clear_stillborn(run.session, checkpoint)
        for sink in run.query.to:
            if sink.files is None:
                continue
            if removed := sweep.prepare(run.session, sink.files.path, checkpoint, sink.choice()):
                self._log.info(
                    "removed files of an unfinished batch",
                    query=run.query.name,
                    sink=sink.name,
                    files=len(removed),
                )

    def _take_events(self) -> None:
        while True:
            try:
                event = self._events.get_nowait()
            except queue.Empty:
                return
            progress = json.loads(event.text)
            run = next(run for run in self._runs if run.query.name == progress["name"])
            run.status = updated(run.status, progress, run.occurrences)
            if progress.get("numInputRows"):
                run.busy, run.waiting = time.monotonic(), False

    def _settle(self, run: _Run, handle: StreamingQuery | None) -> None:
        """Wait for the last progress event of a query that has ended; Spark delivers it from another thread.

        The last progress of an idle query is none that is delivered: only one of a batch is waited for.
        """
        last: Any = handle._jsq.lastProgress() if handle is not None else None  # noqa: SLF001
        awaited = last.timestamp() if last is not None and last.durationMs().containsKey("addBatch") else None
        until = time.monotonic() + SETTLE_SECONDS
        self._take_events()
        while awaited and run.status.last_progress != awaited and time.monotonic() < until:
            time.sleep(TURN / 10)
            self._take_events()

    def _ended(self, run: _Run, now: float) -> None:
        handle = run.handle
        run.handle = None
        error: Any = handle._jsq.exception() if handle is not None else None  # noqa: SLF001
        self._settle(run, handle)
        if error is None or not error.isDefined():
            run.status = replace(run.status, state=State.COMPLETED, reason=None, message=None)
            self._log.info("query completed", query=run.query.name, batch=run.status.batch)
            return
        self._failed(run, classify(error.get()), now)

    def _failed(self, run: _Run, failure: Failure, now: float) -> None:
        wait = None if failure.permanent else run.restarts.next(now)
        state = State.FAILED if wait is None else State.RESTARTING
        run.due = None if wait is None else now + wait
        run.status = replace(
            run.status,
            state=state,
            reason=failure.reason,
            message=failure.message,
            restarts=run.restarts.count,
        )
        told = {"query": run.query.name, "reason": failure.reason, "error": failure.message}
        if wait is None:
            self._log.error("query failed", **told)
        else:
            self._log.warning("query restarts", **told, seconds=wait, attempt=run.restarts.count)

    def _restart(self, run: _Run) -> None:
        run.due = None
        try:
            self._prepare(run)
            writer = build.build(run.session, self._graph, run.query)
            handle = build.start(run.session, writer, run.query)
        except SpecInvalid as error:
            problem = error.problems[0]
            self._failed(run, Failure(problem.reason, problem.message, permanent=True), time.monotonic())
        except NotReady as error:
            self._failed(run, Failure(error.reason, error.message), time.monotonic())
        except (PySparkException, Py4JError) as error:
            self._failed(run, classify(error), time.monotonic())
        else:
            self._started(run, handle)

    def _started(self, run: _Run, handle: StreamingQuery) -> None:
        now = time.monotonic()
        run.handle, run.busy, run.waiting = handle, now, False
        run.restarts.started(now)
        # An idle query may say nothing for long: what is known already is told at once.
        run.status = replace(run.status, id=str(handle.id), run_id=str(handle.runId))
        self._log.info("query started", query=run.query.name, id=handle.id)

    def _drain_one(self, run: _Run, deadline: float, outcomes: dict[str, Outcome]) -> None:
        try:
            if run.handle is not None:
                outcomes[run.query.name] = drain(run.handle, deadline, lambda: self._stop.hurry)
        except (PySparkException, Py4JError, ConnectionError) as error:
            self._log.warning("drain failed", query=run.query.name, error=classify(error).message)
            outcomes[run.query.name] = Outcome(clean=False, committed=None, pending=None, seconds=0.0)

    def _drained(self, run: _Run, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        error: Any = run.handle._jsq.exception() if run.handle is not None else None  # noqa: SLF001
        run.handle = None
        run.status = replace(run.status, batch=outcome.committed)
        if error is not None and error.isDefined():
            failure = classify(error.get())
            self._failed(run, replace(failure, permanent=True), time.monotonic())
            return
        run.status = replace(run.status, state=State.DRAINED if outcome.clean else State.CUT)
        self._log.info(
            "query drained" if outcome.clean else "query cut",
            query=run.query.name,
            committed=outcome.committed,
            pending=outcome.pending,
            seconds=round(outcome.seconds, 2),
        )


def _look(run: _Run) -> None:
    """Whether a running query waits for data; while sources are opened and listed it does not, nor in a batch."""
    if run.handle is not None:
        status = run.handle.status
        if status["isDataAvailable"]:
            run.waiting = False
            run.status = replace(run.status, idle=False)
        elif str(status["message"]).startswith("Waiting"):
            run.waiting = True
            run.status = waiting(run.status)
