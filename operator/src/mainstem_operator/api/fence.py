"""Nothing is written without the Lease: every request that may change something passes here, Kopf's too."""

import time
from types import SimpleNamespace
from typing import Any, Final

import aiohttp


_READS: Final = ("GET", "HEAD", "OPTIONS")
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Goes on while the machine sleeps, where there is such a clock."""


def clock() -> float:
    """Seconds by a clock that never jumps."""
    return time.clock_gettime(_CLOCK)


class NotTheHolder(aiohttp.ClientOSError):
    """The operator does not hold its Lease, or could not renew it in time: another one may write now.

    To whoever writes, Kopf too, it is as if no server answered: they try again later.
    """

    def __init__(self) -> None:
        super().__init__("this operator does not hold its Lease")


class Fence:
    """Until when this process may write."""

    def __init__(self) -> None:
        self._until = float("-inf")

    @property
    def is_open(self) -> bool:
        """True while the Lease holds."""
        return self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        """For how long it is still open, 0 where it is not."""
        return max(0.0, self._until - clock())

    def open(self, until: float) -> None:
        """Let writes pass until then, by `clock`."""
        self._until = until

    def close(self) -> None:
        """Let nothing pass any more."""
        self._until = float("-inf")

    def check(self) -> None:
        """Pass, or not.

        Raises:
            NotTheHolder: the Lease does not hold.
        """
        if not self.is_open:
            raise NotTheHolder

    def trace(self) -> aiohttp.TraceConfig:
        """For a client session: writes are stopped as they begin, and once more when they have a connection.

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
