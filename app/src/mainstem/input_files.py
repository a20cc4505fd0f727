"""The files that a command names, of which `-` is standard input. As a `Path` it is a file of that name."""

import sys
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.errors import NotReady


STANDARD_INPUT: Final = "-"
_DESCRIPTOR: Final = 0


def shown_name(file: str | Path) -> str:
    """The name of a file in messages."""
    return "<stdin>" if file == STANDARD_INPUT else str(file)


def read_text(file: str | Path) -> str:
    """The text of a file.

    Raises:
        NotReady: the file cannot be read, or is not UTF-8 (`FileNotReadable`).
    """
    try:
        return _standard_input() if file == STANDARD_INPUT else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise NotReady(f"cannot read {shown_name(file)}: {why}", reason=reasons.FILE_NOT_READABLE) from None


def _standard_input() -> str:
    # It was closed when Python started. By now its descriptor may be that of another file, whose end never comes.
    if sys.stdin is None:
        raise OSError(0, "it is closed")
    with open(_DESCRIPTOR, encoding="utf-8", closefd=False) as file:
        return file.read()
