"""Runs a command beside a load on each core, as on a machine with busy neighbours: `python -m harness.load COMMAND ...`."""

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


LONGEST = 3 * 3600.0
"""Seconds after which a load ends by itself."""


@contextmanager
def load(processes: int) -> Iterator[None]:
    """So many processes compute without a pause. They end with the block, or with the process that started them."""
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_compute, args=(os.getpid(),), daemon=True) for _ in range(processes)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _compute(parent: int) -> None:
    end = time.monotonic() + LONGEST
    while time.monotonic() < end and os.getppid() == parent:
        sum(range(100_000))


def main(command: list[str]) -> int:
    """The exit code of the command."""
    with load(os.cpu_count() or 1):
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
