"""How many drivers in a row have failed with a changed document that they had neither applied nor refused; pure."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mainstem import reasons


FINAL: Final = 2
"""After so many failures the drivers get the document no more: its check may be what ends them."""


class Unanswered(NamedTuple):
    """A changed document that drivers were given, and had neither applied nor refused when they failed.

    Attributes:
        revision: its revision.
        drivers: how many drivers in a row.
        reason: why the last one failed.
    """

    revision: str
    drivers: int
    reason: str

    @property
    def is_final(self) -> bool:
        """Whether no driver gets the document again."""
        return self.drivers >= FINAL

    def written(self) -> dict[str, Any]:
        """`status.unanswered`."""
        return self._asdict()

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
    return None if written is None else Unanswered(written["revision"], written["drivers"], written["reason"])
