"""The entry of `mainstem driver`: runs a pipeline in its pod and reports its progress and its end.

The run is that of `mainstem run`, with another environment (`pod_conf`) and other reports: HTTP for the kubelet and
Prometheus, the resource's status, the log as JSON, and the container's termination message for the operator.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mainstem import logs, names, reasons
from mainstem.errors import DrainInterrupted, MainstemError, Problem, SpecInvalid
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.reasons import Exit
from mainstem.runtime.driver import termination
from mainstem.runtime.driver.pod import Pod
from mainstem.runtime.stop import Stop


def main(file: str, *, verbose: bool) -> int:
    """Run the pipeline of a file, write how the run ended in any case, and return the exit code."""
    stop = Stop()
    stop.listen()
    logs.configure("json", verbose=verbose)
    end = _End()
    try:
        _run(file, stop, end, verbose=verbose)
    except MainstemError as error:
        log_error(error)
        outcome = "interrupted" if isinstance(error, DrainInterrupted) else "failed"
        end.came(outcome, error.reason, termination.words(error))
        return int(error.exit_code)
    except Exception as error:  # noqa: BLE001 - the operator gets a report of any error
        logs.get("mainstem").exception("an internal error of Mainstem", error=error)
        end.came("failed", reasons.INTERNAL_ERROR, termination.words(error))
        return int(Exit.INTERNAL)
    else:
        return int(Exit.OK)
    finally:
        end.leave()


class _End:
    """How the run ended, as far as is known."""

    def __init__(self) -> None:
        self._outcome, self._message = "drained", ""
        self._reason: reasons.Reason | None = None
        self._statuses: Sequence[QueryProgress] = ()

    def queries_ended(self, outcome: str, statuses: Sequence[QueryProgress]) -> None:
        """Take the outcome of the run and the last statuses of its queries."""
        self._outcome, self._statuses = outcome, statuses

    def came(self, outcome: str, reason: reasons.Reason, message: str) -> None:
        """Take the error that ended the run."""
        self._outcome, self._reason, self._message = outcome, reason, message

    def leave(self) -> None:
        """Write the termination message."""
        reason = self._reason or reasons.named(self._outcome.capitalize())
        message = self._message or self._outcome
        termination.write(termination.text(self._outcome, reason, message, self._statuses))


def _run(file: str, stop: Stop, end: _End, *, verbose: bool) -> None:
    pod = Pod.from_environment()
    from mainstem.language.document import read

    document = read(file)
    for warning in document.warnings:
        logs.get("mainstem").warning(warning.named())
    from mainstem.runtime.clock import Clock
    from mainstem.runtime.driver.pod_conf import pod_environment
    from mainstem.runtime.driver.pod_reporter import PodReporter
    from mainstem.runtime.driver.updates import Updates
    from mainstem.runtime.runner import RunOptions, run
    from mainstem.runtime.watching import DocumentWatch

    clock = Clock()
    reporter = PodReporter(document.graph, pod, sys.stdout, clock)

    def ended(outcome: str, statuses: list[QueryProgress]) -> None:
        reporter.ended(statuses)
        end.queries_ended(outcome, statuses)

    options = RunOptions(
        environment=pod_environment(document.pipeline, pod),
        reporter=reporter,
        verbose=verbose,
        opened=reporter.opened,
        ended=ended,
        render=Problem.named,
        watch=DocumentWatch(
            Updates(Path(names.UPDATE_DIR), pod.attempt, reporter.driver), clock, pod.revision
        ),
        clock=clock,
    )
    run(document, options, stop)


def log_error(error: MainstemError) -> None:
    """Log an error that ends the process; a line for each problem of a document."""
    log: Any = logs.get("mainstem")
    if isinstance(error, SpecInvalid):
        for problem in error.problems:
            log.error(problem.named(), reason=problem.reason)
    else:
        log.error(str(error), reason=error.reason)
