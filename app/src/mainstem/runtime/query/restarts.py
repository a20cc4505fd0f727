"""The restart budget of one query, with exponential backoff; a healthy period restores the budget.

An outage (a server does not answer) is no failure of the query: it uses no budget, and restarts have no limit.
"""

from dataclasses import dataclass, field

from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Restart


@dataclass
class Restarts:
    """Counts restarts in a row, and computes the wait before the next one.

    Attributes:
        settings: the document's `restart`.
        count: restarts in a row so far after failures of the query itself.
        outages: restarts in a row so far after outages.
    """

    settings: Restart
    count: int = 0
    outages: int = 0
    _since: float | None = field(default=None, repr=False)

    def started(self, now: float) -> None:
        """Record that the query runs since `now` (monotonic seconds), unless it already ran."""
        if self._since is None:
            self._since = now

    @property
    def in_a_row(self) -> int:
        """The number of restarts in a row, after failures and after outages."""
        return self.count + self.outages

    def next(self, now: float, *, outage: bool = False, stalled: float = 0.0) -> float | None:
        """Seconds to wait before the next start; None once the budget is spent.

        Only the time between `started` and the failure restores the budget: a failed start counts as no time.

        Args:
            now: monotonic seconds.
            outage: whether a server did not answer; an outage uses no budget.
            stalled: the last seconds of the run in which it made no progress; they restore no budget.
        """
        if self._since is not None and now - stalled - self._since >= seconds(self.settings.reset_after):
            self.count = self.outages = 0
        self._since = None
        if self.settings.policy == "Never":
            return None
        if outage:
            self.outages += 1
            return self.settings.wait_seconds(self.outages)
        if self.count >= self.settings.max_retries:
            return None
        self.count += 1
        return self.settings.wait_seconds(self.count)
