"""The fence: no write without the Lease. Every request that may change an object passes it, also Kopf's requests.

Without it go the election, and the webhook's certificate: their writes replace only the object that was read.
"""

import time
from types import SimpleNamespace
from typing import Any, Final

import aiohttp


_READS: Final = ("GET", "HEAD", "OPTIONS")
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that continues while the machine sleeps, if the system has one."""


def clock() -> float:
    """Seconds of a clock that never jumps."""
    return time.clock_gettime(_CLOCK)


class NotTheHolder(aiohttp.ClientOSError):
    """The operator does not hold its Lease, or could not renew it in time: another operator may write now.

    For the caller, also Kopf, it looks like a server that does not answer: callers try again later.
    """

    def __init__(self) -> None:
        super().__init__("this operator does not hold its Lease")


class Fence:
    """The time until which this process may write."""

    def __init__(self) -> None:
        self._until = float("-inf")

    @property
    def is_open(self) -> bool:
        """True while the Lease holds."""
        return self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        """Seconds until it closes, 0 if it is closed."""
        return max(0.0, self._until - clock())

    def open(self, until: float) -> None:
        """Allow writes until that time, by `clock`."""
        self._until = until

    def close(self) -> None:
        """Allow no write any more."""
        self._until = float("-inf")

    def check(self) -> None:
        """Return if writes are allowed.

        Raises:
            NotTheHolder: the Lease does not hold.
        """
        if not self.is_open:
            raise NotTheHolder

    def trace(self) -> aiohttp.TraceConfig:
        """The trace of a client session: it checks each write when the write begins, and again when it has a connection.

        Between the two a request may wait long: for a connection of the pool, or while the process is suspended.
        """
        config = aiohttp.TraceConfig()

        async def begins(_: Any, context: SimpleNamespace, params: aiohttp.TraceRequestStartParams) -> None:
            context.writes = params.method not in _READS
            if context.writes:
                self.check()

        async def has_connection(_: Any, context: SimpleNamespace, __: Any) -> None:
            if context.writes:
                self.check()

        config.on_request_start.append(begins)
        config.on_connection_reuseconn.append(has_connection)
        config.on_connection_create_end.append(has_connection)
        return config
