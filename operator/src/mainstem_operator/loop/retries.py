"""When a step that the API server did not carry out is tried again; pure."""

from dataclasses import dataclass
from typing import Final


_FIRST_SECONDS: Final = 2.0
_LONGEST_SECONDS: Final = 60.0
_PENDING_SECONDS: Final = 4.0
"""The longest wait for something that goes by itself: nothing has failed, and asking costs little."""
_LONGEST_MESSAGE: Final = 2000


@dataclass(frozen=True)
class FailedStep:
    """A start or a stop of a driver that the API server did not carry out.

    Attributes:
        pod_uid: of the pod to be stopped; empty for a start.
        message: what is wrong, in the API server's words where it answered.
        count: failures in a row.
        due: when the step is tried again, by the operator's monotonic clock, in seconds.
        is_pending: True where nothing is wrong: the step waits for something that goes by itself.
    """

    pod_uid: str
    message: str
    count: int
    due: float
    is_pending: bool = False

    def seconds_left(self, now: float) -> float:
        """Seconds until the next try, 0 where it is due; `now` is of the operator's monotonic clock."""
        return max(0.0, self.due - now)


def failed_step(
    before: FailedStep | None, pod_uid: str, error: Exception, now: float, *, is_pending: bool = False
) -> FailedStep:
    """The failure after the ones before: each waits twice as long as the last, a minute at most."""
    is_same = before is not None and (before.pod_uid, before.is_pending) == (pod_uid, is_pending)
    count = (before.count if before and is_same else 0) + 1
    longest = _PENDING_SECONDS if is_pending else _LONGEST_SECONDS
    wait = min(_FIRST_SECONDS * 2.0 ** min(count - 1, 10), longest)
    words = str(error) or type(error).__name__
    return FailedStep(pod_uid, words[:_LONGEST_MESSAGE], count, now + wait, is_pending)
