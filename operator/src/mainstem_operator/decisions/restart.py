"""Consecutive failures of a driver; pure. There is no limit of restarts, only longer pauses: outages end."""

from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Restart

from mainstem_operator.observed.pod_status import DriverEnd


def failures(ended: DriverEnd, before: int, restart: Restart) -> int:
    """Consecutive failures; they start again at 1 after a driver that ran for `resetAfter`."""
    if ended.drained:
        return 0
    return 1 if ended.ran_seconds >= seconds(restart.reset_after) else before + 1
