"""The operator that is killed right after one of its writes: the server has it, and the operator does nothing more.

`DIES_AFTER` is the number of the write. Leases and events do not count: the one is no pipeline's, and the other decides
nothing. `DIES_LOG` is a file with a line for each counted write.
"""

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
from mainstem_operator.api import fence


_LIMIT = int(os.environ["DIES_AFTER"])
_LOG = Path(os.environ["DIES_LOG"])
_UNCOUNTED = ("/leases", "/events")
_trace, _written = fence.Fence.trace, 0


def _note(line: str) -> None:
    with _LOG.open("a", encoding="utf-8") as log:
        log.write(f"{line}\n")


async def _ended(_: Any, __: SimpleNamespace, params: aiohttp.TraceRequestEndParams) -> None:
    """Count a write that the server has answered; an answer with an error has changed nothing, and counts too."""
    global _written  # noqa: PLW0603 - one count for Kopf's session and the operator's
    path = params.url.path
    if params.method in ("GET", "HEAD", "OPTIONS") or "dryRun" in params.url.query:
        return
    if any(part in path for part in _UNCOUNTED):
        return
    _written += 1
    _note(f"{params.method} {path} {params.response.status}")
    if _written == _LIMIT:
        os.kill(os.getpid(), signal.SIGKILL)


def _counting(self: fence.Fence) -> aiohttp.TraceConfig:
    config = _trace(self)
    config.on_request_end.append(_ended)
    return config


fence.Fence.trace = _counting  # type: ignore[method-assign]

from mainstem_operator.__main__ import main  # noqa: E402 - after the change


if __name__ == "__main__":
    main()
