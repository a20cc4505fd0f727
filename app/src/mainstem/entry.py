"""The entry point of every command. It imports nothing slow, so that an interrupt has a handler from the start."""

import errno
import os
import sys
from typing import Final

from mainstem import interrupts, reasons


_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of a write to a full or broken output; click handles a closed pipe."""


def main() -> None:
    """The console script `mainstem`: runs the command line, and reports an output that cannot be written in one line."""
    interrupts.end_at_once()
    try:
        from mainstem.cli import main as command

        command()
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            raise
        _refuse_output(error)


def _refuse_output(error: OSError) -> None:
    """Report that the output cannot be written, and exit without Python's last flush, which would fail again."""
    from mainstem.errors import NotReady

    refused = NotReady(f"the output cannot be written: {error.strerror}", reason=reasons.OUTPUT_NOT_WRITABLE)
    os.write(2, f"error: {refused}\n".encode())
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(refused.exit_code)
