"""All errors that Mainstem raises, as one tree of exceptions.

    MainstemError                reason          exit code
    ├── SpecInvalid              SpecInvalid             3   the document is invalid; holds all its problems
    ├── NotReady                 (see below)             5   something that the pipeline needs is missing or unreachable
    ├── QueryFailed              (Spark's or ours)       4   a query spent its restarts
    ├── DrainInterrupted         DrainTimedOut or        6   the drain's deadline or a second signal interrupted a batch
    │                            Interrupted
    └── Fenced                   Fenced                  8   a newer driver has taken over a checkpoint

Reasons are entries of `mainstem.reasons`. Their names are stable: they go to exit messages, logs and conditions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mainstem.reasons import FENCED, SPEC_INVALID, Exit, Reason


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong in a document.

    Attributes:
        line: 1-based line in the file, 0 where the document has no text.
        column: 1-based column.
        path: where in the document, as Kubernetes writes it: `spec.sources[0].kafka.topic`.
        message: what is wrong, with the value, and what would be right.
        reason: stable name of the broken rule.
        warning: True if the document is valid in spite of the problem.
        spot: 1-based line and column within the text at the path, if the text has several lines.
    """

    line: int
    column: int
    path: str
    message: str
    reason: Reason
    warning: bool = False
    spot: tuple[int, int] | None = field(default=None, compare=False)

    def render(self, file: str) -> str:
        """The one line that a user sees: `file:line:column: path: message [Reason]`."""
        return f"{file}:{self.line}:{self.column}: {self._words(self.path)}"

    def named(self) -> str:
        """The same line for a reader who has a resource instead of a file: `path, line 2, column 9: message [Reason]`."""
        spot = f", line {self.spot[0]}, column {self.spot[1]}" if self.spot else ""
        return self._words(self.path + spot)

    def placed(self) -> str:
        """The path and the message without the reason: `path, line 2, column 9: message`."""
        return self.named().removesuffix(f" [{self.reason}]")

    def _words(self, where: str) -> str:
        level = "warning: " if self.warning else ""
        words = " ".join(f"{where}: {self.message}".split())  # a key may hold a line break
        return f"{level}{words} [{self.reason}]"


class MainstemError(Exception):
    """The root of the tree. `reason` is stable; `remedy` is what to do, empty if that is unknown."""

    exit_code = Exit.INTERNAL

    def __init__(self, message: str, *, reason: Reason, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.remedy = remedy

    @property
    def text(self) -> str:
        """The message and the remedy, without the reason."""
        return f"{self.message}; {self.remedy}" if self.remedy else self.message

    def __str__(self) -> str:
        return f"{self.text} [{self.reason}]"


class SpecInvalid(MainstemError):
    """The document breaks at least one rule; `problems` holds all of them, in the order of the file."""

    exit_code = Exit.SPEC_INVALID

    def __init__(self, problems: Sequence[Problem], file: str = "") -> None:
        self.problems = tuple(sorted(problems))
        self.file = file
        count = len(self.problems)
        super().__init__(
            f"the document is refused: {count} problem{'s' if count > 1 else ''}", reason=SPEC_INVALID
        )


class NotReady(MainstemError):
    """A broker, store, path, tool or permission that the pipeline needs is missing or unreachable.

    Args:
        transient: True if a later attempt may succeed, for example when a server answers with an error.
    """

    exit_code = Exit.NOT_READY

    def __init__(self, message: str, *, reason: Reason, remedy: str = "", transient: bool = False) -> None:
        super().__init__(message, reason=reason, remedy=remedy)
        self.transient = transient


class QueryFailed(MainstemError):
    """A query failed more often than its restart budget allows, or in a way that a restart does not change."""

    exit_code = Exit.QUERY_FAILED


class DrainInterrupted(MainstemError):
    """The drain's deadline or a second signal interrupted a batch; the batch runs again at the next start."""

    exit_code = Exit.DRAIN_INTERRUPTED


class Fenced(MainstemError):
    """A newer driver has taken over a checkpoint of this driver, which ends: the older driver always does."""

    exit_code = Exit.FENCED

    def __init__(self, message: str) -> None:
        super().__init__(message, reason=FENCED)
