"""Limits of CPU time and memory for reading one document.

The rules limit what is known to grow. These limits hold for everything else: compiled libraries read the texts, and only
the end of the process stops them.
"""

import os
import pickle
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from mainstem import reasons
from mainstem.errors import Problem, SpecInvalid


CPU_SECONDS: Final = 5
"""Far more than any document that the rules accept takes."""
MEMORY_BYTES: Final = 256 * 1024 * 1024
"""In addition to the memory that the process has before it reads the document."""

_Result = TypeVar("_Result")


def too_complex(file: str = "", *, line: int = 0) -> SpecInvalid:
    """The error for a document whose reader reached a limit."""
    message = (
        f"checking the document took more than {CPU_SECONDS} seconds of CPU time or {MEMORY_BYTES >> 20} MiB of memory; "
        "split it into several pipelines, or simplify its SQL"
    )
    return SpecInvalid([Problem(line, line, "$", message, reasons.DOCUMENT_TOO_COMPLEX)], file)


def limit_memory() -> None:
    """Limit the memory of this process: beyond the limit Python raises MemoryError, or the process ends."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_cpu() -> None:
    """Limit the CPU time of this process from now on: at the limit the kernel ends it by SIGXCPU."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(usage.ru_utime + usage.ru_stime) + 1 + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def within_limits(work: Callable[[], _Result], file: str) -> _Result:
    """Run a function in a child process with limits, and return its result, which must be picklable.

    Raises:
        SpecInvalid: `DocumentTooComplex`: the child reached a limit.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        _work_in_child(work, write)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if status != 0 or not answer:
        raise too_complex(file, line=1)
    result, error = pickle.loads(answer)  # noqa: S301 - our own child wrote it
    if error is not None:
        raise RuntimeError(error)
    value: _Result = result
    return value


def _work_in_child(work: Callable[[], object], write: int) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent reports an interrupt
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        limit_memory()
        limit_cpu()
        try:
            answer = pickle.dumps((work(), None))
        except MemoryError:
            os._exit(1)
        except Exception as error:  # noqa: BLE001 - a bug of Mainstem; the parent reports it
            answer = pickle.dumps((None, f"{type(error).__name__}: {error}"))
        with os.fdopen(write, "wb") as pipe:
            pipe.write(answer)
        code = 0
    finally:
        os._exit(code)
