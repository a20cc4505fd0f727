"""Applies changed documents to a run: those of a file with `mainstem run --watch`, or those that the operator hands over."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final, Protocol

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from mainstem import logs, reasons
from mainstem.changes.consequences import new_driver
from mainstem.errors import MainstemError, NotReady, Problem, SpecInvalid
from mainstem.language.document import Document
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.supervision.changing import NeedsDriver
from mainstem.runtime.supervision.supervisor import Supervisor


PAUSE_SECONDS: Final = 1.0
"""Between two looks for another document."""
RETRY_SECONDS: Final = 30.0
"""Until the next attempt to apply a document that needs something that is missing."""


class Changes(Protocol):
    """Where changed documents come from."""

    def look(self) -> Hashable | None:
        """The version of the present document; None if there is none now."""

    def read(self) -> Document:
        """The present document.

        Raises:
            SpecInvalid: it is invalid.
            NotReady: it cannot be read.
        """

    def render(self, problem: Problem) -> str:
        """The log message of a problem."""

    def applied(self) -> None:
        """Take that the run has changed to the document that was read last."""

    def refused(self, reason: reasons.Reason, message: str, *, retried: bool) -> None:
        """Take that the run has not changed to it, why, and whether the run tries again."""


class FileChanges:
    """The document of a file that a user edits.

    Args:
        file: the document's file.
        read: reads the document.
    """

    def __init__(self, file: Path, read: Callable[[], Document]) -> None:
        self._file = file
        self.read = read

    def look(self) -> tuple[int, int] | None:
        """Time and size of the file; None while an editor replaces it."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_size

    def render(self, problem: Problem) -> str:
        """The problem with its line in the file."""
        return problem.render(str(self._file))

    def applied(self) -> None:
        """Nothing more: the log has it."""

    def refused(self, reason: reasons.Reason, message: str, *, retried: bool) -> None:
        """Nothing more: the log has it."""


class DocumentWatch:
    """Looks for another document once a second, and applies it.

    A document that cannot be applied is reported, and the run continues with the one before. If only something that it
    needs is missing, it is applied once that exists.

    Args:
        changes: where documents come from; its present document runs.
        clock: the time of the run.
        first: the version of the document that runs; by default that of the present one.
    """

    def __init__(self, changes: Changes, clock: Clock, first: Hashable | None = None) -> None:
        self._changes, self._clock = changes, clock
        self._version = changes.look() if first is None else first
        self._next = 0.0
        self._again: float | None = None
        self._log: Any = logs.get("mainstem")

    def tick(self, supervisor: Supervisor) -> None:
        """Apply the document if there is another one since the last look, or if its last attempt is to be repeated."""
        now = self._clock.seconds()
        if now < self._next:
            return
        self._next = now + PAUSE_SECONDS
        version = self._changes.look()
        due = self._again is not None and now >= self._again
        if version is None or (version == self._version and not due):
            return
        self._version, self._again = version, None
        self._apply(supervisor)

    def _apply(self, supervisor: Supervisor) -> None:
        try:
            document = self._changes.read()
            try:
                supervisor.apply(document.graph, document.problem)
            except SpecInvalid as refused:
                raise document.located(refused) from refused
        except SpecInvalid as refused:
            problems = [problem for problem in refused.problems if not problem.warning]
            for problem in problems:
                self._log.error(self._changes.render(problem))
            self._refused(problems[0].reason, "; ".join(problem.placed() for problem in problems))
        except NeedsDriver as needs:
            self._refused(reasons.NEW_DRIVER_NEEDED, new_driver(needs.causes))
        except MainstemError as error:
            again = isinstance(error, NotReady) and error.reason != reasons.CHECKPOINT_INCOMPATIBLE
            self._refused(error.reason, error.text, again=again)
        except Py4JNetworkError:
            raise
        except (PySparkException, Py4JError) as error:
            failure = classify(error)
            self._refused(failure.reason, failure.message, again=not failure.permanent)
        else:
            self._log.info("the change of the document is applied")
            self._changes.applied()

    def _refused(self, reason: reasons.Reason, message: str, *, again: bool = False) -> None:
        self._again = self._clock.seconds() + RETRY_SECONDS if again else None
        self._log.error("the change of the document is not applied", reason=reason, because=message)
        self._changes.refused(reason, message, retried=again)
