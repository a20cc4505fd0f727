"""When the operator tries a step again that the API server did not carry out; pure."""

from dataclasses import dataclass
from typing import Final

from mainstem.backoff import pause_seconds
from mainstem.logs import error_text


_FIRST_SECONDS: Final = 2.0
_LONGEST_SECONDS: Final = 60.0
_PENDING_SECONDS: Final = 4.0
"""The longest wait for an object that is being deleted: nothing has failed, and a request costs little."""
_LONGEST_MESSAGE: Final = 2000


@dataclass(frozen=True)
class FailedStep:
    """A start or a stop of a driver that the API server did not carry out.

    Attributes:
        pod_uid: uid of the pod to delete; empty for a start.
        message: the error; it quotes the API server if that answered.
        count: consecutive failures.
        due: when the operator tries the step again, by its monotonic clock, in seconds.
        is_pending: True if nothing is wrong: the step waits for a deletion.
    """

    pod_uid: str
    message: str
    count: int
    due: float
    is_pending: bool = False

    def seconds_left(self, now: float) -> float:
        """Seconds until the next attempt, 0 if it is due; `now` is a time of the operator's monotonic clock."""
        return max(0.0, self.due - now)


def failed_step(
    before: FailedStep | None, pod_uid: str, error: Exception, now: float, *, is_pending: bool = False
) -> FailedStep:
    """The failure that follows `before`: each waits twice as long as the previous one, at most a minute."""
    is_same = before is not None and (before.pod_uid, before.is_pending) == (pod_uid, is_pending)
    count = (before.count if before and is_same else 0) + 1
    longest = _PENDING_SECONDS if is_pending else _LONGEST_SECONDS
    wait = pause_seconds(count, _FIRST_SECONDS, longest)
    words = error_text(error)
    return FailedStep(pod_uid, words[:_LONGEST_MESSAGE], count, now + wait, is_pending)
