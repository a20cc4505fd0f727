"""Run a command and measure CPU and time of it and all its descendants: `measure.py RESULT LOG WATCHED COMMAND...`

This process is the reaper of every descendant, also of those in sessions of their own and of those whose parent has
gone, so that the kernel's count for its children is the whole tree's. The command's standard output is a terminal, as
it is for a user; what is written there goes to the log beside standard error.
"""

import ctypes
import fcntl
import json
import os
import pty
import resource
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import Final


_SET_CHILD_SUBREAPER: Final = 36
_POLL: Final = 0.005


def main() -> None:
    result, log, watched, *command = sys.argv[1:]
    signal.signal(signal.SIGINT, lambda *_: None)  # the command's to take
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    with Path(log).open("wb") as out:
        Path(result).write_text(json.dumps(_measured(command, out.fileno(), Path(watched))), encoding="utf-8")


def _measured(command: list[str], out: int, watched: Path) -> dict[str, float | None]:
    terminal, inner = _terminal()
    begun = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inner, stderr=out)
    os.close(inner)
    peaks: list[float] = []
    threading.Thread(target=_copy, args=(terminal, out), daemon=True).start()
    threading.Thread(target=_watch, args=(watched, peaks), daemon=True).start()
    ended, code, driver = _reap(child.pid)
    return {
        "exit": code,
        "wall": ended - begun,
        "cpu": _seconds(resource.getrusage(resource.RUSAGE_CHILDREN)),
        "driver": driver,
        "first": peaks[0] - begun if peaks else None,
    }


def _terminal() -> tuple[int, int]:
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
    return terminal, inner


def _copy(terminal: int, out: int) -> None:
    try:
        while text := os.read(terminal, 65536):
            os.write(out, text)
    except OSError:
        return  # the last process that had the terminal has gone


def _watch(path: Path, peaks: list[float]) -> None:
    while not path.exists():
        time.sleep(_POLL)
    peaks.append(time.monotonic())


def _reap(command: int) -> tuple[float, int, float]:
    """When the command ended, with which code and CPU-seconds of its own, once every descendant is reaped."""
    result = (0.0, -1, 0.0)
    while True:
        try:
            process, status, used = os.wait3(0)
        except ChildProcessError:
            return result
        if process == command:
            result = (time.monotonic(), os.waitstatus_to_exitcode(status), _seconds(used))


def _seconds(used: resource.struct_rusage) -> float:
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
