"""How long facts have had their values, by the operator's own clock; pure.

A time that another machine wrote (kubelet, driver, API server) is compared only with times of that machine: clocks of
nodes differ, even by an hour if one is set wrong.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple


class Moment(NamedTuple):
    """One moment by the operator's two clocks: a wall clock, and a monotonic clock that never jumps."""

    wall: datetime
    monotonic: float


@dataclass
class Ages:
    """Since when each fact of a pipeline has its value, as the operator noticed."""

    _noticed: dict[str, tuple[Hashable, Moment]] = field(default_factory=dict)

    def notice(self, fact: str, value: Hashable, now: Moment, *, age: float = 0.0) -> Moment:
        """Since when the fact has this value.

        Args:
            fact: its name.
            value: its current value; a changed value begins now.
            now: the time.
            age: how many seconds ago the value began, if the fact is new to the operator.
        """
        known = self._noticed.get(fact)
        if known is None or known[0] != value:
            first = age if known is None else 0.0
            known = value, Moment(now.wall - timedelta(seconds=first), now.monotonic - first)
            self._noticed[fact] = known
        return known[1]

    def notice_beginning(
        self, fact: str, value: tuple[Hashable, ...], now: Moment, *, age: float = 0.0
    ) -> Moment:
        """Since when the fact has a value that begins with this one, whatever follows; `age` as for `notice`."""
        known = self._noticed.get(fact)
        if known is not None and isinstance(known[0], tuple) and known[0][: len(value)] == value:
            return known[1]
        return self.notice(fact, value, now, age=age)
