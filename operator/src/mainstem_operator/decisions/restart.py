"""When a driver that failed is started again; pure. A driver is always started again, ever later: an outage ends."""

from typing import Final

from mainstem.language.base import seconds
from mainstem.language.model.pipeline import Restart

from mainstem_operator.observed.pod_status import DriverEnd


_DOUBLINGS: Final = 20


def failures(ended: DriverEnd, before: int, restart: Restart) -> int:
    """Failures in a row; a driver that ran for `resetAfter` has made up for those before."""
    if ended.drained:
        return 0
    return 1 if ended.ran_seconds >= seconds(restart.reset_after) else before + 1


def wait_seconds(restart: Restart, count: int) -> float:
    """Seconds between the count-th failure in a row and the next start: doubled each time, up to `maxBackoff`."""
    if count == 0:
        return 0.0
    wait = seconds(restart.backoff) * 2.0 ** min(count - 1, _DOUBLINGS)
    return float(min(wait, seconds(restart.max_backoff)))
