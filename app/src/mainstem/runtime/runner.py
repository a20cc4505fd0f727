"""Runs one pipeline from start to end, on any machine: checks, session, queries, signals, drain, exit."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JNetworkError

from mainstem import interrupts, logs, reasons
from mainstem.errors import (
    DrainInterrupted,
    Fenced,
    MainstemError,
    NotReady,
    Problem,
    QueryFailed,
    SpecInvalid,
)
from mainstem.language.document import Document
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.requirements import running
from mainstem.runtime import start_line
from mainstem.runtime.clock import Clock
from mainstem.runtime.console.reporter import Reporter, for_stream
from mainstem.runtime.maintenance.maintenance import TableMaintenance
from mainstem.runtime.preflight import checks, readiness, user_modules
from mainstem.runtime.progress.status_json import as_json
from mainstem.runtime.query.changed_documents import admit
from mainstem.runtime.query.refusals import not_ready
from mainstem.runtime.spark import session
from mainstem.runtime.spark.environment import Environment, this_machine
from mainstem.runtime.stop import Stop
from mainstem.runtime.supervision.supervisor import TICK, Supervisor
from mainstem.runtime.watching import DocumentWatch


EndCallback = Callable[[str, list[QueryProgress]], None]
"""Called at the end of a run with its outcome (`completed`, `drained`, `interrupted`, `failed`) and the statuses of its queries."""


_BUILDING: Final = "mainstem-build"


@dataclass(frozen=True)
class RunOptions:
    """Options of a run.

    Attributes:
        environment: where the pipeline runs.
        reporter: takes progress; closed at the end.
        idle: drain after this many seconds without data in any query; None runs for ever.
        verbose: print Spark's INFO lines and stack traces.
        opened: called with Spark's session once it is open.
        ended: called at the end of the run.
        strict: run no query where Spark rejects a part of the document, or a query is not ready.
        render: turns a problem into its log message; None names the document's file.
        watch: applies changes of the document's file; None if the run keeps its document.
        clock: the time of the run.
    """

    environment: Environment
    reporter: Reporter
    idle: float | None = None
    verbose: bool = False
    opened: Callable[[Any], None] = lambda _session: None
    ended: EndCallback = lambda _outcome, _statuses: None
    strict: bool = False
    render: Callable[[Problem], str] | None = None
    watch: DocumentWatch | None = None
    clock: Clock = field(default_factory=Clock)


def on_this_machine(
    document: Document,
    *,
    cores: int | None,
    heap: str,
    idle: float | None,
    report: Path | None,
    strict: bool,
    verbose: bool,
    clock: Clock,
    watch: DocumentWatch | None = None,
) -> RunOptions:
    """The options of `mainstem run`: a table or lines on standard output and, if asked, the final statuses as a file."""
    name = document.pipeline.name
    environment = this_machine(cores=cores, heap=heap, code=document.folder)
    reporter = for_stream(sys.stdout, name, clock)
    options = RunOptions(environment, reporter, idle, verbose, strict=strict, watch=watch, clock=clock)
    return replace(options, ended=partial(_write_report, report, name)) if report else options


def run(document: Document, options: RunOptions, stop: Stop | None = None) -> None:
    """Run the document's pipeline until its queries end, a signal comes, or it is idle for long enough.

    Args:
        document: the document to run.
        options: where and how to run.
        stop: a `Stop` that listens already; None ends the run at once by a signal that comes before Spark has started.

    Raises:
        MainstemError: the run failed; the class of the error has the exit code.
    """
    has_screen = stop is None
    if stop is None:
        interrupts.end_the_start()
        stop = Stop()
    reporter = options.reporter
    try:
        if options.environment.code is not None:
            user_modules.add_folder(options.environment.code)
        with start_line.shown(document.pipeline.name, "checks modules, secrets and servers"):
            unready = readiness.before_session(document.graph)
            if unready and (options.strict or len(unready) == len(running(document.graph))):
                raise not_ready(unready)
            ready = readiness.suspend_unready(document, unready)
            silent = checks.check_servers(ready.graph)
        with session.open_session(
            ready.graph, options.environment, output=reporter.output, verbose=options.verbose
        ) as spark:
            stop.listen()
            options.opened(spark)
            if not stop.requested:
                driver = options.environment.driver(document.pipeline.name)
                ready, refused = admit(spark, ready)
                unready = {**unready, **refused}
                supervisor = Supervisor(
                    spark,
                    ready.graph,
                    reporter.changed,
                    stop,
                    options.environment.run,
                    driver,
                    document.problem,
                    options.clock,
                )
                if has_screen:
                    reporter.changed(supervisor.statuses)  # a plan may take long
                _run(supervisor, spark, ready, options, stop, silent, unready)
    except SpecInvalid as refused:
        raise document.located(refused) from refused.__cause__
    finally:
        reporter.close()


def _run(
    supervisor: Supervisor,
    spark: Any,
    document: Document,
    options: RunOptions,
    stop: Stop,
    silent: frozenset[str],
    unready: Mapping[str, NotReady],
) -> None:
    outcome, graph = "failed", document.graph
    try:
        with _interruptible(spark, stop, options.clock):
            checks.check_checkpoint_store(spark, graph)
            owner = options.environment.owner(document.pipeline.name)
            unready = {**unready, **readiness.in_session(spark, graph, owner, options.clock, silent)}
            with TableMaintenance(spark, graph, options.clock) as maintenance:
                outcome = _started(supervisor, document, options, stop, unready) or _loop(
                    supervisor, maintenance, options, stop
                )
    except (Py4JNetworkError, ConnectionError):
        raise  # without a JVM there is nothing to drain
    except Exception:
        supervisor.drain()
        raise
    finally:
        supervisor.close()
        options.ended(outcome, supervisor.statuses)
    refusal = supervisor.analysis.final(supervisor.failures)
    if refusal and not stop.requested:
        # No query is left to run. After a request to stop, the other queries shall run again at the next start.
        raise refusal
    if supervisor.failures:
        raise query_failed(supervisor.failures)
    if outcome == "failed" and supervisor.waiting:
        raise _missed(supervisor.waiting[0])
    if outcome == "interrupted":
        raise _interrupted(by_signal=stop.force)


def _interrupted(*, by_signal: bool) -> DrainInterrupted:
    again = "the batch runs again at the next start"
    if by_signal:
        return DrainInterrupted(
            f"a second signal interrupted a running batch; {again}", reason=reasons.INTERRUPTED
        )
    return DrainInterrupted(
        f"a batch was still running at the end of drain.timeout and was interrupted; {again}",
        reason=reasons.DRAIN_TIMED_OUT,
        remedy="raise drain.timeout above the batch time",
    )


def query_failed(failed: Sequence[QueryProgress]) -> QueryFailed | Fenced:
    """The error of a run with queries that failed for good: names all failed queries, with the reason of the first.

    A newer driver that has taken over one checkpoint is the reason of the whole run.
    """
    for status in failed:
        if status.reason == reasons.FENCED:
            return Fenced(f"query {status.name!r}: {status.message}")
    first, *others = failed
    message = f"query {first.name!r} failed: {first.message}"
    if others:
        more = "; ".join(f"{each.name!r}: {each.message} [{each.reason}]" for each in others)
        message = f"{message} [{first.reason}]; failed too: {more}"
    return QueryFailed(message, reason=reasons.named(first.reason or reasons.QUERY_FAILED))


def _missed(status: QueryProgress) -> NotReady:
    """The error of a run that ended on its own while a query still waited for its source."""
    message = f"query {status.name!r} never started: {status.message}"
    return NotReady(message, reason=reasons.named(status.reason or reasons.NOT_READY))


def _started(
    supervisor: Supervisor,
    document: Document,
    options: RunOptions,
    stop: Stop,
    unready: Mapping[str, NotReady],
) -> str | None:
    """Start the queries; returns `drained` where a stop was requested before any query ran."""
    try:
        supervisor.start(strict=options.strict, unready=unready)
    except MainstemError:
        if not stop.requested:
            raise
        return "drained"
    render = options.render or (lambda problem: problem.render(document.file))
    for problem in supervisor.analysis.problems:
        logs.get("mainstem").error(render(problem))
    return None


@contextmanager
def _interruptible(spark: Any, stop: Stop, clock: Clock) -> Iterator[None]:
    """Within this context a request to stop cancels the jobs of this thread.

    These jobs read tables while queries are built, and may wait for executors that never start. Jobs of a running query
    belong to another job group.
    """
    context, done = spark.sparkContext, threading.Event()
    context.setJobGroup(_BUILDING, "reads tables while queries are built")

    def watch() -> None:
        while not clock.wait(done, 1.0):
            if stop.requested:
                with suppress(Py4JError, ConnectionError):
                    context.cancelJobGroup(_BUILDING)

    thread = threading.Thread(target=watch, name="interrupt", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _loop(supervisor: Supervisor, maintenance: TableMaintenance, options: RunOptions, stop: Stop) -> str:
    while supervisor.tick():
        idle = options.idle is not None and supervisor.idle_seconds() >= options.idle
        if stop.requested or idle or supervisor.fenced:
            because = "fenced" if supervisor.fenced else "idle" if idle else "signal"
            logs.get("mainstem").info("draining", because=because)
            maintenance.stop()  # a merge may wait for maintenance to end
            clean = supervisor.drain()
            failed = supervisor.failures or (supervisor.waiting and not stop.requested)
            return "failed" if failed else "drained" if clean else "interrupted"
        if options.watch is not None:
            options.watch.tick(supervisor)
        options.clock.sleep(TICK)
    return "failed" if supervisor.failures else "drained" if stop.requested else "completed"


def _write_report(file: Path, pipeline: str, outcome: str, statuses: list[QueryProgress]) -> None:
    report = {
        "pipeline": pipeline,
        "outcome": outcome,
        "queries": [as_json(s, offsets=True) for s in statuses],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
