"""When a step that the API server did not carry out is tried again; pure."""

from dataclasses import dataclass
from typing import Final


_FIRST_SECONDS: Final = 2.0
_LONGEST_SECONDS: Final = 60.0
_LONGEST_MESSAGE: Final = 2000


@dataclass(frozen=True)
class FailedStep:
    """A start or a stop of a driver that the API server did not carry out.

    Attributes:
        pod_uid: of the pod to be stopped; empty for a start.
        message: what is wrong, in the API server's words where it answered.
        count: failures in a row.
        due: when the step is tried again, by the operator's monotonic clock, in seconds.
    """

    pod_uid: str
    message: str
    count: int
    due: float

    def seconds_left(self, now: float) -> float:
        """Seconds until the next try, 0 where it is due; `now` is of the operator's monotonic clock."""
        return max(0.0, self.due - now)


def failed_step(before: FailedStep | None, pod_uid: str, error: Exception, now: float) -> FailedStep:
    """The failure after the ones before: each waits twice as long as the last, a minute at most."""
    count = (before.count if before and before.pod_uid == pod_uid else 0) + 1
    wait = min(_FIRST_SECONDS * 2.0 ** min(count - 1, 10), _LONGEST_SECONDS)
    words = str(error) or type(error).__name__
    return FailedStep(pod_uid, words[:_LONGEST_MESSAGE], count, now + wait)
