"""How long a driver pod may take to start, and when the operator replaces a pod that does not start; pure.

The kubelet and the scheduler try again by themselves. Another node may help a pod that already has one, so the operator
replaces such a pod, ever later.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.backoff import pause_seconds

from mainstem_operator.decisions.failure_classes import Failures


class Deadline(NamedTuple):
    """The deadline of one kind of cause.

    Attributes:
        kind: what the pod waits for, for messages.
        seconds: how long the pod may wait for it.
    """

    kind: str
    seconds: float

    def shortened(self) -> "Deadline":
        """The same kind with the shortest of all deadlines: a pod that was overdue for another cause has exceeded that."""
        return self._replace(seconds=_IMAGE.seconds)


_SCHEDULING: Final = Deadline("a node", 600.0)
_IMAGE: Final = Deadline("its image", 300.0)
_MOUNTS: Final = Deadline("its volumes and Secrets", 300.0)
_CONTAINER: Final = Deadline("its container", 600.0)
_BY_REASON: Final[Mapping[str, Deadline]] = {
    **dict.fromkeys(
        (
            reasons.IMAGE_PULL_BACK_OFF,
            reasons.ERR_IMAGE_NEVER_PULL,
            reasons.INVALID_IMAGE_NAME,
        ),
        _IMAGE,
    ),
    **dict.fromkeys(
        (
            reasons.FAILED_MOUNT,
            reasons.FAILED_ATTACH_VOLUME,
            reasons.FAILED_CREATE_POD_SAND_BOX,
            reasons.CREATE_CONTAINER_CONFIG_ERROR,
        ),
        _MOUNTS,
    ),
}
LONGEST_SECONDS: Final = 3600.0
"""The longest time before the operator replaces a pod that does not start."""


def deadline(reason: str, *, has_node: bool) -> Deadline:
    """The deadline of a pod that waits for this reason."""
    return _BY_REASON.get(reason, _CONTAINER if has_node else _SCHEDULING)


def replaced_after(limit: Deadline, failures: Failures) -> float:
    """Seconds after which the operator replaces a pod that has a node: twice the deadline, doubled for each failure of
    infrastructure in a row.
    """
    return pause_seconds(failures.infrastructure + 1, 2 * limit.seconds, LONGEST_SECONDS)


def overdue_message(message: str, limit: Deadline, pods: int, replaced_in: float | None) -> str:
    """The message of a pod that has exceeded its deadline: the cause, and what is tried.

    Args:
        message: the cause, quoted from the scheduler or the kubelet.
        limit: the deadline.
        pods: how many pods in a row did not start, with this one.
        replaced_in: after how many seconds from its creation the operator replaces the pod; None if it does not.
    """
    tried = "1 pod" if pods == 1 else f"{pods} pods in a row"
    follows = (
        "The scheduler tries again by itself"
        if replaced_in is None
        else f"The kubelet tries again by itself, and the operator replaces a pod that has waited for {replaced_in / 60:g} minutes"
    )
    return (
        f"{message}; the driver has waited for {limit.kind} for more than {limit.seconds / 60:g} minutes, in {tried}. "
        f"{follows}"
    )
