"""The process that validates documents for the operator: a child for each lane, with limits, replaced when it dies.

`python -m mainstem_operator.validator FD...`: each number is an inherited socket, a lane. A child reads requests from
its lane and answers them. Where it dies the parent, which never reads a document, says so on the lane and forks another:
that costs milliseconds, because everything is imported.
"""

import gc
import json
import os
import pickle
import resource
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mainstem.errors import SpecInvalid
from mainstem.limits import limit_cpu, limit_memory, too_complex

from mainstem_operator import judge


HEADER: Final = struct.Struct("!II")
"""Before each message: the number of the request, 0 where a child died, and the length of what follows."""
DOCUMENTS: Final = 500
"""Documents for one child: whatever it has kept of them goes with it."""
_RECYCLED: Final = 3


def main() -> None:
    """Serve the lanes until their other ends are closed."""
    lanes = [socket.socket(fileno=int(number)) for number in sys.argv[1:]]
    with suppress(OSError):  # where memory runs out, the kernel ends a child before the operator
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    gc.collect()
    gc.freeze()
    children = {_child(lane): lane for lane in lanes}
    while children:
        child, status = os.wait()
        lane, code = children.pop(child), os.waitstatus_to_exitcode(status)
        if code == 0:
            continue
        with suppress(OSError):  # the operator has gone: the next child meets the end of the lane
            if code != _RECYCLED:
                lane.sendall(HEADER.pack(0, 4) + struct.pack("!i", code))
        children[_child(lane)] = lane


def _child(lane: socket.socket) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        limit_memory()
        code = _serve(lane)
    except (EOFError, OSError):
        code = 0
    finally:
        os._exit(code)


def _serve(lane: socket.socket) -> int:
    for _ in range(DOCUMENTS):
        number, size = HEADER.unpack(_read(lane, HEADER.size))
        request = _read(lane, size)
        limit_cpu()
        try:
            answer = pickle.dumps(_answer(json.loads(request)))
        except MemoryError:
            return 1
        except Exception as error:  # noqa: BLE001 - a fault of Mainstem; the operator reports it
            answer = pickle.dumps(f"{type(error).__name__}: {error}")
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))  # an answer is sent whole
        lane.sendall(HEADER.pack(number, len(answer)) + answer)
    return _RECYCLED


def _answer(request: dict[str, Any]) -> judge.Judgement | judge.Revision | None:
    if "body" in request:
        return judge.judge(request["body"])
    try:
        return judge.recalled(request["text"], request["name"])
    except SpecInvalid:
        return None


def _read(lane: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = lane.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)


def refused() -> judge.Judgement:
    """The judgement of a document whose validation reached a limit."""
    return judge.refusal(too_complex())


if __name__ == "__main__":
    main()
