"""Applies changes of the document's file to a run: `mainstem run --watch`."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from mainstem import logs
from mainstem.errors import MainstemError, SpecInvalid
from mainstem.language.document import Document
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.supervision.changing import NeedsDriver
from mainstem.runtime.supervision.supervisor import Supervisor


PAUSE_SECONDS: Final = 1.0
"""Between two looks at the file."""


class DocumentWatch:
    """Looks at a file once a second, and gives its document to the run when the file has changed.

    A document that cannot be applied is reported, and the run continues with the one before.

    Args:
        file: the document's file.
        read: reads the document.
    """

    def __init__(self, file: Path, read: Callable[[], Document]) -> None:
        self._file, self._read = file, read
        self._version = self._look()
        self._next = 0.0
        self._log: Any = logs.get("mainstem")

    def tick(self, supervisor: Supervisor) -> None:
        """Apply the document if its file has changed since the last look."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + PAUSE_SECONDS
        version = self._look()
        if version is None or version == self._version:
            return
        self._version = version
        self._apply(supervisor)

    def _apply(self, supervisor: Supervisor) -> None:
        try:
            document = self._read()
            try:
                supervisor.apply(document.graph, document.problem)
            except SpecInvalid as refused:
                raise document.located(refused) from refused
        except SpecInvalid as refused:
            for problem in refused.problems:
                self._log.error(problem.render(str(self._file)))
            self._log.error("the change of the document is not applied", error=str(refused))
        except NeedsDriver as needs:
            self._log.warning(
                "the change of the document is not applied: it needs a new run",
                because=", ".join(needs.causes),
            )
        except MainstemError as error:
            self._log.error("the change of the document is not applied", error=str(error))
        except Py4JNetworkError:
            raise
        except (PySparkException, Py4JError) as error:
            self._log.error("the change of the document is not applied", error=classify(error).message)
        else:
            self._log.info("the change of the document is applied", file=str(self._file))

    def _look(self) -> tuple[int, int] | None:
        """Time and size of the file; None while an editor replaces it."""
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_size
