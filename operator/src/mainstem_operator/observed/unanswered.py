"""The drivers that have failed while a changed document waited, which none of them had applied or refused; pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from mainstem import reasons


REPEATEDLY: Final = 2
"""So many failures of drivers in a row count as repeated."""


@dataclass(frozen=True)
class Unanswered:
    """A changed document that no driver has applied or refused, and the drivers that have failed meanwhile.

    Attributes:
        revision: its revision.
        drivers: drivers in a row that had the changed document at hand.
        starts: drivers in a row that failed before a query of the document before ran.
        reason: why the last driver failed.
    """

    revision: str
    drivers: int = 0
    starts: int = 0
    reason: str = ""

    @property
    def is_final(self) -> bool:
        """Whether no driver gets the document again: its check may be what ends them."""
        return self.drivers >= REPEATEDLY

    @property
    def is_remedy(self) -> bool:
        """Whether the document before does not start any more, so that nothing is lost if the changed one does not either."""
        return self.starts >= REPEATEDLY and not self.is_final

    def after_report(self, *, has_begun: bool, has_answered: bool) -> "Unanswered | None":
        """The count after a report of a driver that lives, or has lived: whether a query of it has run, and whether it has answered."""
        left = replace(
            self, drivers=0 if has_answered else self.drivers, starts=0 if has_begun else self.starts
        )
        return left if left.drivers or left.starts else None

    def written(self) -> dict[str, Any]:
        """`status.unanswered`."""
        return asdict(self)

    def refusal(self) -> dict[str, Any]:
        """The same in the form in which a driver reports that it has refused a document."""
        message = (
            f"{self.drivers} drivers in a row had revision {self.revision}, and failed before they had applied or refused"
            f" it, the last one with {self.reason}"
        )
        return {
            "revision": self.revision,
            "reason": reasons.NEVER_ANSWERED,
            "message": message,
            "retried": False,
        }


def remembered(status: Mapping[str, Any]) -> Unanswered | None:
    """`status.unanswered`; None without one."""
    written = status.get("unanswered")
    if written is None:
        return None
    return Unanswered(written["revision"], written["drivers"], written["starts"], written["reason"])
