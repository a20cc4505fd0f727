"""What the user's Python code raised in a batch, out of the text of Spark's exception; pure."""

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Final

from mainstem.build.code import OURS


_BEGIN: Final = "Traceback (most recent call last):"
_FRAME: Final = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)', re.MULTILINE)
_JAVA: Final = re.compile(r"py4j\.|pyspark\.errors\.exceptions\.captured\.(?!PythonException)")
_SAID: Final = re.compile(r"^[A-Za-z_][\w.]*(?:: .*)?$", re.MULTILINE)


def told(text: str) -> str | None:
    """The innermost exception of Python's with the user's lines that led to it; None where there is none of theirs, or
    where it is Java's own, which says more itself.
    """
    _, begin, innermost = text.rpartition(_BEGIN)
    frames = list(_own(innermost)) if begin else []
    last = list(_FRAME.finditer(innermost))
    said = _SAID.search(innermost, last[-1].end()) if last else None
    if not frames or said is None or _JAVA.match(said[0]):
        return None
    return f"{said[0]} ({', '.join(frames[-4:])})"


def _own(text: str) -> Iterator[str]:
    for match in _FRAME.finditer(text):
        if not OURS.search(match["file"]):
            yield f"{PurePath(match['file']).name}:{match['line']} in {match['name']}"
