"""One pipeline from start to end on one machine: checks, session, queries, signals, drain, exit."""

import json
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from py4j.protocol import Py4JNetworkError

from mainstem import logs
from mainstem.errors import DrainCut, QueryFailed, SpecInvalid
from mainstem.run import preflight, session
from mainstem.run.progress import QueryStatus, as_json
from mainstem.run.reporter import for_stream
from mainstem.run.supervisor import TURN, Supervisor
from mainstem.spec.document import Document
from mainstem.spec.graph import Graph
from mainstem.spec.pipeline import StreamingPipeline


@dataclass(frozen=True)
class Options:
    """How to run.

    Attributes:
        cores: threads for tasks; None takes the machine's.
        heap: Java heap, such as `2g`.
        idle: drain once no query has had data for so many seconds; None runs for ever.
        report: file for the final statuses, as JSON.
        verbose: Spark's INFO lines and stack traces.
    """

    cores: int | None = None
    heap: str = "2g"
    idle: float | None = None
    report: Path | None = None
    verbose: bool = False


class Stop:
    """SIGTERM, Ctrl-C and a closed terminal: the first asks for a drain, the second for a cut.

    Plain booleans: an Event's lock may be held by the very thread that the signal interrupts.
    """

    def __init__(self) -> None:
        self.asked = False
        self.hurry = False

    def listen(self) -> None:
        """Take the signals; again after Spark's context is made, for pyspark takes SIGINT for itself."""
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if name != signal.SIGHUP or signal.getsignal(name) != signal.SIG_IGN:  # nohup
                signal.signal(name, self._signalled)

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        self.hurry = self.asked
        self.asked = True


def run(document: Document, options: Options) -> None:
    """Run the document's pipeline until its queries end, a signal comes, or it is idle for long enough.

    Raises:
        MainstemError: what went wrong, with the exit code of its class.
    """
    pipeline = document.pipeline
    stop = Stop()
    stop.listen()
    reporter = for_stream(sys.stdout, pipeline.name)
    try:
        preflight.reachable(Graph(pipeline))
        with session.opened(
            pipeline, cores=options.cores, heap=options.heap, output=reporter.output, verbose=options.verbose
        ) as spark:
            stop.listen()
            if not stop.asked:
                _run(Supervisor(spark, pipeline, reporter.changed, stop), spark, pipeline, options, stop)
    except SpecInvalid as refused:
        raise document.located(refused) from refused.__cause__
    finally:
        reporter.close()


def _run(
    supervisor: Supervisor, spark: Any, pipeline: StreamingPipeline, options: Options, stop: Stop
) -> None:
    outcome = "failed"
    try:
        preflight.present(spark, Graph(pipeline))
        supervisor.start()
        outcome = _loop(supervisor, options, stop)
    except (Py4JNetworkError, ConnectionError):
        raise  # no JVM, nothing to drain
    except Exception:
        supervisor.drain()
        raise
    finally:
        if options.report:
            _write_report(options.report, pipeline.name, outcome, supervisor.statuses)
    if supervisor.failures:
        failed = supervisor.failures[0]
        raise QueryFailed(
            f"query {failed.name!r} failed: {failed.message}", reason=failed.reason or "QueryFailed"
        )
    if outcome == "cut":
        raise DrainCut(
            "a running batch was cut, by the drain's deadline or a second signal; it runs again at the next start",
            reason="DrainCut",
            remedy="raise drain.timeout above the batch time",
        )


def _loop(supervisor: Supervisor, options: Options, stop: Stop) -> str:
    while supervisor.turn():
        idle = options.idle is not None and supervisor.idle_seconds() >= options.idle
        if stop.asked or idle:
            logs.get("mainstem").info("draining", because="idle" if idle else "signal")
            clean = supervisor.drain()
            return "failed" if supervisor.failures else "drained" if clean else "cut"
        time.sleep(TURN)
    return "failed" if supervisor.failures else "drained" if stop.asked else "completed"


def _write_report(file: Path, pipeline: str, outcome: str, statuses: list[QueryStatus]) -> None:
    report = {
        "pipeline": pipeline,
        "outcome": outcome,
        "queries": [as_json(s, offsets=True) for s in statuses],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
