"""What a reason is: its name, its meaning, what to do about it, the exit code, and whether a restart can help."""

from enum import IntEnum, StrEnum
from typing import Self


class Exit(IntEnum):
    """Exit codes of the command line. The README's table is generated from them.

    Attributes:
        meaning: when the command ends with this code; Markdown.
    """

    meaning: str

    def __new__(cls, code: int, meaning: str = "") -> Self:
        """Make the member of one code."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    OK = 0, "Completed, or drained at a batch boundary."
    INTERNAL = 1, "A fault of Mainstem. It prints a stack trace."
    USAGE = 2, "Wrong usage of the command line."
    SPEC_INVALID = (
        3,
        (
            "The document is invalid. Or Spark rejects some of its queries, and the others have ended. "
            "Mainstem prints every problem."
        ),
    )
    QUERY_FAILED = 4, "A query failed permanently: it has used up its restarts, or a restart would not help."
    NOT_READY = (
        5,
        (
            "Something that the pipeline needs is missing or unreachable: a broker, store, topic, path, secret or Java. "
            "If only some queries need it, the others have ended. Of `mainstem diff` and `mainstem trial`: a query must not "
            "start on its checkpoint."
        ),
    )
    DRAIN_INTERRUPTED = (
        6,
        ("The drain's deadline or a second signal interrupted a batch; it runs again at the next start."),
    )
    TESTS_FAILED = 7, "A test of a document failed: `mainstem test`."
    FENCED = (
        8,
        "A newer driver has taken over a checkpoint of this driver (`Fenced`). The newer driver continues.",
    )
    TRIAL_DIFFERS = (
        9,
        "The changed document writes other rows or columns, or one of its queries fails: `mainstem trial`.",
    )


class Restarted(StrEnum):
    """Whether the driver restarts a query that fails for a reason, as the runbook's column of this name shows it."""

    YES = "yes"
    NO = "no"
    UNLIMITED = "[without limit](#what-to-do-when)"


class Origin(StrEnum):
    """Who names a reason."""

    MAINSTEM = "Mainstem"
    KUBERNETES = "Kubernetes"
    SPARK = "Spark"


class Reason(str):
    """The stable name of a reason, with what the pages say about it.

    A reason is a string, because its name alone goes into messages, logs, conditions and events. The type has the rest,
    so code passes an entry of the registry and never a literal.

    Attributes:
        meaning: what has happened; Markdown of a page in `docs`.
        action: what the reader does about it; Markdown too. Empty for a reason without a fault.
        exit_code: the command's exit code if the reason ends it before the first query runs or as a query's failure;
            None for a reason that only conditions, events or logs have.
        restarted: whether the driver restarts a query that fails for this reason; None if no query does.
        origin: who names it. Reasons of Kubernetes and Spark reach Mainstem as text.
    """

    __slots__ = ("action", "exit_code", "meaning", "origin", "restarted")

    meaning: str
    action: str
    exit_code: Exit | None
    restarted: Restarted | None
    origin: Origin

    def __new__(
        cls,
        name: str,
        meaning: str = "",
        action: str = "",
        *,
        exit_code: Exit | None = None,
        restarted: Restarted | None = None,
        origin: Origin = Origin.MAINSTEM,
    ) -> Self:
        """Make the entry of one name."""
        reason = super().__new__(cls, name)
        reason.meaning, reason.action = meaning, action
        reason.exit_code, reason.restarted, reason.origin = exit_code, restarted, origin
        return reason

    @property
    def permanent(self) -> bool:
        """Whether a restart of the query would fail in the same way."""
        return self.restarted is Restarted.NO

    def also(self, name: str) -> "Reason":
        """The entry of another name with the same meaning, which shares the row of this one."""
        return Reason(
            name,
            self.meaning,
            self.action,
            exit_code=self.exit_code,
            restarted=self.restarted,
            origin=self.origin,
        )


def document_problem(name: str, meaning: str, action: str) -> Reason:
    """A reason of a problem in a document: nothing starts."""
    return Reason(name, meaning, action, exit_code=Exit.SPEC_INVALID)


def missing(name: str, meaning: str, action: str, restarted: Restarted | None = None) -> Reason:
    """A reason of something that a run needs and does not have."""
    origin = Origin.SPARK if name.isupper() else Origin.MAINSTEM
    return Reason(name, meaning, action, exit_code=Exit.NOT_READY, restarted=restarted, origin=origin)


def query_failure(
    name: str,
    meaning: str,
    action: str,
    restarted: Restarted | None = None,
    *,
    origin: Origin = Origin.MAINSTEM,
) -> Reason:
    """A reason of a query that fails while it runs."""
    return Reason(name, meaning, action, exit_code=Exit.QUERY_FAILED, restarted=restarted, origin=origin)
