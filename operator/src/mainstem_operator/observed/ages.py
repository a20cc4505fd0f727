"""How long something is as it is, by the operator's own clock; pure.

A time that another machine wrote (the kubelet's, the driver's, the API server's) is compared with times of that machine
alone: clocks of nodes differ, by an hour where somebody has set one wrong.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple


class Moment(NamedTuple):
    """One moment by the operator's two clocks: what people read, and seconds that never jump."""

    wall: datetime
    monotonic: float


@dataclass
class Ages:
    """Since when each of a pipeline's facts has the value that it has, as the operator itself noticed."""

    _noticed: dict[str, tuple[Hashable, Moment]] = field(default_factory=dict)

    def notice(self, fact: str, value: Hashable, now: Moment, *, age: float = 0.0) -> Moment:
        """Since when the fact has this value.

        Args:
            fact: its name.
            value: what it is now; another one than before begins now.
            now: the time.
            age: how many seconds ago a value began that is noticed for the first time.
        """
        known = self._noticed.get(fact)
        if known is None or known[0] != value:
            first = age if known is None else 0.0
            known = value, Moment(now.wall - timedelta(seconds=first), now.monotonic - first)
            self._noticed[fact] = known
        return known[1]
