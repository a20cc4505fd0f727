"""The process that validates documents for the operator: one child for each lane, with limits, replaced when it dies.

`python -m mainstem_operator.validation.worker FD...`: each number is an inherited socket, a lane. A child reads requests from
its lane and answers them. If it dies, the parent, which never reads a document, forks another one: that takes milliseconds,
because all modules are imported. If the child was validating a document, the parent reports its death to the operator.
"""

import gc
import json
import mmap
import os
import pickle
import resource
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from mainstem.errors import SpecInvalid
from mainstem.limits import limit_cpu, limit_memory, too_complex

from mainstem_operator.validation import documents, reviews


HEADER: Final = struct.Struct("!II")
"""Before each message: the number of the request, and the length of what follows. Number 0: the child died while it
validated the last request's document; the exit code follows.
"""
DOCUMENTS: Final = 500
"""Documents that one child validates: its end frees all memory that they left."""
_ENDED, _RECYCLED = 0, 3
"""Exit codes of a child: the other end of the lane is closed, or it has validated its number of documents."""
_IDLE, _MESSAGE, _DOCUMENT = 0, 1, 2
"""States of a child, in shared memory for its parent: waiting for a request; reading it or sending an answer; validating."""


def main() -> None:
    """Serve the lanes until their other ends are closed."""
    lanes = [socket.socket(fileno=int(number)) for number in sys.argv[1:]]
    with suppress(OSError):  # without memory the kernel kills a child before the operator
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    gc.collect()
    gc.freeze()
    stages = mmap.mmap(-1, len(lanes))
    children = {_child(lane, stages, index): index for index, lane in enumerate(lanes)}
    while children:
        child, status = os.wait()
        index, code = children.pop(child), os.waitstatus_to_exitcode(status)
        if code == _ENDED:
            continue
        if stages[index] == _MESSAGE:  # the beginning of the next message is unknown
            os.killpg(0, signal.SIGKILL)
        if stages[index] == _DOCUMENT:
            with suppress(OSError):  # the operator has ended: the next child reads the end of the lane
                lanes[index].sendall(HEADER.pack(0, 4) + struct.pack("!i", code))
        children[_child(lanes[index], stages, index)] = index


def _child(lane: socket.socket, stages: mmap.mmap, index: int) -> int:
    stages[index] = _IDLE
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        limit_memory()
        for _ in range(DOCUMENTS):
            _serve(lane, stages, index)
        code = _RECYCLED
    except (EOFError, OSError):
        code = _ENDED
    finally:
        os._exit(code)


def _serve(lane: socket.socket, stages: mmap.mmap, index: int) -> None:
    """Answer one request."""
    number, size = HEADER.unpack(_read(lane, HEADER.size))
    stages[index] = _MESSAGE
    request = _read(lane, size)
    stages[index] = _DOCUMENT
    limit_cpu()
    try:
        answer = pickle.dumps(_answer(json.loads(request)))
    except MemoryError:
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - a bug of Mainstem; the operator reports it
        answer = pickle.dumps(f"{type(error).__name__}: {error}")
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))  # no limit while it sends an answer
    stages[index] = _MESSAGE
    lane.sendall(HEADER.pack(number, len(answer)) + answer)
    stages[index] = _IDLE


def _answer(request: dict[str, Any]) -> Any:
    """A validation result; a revision; what a change does; problems or warnings for a review; None for a document that is no longer valid."""
    if "body" in request:
        return documents.validate(request["body"])
    if "old" in request:
        return reviews.change_warnings(request["old"], request["new"])
    if "new" in request:
        return reviews.findings(request["new"])
    try:
        if "running" in request:
            return documents.change(request["running"], request["wanted"])
        return documents.recall(request["text"], request["name"])
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


def refused() -> documents.ValidationResult:
    """The result for a document whose validation reached a limit."""
    return documents.refusal(too_complex())


if __name__ == "__main__":
    main()
