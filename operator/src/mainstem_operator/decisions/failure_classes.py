"""Classes of driver failures: which class an end has, the policy of each class, and the failures in a row; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.backoff import pause_seconds
from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Restart
from mainstem.language.model.status.states import OUTAGES
from mainstem.reasons import Exit

from mainstem_operator.observed.pod_status import DriverEnd


class FailureClass(StrEnum):
    """What kind of failure ended a driver."""

    DOCUMENT = "Document"
    """Spark rejects the document."""
    QUERY = "Query"
    """Its queries have failed for good."""
    DRIVER = "Driver"
    """The driver itself ended with an error, or was killed."""
    OUT_OF_MEMORY = "OutOfMemory"
    """The driver's container or its Java heap had too little memory."""
    INFRASTRUCTURE = "Infrastructure"
    """An eviction, a lost node, a container that did not start, or a server that does not answer."""
    CHANGE = "Change"
    """The driver itself failed while it checked a changed document, which may be the cause."""


class Policy(NamedTuple):
    """What the operator does after a failure of a class.

    Attributes:
        restarts: whether it starts the driver again.
        spends_budget: whether the failure counts against `restart.maxDriverRetries`.
    """

    restarts: bool
    spends_budget: bool


POLICIES: Final[Mapping[FailureClass, Policy]] = {
    FailureClass.DOCUMENT: Policy(restarts=False, spends_budget=True),
    FailureClass.QUERY: Policy(restarts=True, spends_budget=True),
    FailureClass.DRIVER: Policy(restarts=True, spends_budget=True),
    FailureClass.OUT_OF_MEMORY: Policy(restarts=True, spends_budget=True),
    FailureClass.INFRASTRUCTURE: Policy(restarts=True, spends_budget=False),
    FailureClass.CHANGE: Policy(restarts=True, spends_budget=False),
}
OF_THE_DOCUMENT: Final = (FailureClass.DOCUMENT, FailureClass.QUERY)
"""Classes of failures that another driver with the same document would have too."""
_BY_EXIT_CODE: Final[Mapping[int, FailureClass]] = {
    Exit.SPEC_INVALID: FailureClass.DOCUMENT,
    Exit.QUERY_FAILED: FailureClass.QUERY,
    Exit.DRAIN_INTERRUPTED: FailureClass.INFRASTRUCTURE,
    Exit.FENCED: FailureClass.INFRASTRUCTURE,
}
"""Exit code -> class. Somebody who deletes the pod, such as the drain of a node, may interrupt its batch; and a driver
whose checkpoint a newer one has taken over has not failed itself.
"""
_OUT_OF_MEMORY: Final = (reasons.OOM_KILLED, reasons.OUT_OF_MEMORY)
_INFRASTRUCTURE: Final = frozenset(
    {
        reasons.EVICTED,
        reasons.PREEMPTING,
        reasons.NODE_SHUTDOWN,
        reasons.DRIVER_LOST,
        reasons.CONTAINER_CANNOT_RUN,
        reasons.START_ERROR,
        "NodeAffinity",
        "NodeLost",
        "Shutdown",
        "Terminated",
        "UnexpectedAdmissionError",
    }
)
"""Reasons of the kubelet and of Mainstem for an end that the driver did not cause."""
NEVER_RAN: Final = (reasons.CONTAINER_CANNOT_RUN, reasons.START_ERROR)
"""Those of a container that did not start, which its image may cause."""
_NO_ROOM: Final = "OutOf"
"""Prefix of the kubelet's reasons for a pod that does not fit on its node: `OutOfcpu`, `OutOfmemory`, `OutOfpods`."""


def failure_class(ended: DriverEnd) -> FailureClass:
    """The class of a failure. A server that does not answer is infrastructure, also if the driver reports it."""
    if ended.reason in _OUT_OF_MEMORY:
        return FailureClass.OUT_OF_MEMORY
    of_kubelet = ended.exit_code is None or ended.reason.startswith(_NO_ROOM)
    if of_kubelet or ended.reason in _INFRASTRUCTURE | OUTAGES:
        return FailureClass.INFRASTRUCTURE
    assert ended.exit_code is not None
    return _BY_EXIT_CODE.get(ended.exit_code, FailureClass.DRIVER)


@dataclass(frozen=True)
class Failures:
    """The failures of a pipeline's driver in a row.

    Attributes:
        counted: those that spend the budget.
        last: the class of the last one; None without a failure.
        reason: its reason.
        attempt: the driver start number that failed.
        infrastructure: those that do not spend it, since the last one that did.
    """

    counted: int = 0
    last: FailureClass | None = None
    reason: str = ""
    attempt: int = 0
    infrastructure: int = 0

    @property
    def in_a_row(self) -> int:
        """How many failures the next pause depends on."""
        spends_budget = self.last is None or POLICIES[self.last].spends_budget
        return self.counted if spends_budget else self.infrastructure

    def next(self, ended: DriverEnd, restart: Restart, kind: FailureClass | None = None) -> "Failures":
        """The failures after another one; they begin again after a driver that ran for `resetAfter`.

        Args:
            ended: how the driver ended.
            restart: the policy of restarts.
            kind: the class of the failure; None for that of the end.
        """
        healthy = ended.ran_seconds >= seconds(restart.reset_after)
        before = Failures() if healthy else self
        kind = kind or failure_class(ended)
        if POLICIES[kind].spends_budget:
            return Failures(before.counted + 1, kind, ended.reason, ended.attempt)
        return Failures(before.counted, kind, ended.reason, ended.attempt, before.infrastructure + 1)

    def budget_left(self, restart: Restart) -> int | None:
        """How many more failures the budget allows; None without a limit."""
        limit = restart.max_driver_retries
        return None if limit is None else max(0, limit + 1 - self.counted)

    def pause_seconds(self, restart: Restart, jitter: float) -> float | None:
        """Seconds until the next start; None if the operator starts no driver again."""
        if self.last is None:
            return 0.0
        policy = POLICIES[self.last]
        is_spent = policy.spends_budget and self.budget_left(restart) == 0
        if not policy.restarts or restart.policy == "Never" or is_spent:
            return None
        first, longest = seconds(restart.backoff), seconds(restart.max_backoff)
        return pause_seconds(self.in_a_row, first, longest, jitter=jitter)
