"""`mainstem run` as a user starts it: a process of its own, whose output a test reads and which it stops or kills."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Self

from harness.errors import HarnessError
from harness.java import SHORT_LIVED
from harness.process import die_with_parent
from harness.waiting import asked


class DriverProcess:
    """One run of a document.

    Args:
        document: the file.
        folder: where the run's logs and report go; also its working directory.
        sets: parameters.
        arguments: further arguments of `mainstem run`.
        env: variables beside those of this process, and beside what a JVM of minutes is best served by.
        program: what Python runs, in place of the module `mainstem`.
    """

    def __init__(
        self,
        document: Path,
        folder: Path,
        *,
        sets: Mapping[str, str] | None = None,
        arguments: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        program: tuple[str, ...] = ("-m", "mainstem"),
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.report = folder / "report.json"
        pairs = [f"--set={name}={value}" for name, value in (sets or {}).items()]
        self.argv = self.command(document, folder, *pairs, *arguments, program=program)
        self.progress: list[dict[str, Any]] = []
        self.stdout: list[str] = []
        self._stderr = folder / "stderr.log"
        with self._stderr.open("ab") as log:
            self.process = subprocess.Popen(
                [*die_with_parent(), *self.argv],
                cwd=folder,
                env={**os.environ, **SHORT_LIVED, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @staticmethod
    def command(
        document: Path, folder: Path, *arguments: str, program: tuple[str, ...] = ("-m", "mainstem")
    ) -> list[str]:
        """The command line of a run that leaves its report in a folder."""
        report = f"--report={folder / 'report.json'}"
        return [sys.executable, *program, "run", str(document), report, *arguments]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.kill()

    @property
    def stderr(self) -> str:
        """All that was written to standard error, by earlier runs in the same folder too."""
        return self._stderr.read_text(encoding="utf-8", errors="replace")

    def wait(self, within: float) -> int:
        """The exit code.

        Raises:
            HarnessError: it did not end in time; it is killed, and the message has the end of its log.
        """
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise HarnessError(
                f"mainstem run did not end within {within:g} s\n{self.stderr[-4000:]}"
            ) from None
        self._reader.join(30)
        return code

    def until(self, holds: Callable[[], bool], within: float, pause: float = 0.05) -> None:
        """Wait until something holds while the run lives.

        Raises:
            HarnessError: the run ended, or the time is over.
        """

        def holds_or_ended() -> bool:
            if holds():
                return True
            if self.process.poll() is not None:
                raise HarnessError(
                    f"mainstem run ended with {self.process.returncode}\n{self.stderr[-4000:]}"
                )
            return False

        if not asked(within, holds_or_ended, pause):
            self.kill()
            raise HarnessError(f"nothing of it within {within:g} s\n{self.stderr[-4000:]}")

    def executors(self) -> list[int]:
        """Process ids of its executors, where they are processes of their own."""
        return [
            pid
            for pid in descendants(self.process.pid)
            if b"CoarseGrainedExecutorBackend" in command_line(pid)
        ]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the driver alone."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL to the driver and all it started, the JVM first; nothing where it has ended."""
        if self.process.poll() is not None:
            return
        for pid in reversed([self.process.pid, *descendants(self.process.pid)]):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(60)
        self._reader.join(30)

    def final(self) -> dict[str, Any]:
        """The report that the run wrote at its end."""
        report: dict[str, Any] = json.loads(self.report.read_text(encoding="utf-8"))
        return report

    def _read(self) -> None:
        if self.process.stdout is None:
            return
        with self.process.stdout as pipe:
            self._take(pipe)

    def _take(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            text = line.decode("utf-8", errors="replace").rstrip("\n")
            self.stdout.append(text)
            if text.startswith('{"event": "progress"'):
                self.progress.append(json.loads(text))


def command_line(pid: int) -> bytes:
    """The command line of a process, its words ended by zero bytes; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def descendants(pid: int) -> list[int]:
    """Process ids below one, parents before children; by /proc, because the JVM leads a session of its own."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    processes, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        processes += below
        todo += below
    return processes
