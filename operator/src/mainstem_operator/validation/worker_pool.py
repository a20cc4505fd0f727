"""Validates documents in separate processes, so that no document takes the operator's time or memory, or ends it."""

import asyncio
import contextlib
import json
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mainstem_operator.metrics import VALIDATORS_LOST
from mainstem_operator.turns import FairTurns
from mainstem_operator.validation.documents import DocumentChange, Revision, ValidationResult
from mainstem_operator.validation.reviews import Findings
from mainstem_operator.validation.worker import HEADER, refused


COMMAND: Final = (sys.executable, "-m", "mainstem_operator.validation.worker")
LANES: Final = 2
"""Documents that are validated at a time, at most one of each namespace."""
DEADLINE_SECONDS: Final = 60.0
"""Time limit for a process that gets no CPU time or hangs: another process replaces it, and the document is tried again. A
busy process reaches its limit of CPU time long before.
"""


class ValidatorLost(Exception):
    """The process has ended or does not answer, and the document is not the cause."""


class _Died(Exception):
    """A child ended while it validated; `code` is its exit code, or the negative number of a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the validation process ended with code {code}")
        self.code = code


@dataclass
class _Lane:
    """A connection to a child; `sent` counts the requests."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    sent: int = 0


class Validators:
    """The validation processes; they start with the first document, and again after they have ended."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        self._command = command
        self._turns = FairTurns(LANES, each=1)
        self._process: subprocess.Popen[bytes] | None = None
        self._lanes: list[_Lane] = []
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Start the process if it does not run."""
        async with self._starting:
            if self._process is None or self._process.poll() is not None:
                await self._start()

    async def validate(self, body: Mapping[str, Any]) -> ValidationResult:
        """Validate the document of a resource; the reason is `DocumentTooComplex` if it reaches a limit.

        Raises:
            ValidatorLost: the document was not validated; try again.
        """
        answer = await self._ask(str(body["metadata"]["namespace"]), {"body": _document(body)})
        return answer if isinstance(answer, ValidationResult) else refused()

    async def recall(self, namespace: str, text: str, name: str) -> Revision | None:
        """The revision of a ConfigMap's document; None if it is invalid by the current rules.

        Raises:
            ValidatorLost: the document was not validated; try again.
        """
        answer = await self._ask(namespace, {"text": text, "name": name})
        return answer if isinstance(answer, Revision) else None

    async def change(self, namespace: str, running: Revision, wanted: Revision) -> DocumentChange:
        """What the change from the running document to the wanted one does.

        If the comparison reaches a limit, a new driver is needed, which compares the documents again before it starts a query.

        Raises:
            ValidatorLost: the documents were not compared; try again.
        """
        answer = await self._ask(namespace, {"running": running.text, "wanted": wanted.text})
        unknown = DocumentChange(driver=("the comparison of the documents reached a limit",))
        return answer if isinstance(answer, DocumentChange) else unknown

    async def findings(self, namespace: str, new: Mapping[str, Any]) -> Findings:
        """The problems of a resource's document, or its warnings, for a user.

        Raises:
            ValidatorLost: the document was not validated; try again.
        """
        answer = await self._ask(namespace, {"new": _document(new)})
        return answer if isinstance(answer, Findings) else Findings(problems=(refused().message,))

    async def change_warnings(
        self, namespace: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> tuple[str, ...] | None:
        """What the change from one resource to the other does, a line for each query; None if the comparison reaches a limit.

        Raises:
            ValidatorLost: the documents were not compared; try again.
        """
        answer = await self._ask(namespace, {"old": _document(old), "new": _document(new)})
        return answer if isinstance(answer, tuple) else None

    def close(self) -> None:
        """End the processes."""
        for lane in self._lanes:
            lane.writer.close()
        self._lanes = []
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    async def _ask(self, namespace: str, request: Mapping[str, Any]) -> Any:
        """The answer; None if the request reaches a limit.

        The kernel may kill a child because another process needs memory, so only a second death counts.
        """
        message = json.dumps(request).encode()
        async with self._turns.turn(namespace):
            for attempt in (1, 2):
                try:
                    return await self._answer(message)
                except _Died as died:
                    VALIDATORS_LOST.inc()
                    if died.code == -signal.SIGKILL and attempt == 2:
                        raise ValidatorLost("the kernel has killed the validation process twice") from None
                    if died.code == -signal.SIGXCPU or attempt == 2:
                        return None
        return None

    async def _answer(self, message: bytes) -> Any:
        await self.start()
        lane = self._lanes.pop()
        process = self._process
        try:
            answer = await asyncio.wait_for(_exchange(lane, message), DEADLINE_SECONDS)
        except _Died:
            self._lanes.append(lane)
            raise
        except (TimeoutError, OSError, EOFError) as error:
            if self._process is process:
                self.close()
            raise ValidatorLost(f"the validation process does not answer: {error!r}") from None
        except BaseException:
            lane.writer.close()  # its answer has not arrived yet
            if self._process is process:
                self.close()
            raise
        if self._process is process:
            self._lanes.append(lane)
        if isinstance(answer, str):
            raise ValidatorLost(answer)
        return answer

    async def _start(self) -> None:
        self.close()
        pairs = [socket.socketpair() for _ in range(LANES)]
        theirs = [their.fileno() for _, their in pairs]
        argv = [*self._command, *map(str, theirs)]
        self._process = subprocess.Popen(argv, pass_fds=theirs, start_new_session=True)  # noqa: ASYNC220
        for our, their in pairs:
            their.close()
            self._lanes.append(_Lane(*await asyncio.open_connection(sock=our)))


def _document(body: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a resource that its document consists of; before its creation it may have no name."""
    head = {"name": body["metadata"].get("name", "unnamed")}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": head, "spec": body["spec"]}


async def _exchange(lane: _Lane, message: bytes) -> Any:
    lane.sent += 1
    lane.writer.write(HEADER.pack(lane.sent, len(message)) + message)
    await lane.writer.drain()
    number, size = HEADER.unpack(await lane.reader.readexactly(HEADER.size))
    content = await lane.reader.readexactly(size)
    if number == 0:
        raise _Died(struct.unpack("!i", content)[0])
    if number != lane.sent:
        raise EOFError(f"an answer to request {number} came for request {lane.sent}")
    return pickle.loads(content)  # noqa: S301 - our own process wrote it
