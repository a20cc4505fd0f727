"""Extracts the exception of the user's Python code from the text of Spark's exception; pure."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.dataframes.user_code.code import Frame, describe


_BEGIN: Final = "Traceback (most recent call last):"
_CHAINED: Final = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_FRAME: Final = re.compile(r'\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.+))?')
_GROUP: Final = re.compile(r"^ *(?:\| )+", re.MULTILINE)
"""The prefix that Python prints before the lines of an exception group."""
_JAVA: Final = re.compile(r"py4j\.|pyspark\.errors\.exceptions\.captured\.(?!PythonException)")
_OURS: Final = re.compile(r"mainstem\.errors\.\w+: (?P<message>.*) \[(?P<reason>\w+)\]$")
_END: Final = re.compile(r"$|\s|[+]-|: |(?:[a-z][\w$]*\.)+[A-Z]\w*: |Driver stacktrace")
"""The start of a line that does not continue an exception's message; Java's message starts with `: `."""


class Raised(NamedTuple):
    """The innermost Python exception of a text.

    Attributes:
        message: type and message, on one line.
        frames: the frames of its traceback, the innermost last.
        java: Java's message, where the exception comes from Java.
        text: its traceback as Python prints it, with the tracebacks of its causes.
    """

    message: str
    frames: tuple[Frame, ...]
    java: str | None
    text: str

    @property
    def mainstem_error(self) -> tuple[reasons.Reason, str] | None:
        """Reason and message of an error that Mainstem's own code raised; None for other exceptions."""
        match = _OURS.match(self.message)
        return (reasons.named(match["reason"]), match["message"]) if match else None

    def __str__(self) -> str:
        return describe(re.sub(r"^pyspark\.[\w.]*?(?=\w+(?:: |$))", "", self.message), self.frames)


def raised(text: str) -> Raised | None:
    """The innermost Python exception in a text; None where the text has no Python exception."""
    before, begin, rest = _GROUP.sub("", text).rpartition(_BEGIN)
    lines = rest.splitlines() if begin else []
    trace = list(takewhile(lambda line: not line.strip() or line[0].isspace(), lines))
    frames = tuple(_frames(trace))
    if not frames or len(trace) == len(lines):
        return None
    first, *more = lines[len(trace) :]
    message_lines = [first, *takewhile(lambda line: not _END.match(line), more)]
    printed = "\n".join([*_causes(before), _BEGIN, *filter(str.strip, trace), *message_lines])
    message = " ".join(message_lines)
    java = None
    if _JAVA.match(message):
        java = next(
            (line[2:] for line in more if line.startswith(": ")), message.partition(": ")[2] or message
        )
    return Raised(" ".join(message.split()), frames, java, printed)


def _causes(before: str) -> list[str]:
    """The tracebacks that Python prints before the last one."""
    if not before.rstrip().endswith(_CHAINED):
        return []
    earlier, begin, rest = before.rpartition(_BEGIN)
    return [*_causes(earlier), f"{begin}{rest}".rstrip(), ""] if begin else []


def _frames(lines: Sequence[str]) -> list[Frame]:
    matches = (_FRAME.match(line) for line in lines)
    return [Frame(match["file"], int(match["line"]), match["name"] or "") for match in matches if match]
