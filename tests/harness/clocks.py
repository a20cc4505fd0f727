"""Processes whose wall clock is wrong, as on a machine without a time server."""

import subprocess
from pathlib import Path
from typing import IO

from harness.cache import build_once, content_hash
from harness.errors import HarnessError


SOURCE = Path(__file__).with_name("clock_shift.c")
_LIBRARY = "clock_shift.so"
HOUR = 3600


def shifted(seconds: int) -> dict[str, str]:
    """Variables of a process whose wall clock is ahead by so many seconds, and of all processes that it starts.

    Its monotonic clocks, the clocks of other machines and the times of files stay right.
    """
    library = build_once("clocks", content_hash(SOURCE), _build).path / _LIBRARY
    return {"LD_PRELOAD": str(library), "CLOCK_SHIFT_SECONDS": str(seconds)}


def _build(folder: Path, log: IO[str]) -> None:
    argv = ["cc", "-shared", "-fPIC", "-O2", "-o", str(folder / _LIBRARY), str(SOURCE), "-ldl"]
    try:
        subprocess.run(argv, stdout=log, stderr=log, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise HarnessError(f"the library that shifts clocks cannot be built: {error}") from error
