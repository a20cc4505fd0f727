"""The process of every command. Imports nothing slow, so that an interrupt meets a handler from the first moment."""

import errno
import os
import sys
from typing import Final

from mainstem import interrupts


_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""How a write fails where the place of the output is at fault; click sees to a pipe that is closed."""


def main() -> None:
    """The console script `mainstem`: runs the command line, and tells in one line where its output takes nothing."""
    interrupts.end_at_once()
    try:
        from mainstem.cli import main as command

        command()
    except OSError as error:
        if error.errno not in _NO_ROOM or error.filename is not None:
            raise
        _refuse_output(error)


def _refuse_output(error: OSError) -> None:
    """Tell, and exit without Python's own last flush, which would fail once more."""
    from mainstem.errors import NotReady

    refused = NotReady(f"the output cannot be written: {error.strerror}", reason="OutputNotWritable")
    os.write(2, f"error: {refused}\n".encode())
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(refused.exit_code)
