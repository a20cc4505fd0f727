"""What one document may cost: CPU time and memory of the process that reads it.

The rules bound what is known to grow. These limits hold for the rest: libraries that read texts are compiled code, which
nothing but the end of its process stops.
"""

import os
import pickle
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from mainstem.errors import Problem, SpecInvalid


CPU_SECONDS: Final = 5
"""Far more than any document takes that the rules accept."""
MEMORY_BYTES: Final = 256 * 1024 * 1024
"""Beyond what the process has before it reads the document."""

_Result = TypeVar("_Result")


def too_complex(file: str = "", *, line: int = 0) -> SpecInvalid:
    """The refusal of a document whose reader reached a limit."""
    message = (
        f"checking the document took more than {CPU_SECONDS} seconds of CPU time or {MEMORY_BYTES >> 20} MiB of memory; "
        "make it several pipelines, or simplify its SQL"
    )
    return SpecInvalid([Problem(line, line, "$", message, "DocumentTooComplex")], file)


def limit_memory() -> None:
    """Let this process have so much memory and no more: beyond it Python raises MemoryError, or the process dies."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_cpu() -> None:
    """Let this process have so much CPU time from now on: then the kernel ends it by SIGXCPU."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(usage.ru_utime + usage.ru_stime) + 1 + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def within_limits(work: Callable[[], _Result], file: str) -> _Result:
    """The result of some work, done in a child of this process with limits; the result is pickled.

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
    found: _Result = result
    return found


def _work_in_child(work: Callable[[], object], write: int) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent tells of an interrupt
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        limit_memory()
        limit_cpu()
        try:
            answer = pickle.dumps((work(), None))
        except MemoryError:
            os._exit(1)
        except Exception as error:  # noqa: BLE001 - a fault of Mainstem; the parent reports it
            answer = pickle.dumps((None, f"{type(error).__name__}: {error}"))
        with os.fdopen(write, "wb") as pipe:
            pipe.write(answer)
        code = 0
    finally:
        os._exit(code)
