"""The restart budget of one query: exponential backoff, given back after a time of health."""

from dataclasses import dataclass, field

from mainstem.spec.base import seconds
from mainstem.spec.pipeline import Restart


@dataclass
class Restarts:
    """Counts restarts in a row.

    Attributes:
        settings: the document's `restart`.
        count: restarts in a row so far.
    """

    settings: Restart
    count: int = 0
    _since: float | None = field(default=None, repr=False)

    def started(self, now: float) -> None:
        """The query runs, since `now` (monotonic seconds); without a failure in between, since it did before."""
        if self._since is None:
            self._since = now

    def next(self, now: float) -> float | None:
        """Seconds to wait before the next start, or None where the budget is spent.

        A start that fails is no health: only the time between `started` and the failure gives the budget back.
        """
        if self._since is not None and now - self._since >= seconds(self.settings.reset_after):
            self.count = 0
        self._since = None
        if self.settings.policy == "Never" or self.count >= self.settings.max_retries:
            return None
        wait = seconds(self.settings.backoff) * 2.0**self.count
        self.count += 1
        return float(min(wait, seconds(self.settings.max_backoff)))
