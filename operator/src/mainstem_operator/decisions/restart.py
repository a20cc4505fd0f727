"""The pause before a failed driver starts again; pure. There is no limit of restarts, only longer pauses: outages end."""

from typing import Final

from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Restart

from mainstem_operator.observed.pod_status import DriverEnd


_DOUBLINGS: Final = 20


def failures(ended: DriverEnd, before: int, restart: Restart) -> int:
    """Consecutive failures; they start again at 1 after a driver that ran for `resetAfter`."""
    if ended.drained:
        return 0
    return 1 if ended.ran_seconds >= seconds(restart.reset_after) else before + 1


def wait_seconds(restart: Restart, count: int) -> float:
    """Seconds between the consecutive failure number `count` and the next start: doubled each time, up to `maxBackoff`."""
    if count == 0:
        return 0.0
    wait = seconds(restart.backoff) * 2.0 ** min(count - 1, _DOUBLINGS)
    return float(min(wait, seconds(restart.max_backoff)))
