"""Spark's patterns of dates and times, such as `yyyy-MM-dd HH:mm:ss`: which it refuses, where, and what to write instead.

Source: the page "Datetime Patterns for Formatting and Parsing" of Spark's SQL reference, Spark's DateTimeFormatterHelper,
which refuses letters of Java's, and Java's DateTimeFormatterBuilder.appendPattern, which reads the rest.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class PatternFault(NamedTuple):
    """What is wrong in a pattern.

    Attributes:
        offset: characters before it.
        message: what is wrong, and what to write.
        certain: whether Spark refuses the pattern; otherwise it takes it and reads or writes other times than are meant.
    """

    offset: int
    message: str
    certain: bool = True


class _Run(NamedTuple):
    """The same letter, so many times."""

    offset: int
    letter: str
    number: int

    def __str__(self) -> str:
        return self.letter * self.number


_TOKEN: Final = re.compile(r"'(?:[^']|'')*(?P<end>'|$)|(?P<letter>[A-Za-z])(?P=letter)*|.", re.DOTALL)
_INSTEAD: Final = {
    "Y": "y is the year",
    "u": "E is the day of the week, and only for writing",
    "w": "a view can take the week from the date: weekofyear(...)",
    "W": "a view can take the week from the date: weekofyear(...)",
    "e": "E is the day of the week, and only for writing",
    "c": "E is the day of the week, and only for writing",
    "T": "a letter that stands for itself is quoted: 'T'",
    "A": "S is the fraction of a second",
    "n": "S is the fraction of a second",
    "N": "S is the fraction of a second",
}
_WRITING_ONLY: Final = "EFqQ"
"""Spark writes these and does not read them."""


def _up_to(most: int) -> Callable[[int], bool]:
    return lambda count: count <= most


def _one_of(*counts: int) -> Callable[[int], bool]:
    return lambda count: count in counts


_COUNTS: Final[dict[str, tuple[Callable[[int], bool], str]]] = {
    **dict.fromkeys("qGMLEQ", (_up_to(4), "at most 4")),
    "y": (_up_to(6), "at most 6"),
    **dict.fromkeys("dhHkKms", (_up_to(2), "1 or 2")),
    "D": (_up_to(3), "at most 3"),
    "S": (_up_to(9), "at most 9"),
    **dict.fromkeys("aF", (_one_of(1), "1")),
    "z": (_up_to(4), "at most 4"),
    "V": (_one_of(2), "2"),
    **dict.fromkeys("vO", (_one_of(1, 4), "1 or 4")),
    **dict.fromkeys("XxZ", (_up_to(5), "at most 5")),
    "g": (_up_to(19), "at most 19"),
}
"""How many of each letter Spark takes."""


def faults(pattern: str, *, parsing: bool) -> list[PatternFault]:
    """What is wrong in a pattern, in its order.

    Args:
        pattern: as the option has it.
        parsing: True for reading, False for writing.

    >>> [fault.message for fault in faults("YYYY-MM-dd", parsing=True)]
    ["Spark has no letter 'Y' here; y is the year"]
    """
    runs: list[_Run] = []
    found: list[PatternFault] = []
    opened = 0
    for match in _TOKEN.finditer(pattern):
        text, offset = match[0], match.start()
        if match["letter"]:
            runs.append(_Run(offset, match["letter"], len(text)))
        elif match["end"] == "":
            found.append(PatternFault(offset, "the quote ' is not closed; two of them stand for one"))
        elif text in "{}#":
            found.append(PatternFault(offset, f"{text!r} is reserved; quote it: '{text}'"))
        elif text in "[]":
            opened += 1 if text == "[" else -1
            if opened < 0:
                found.append(PatternFault(offset, "']' closes nothing; '[' opens an optional part"))
                opened = 0
    found += [fault for run in runs for fault in _of_run(run, parsing=parsing)]
    return sorted([*found, *_unlikely(runs)])


def _of_run(run: _Run, *, parsing: bool) -> Iterator[PatternFault]:
    if run.letter not in _COUNTS:
        instead = _INSTEAD.get(run.letter, f"a letter that stands for itself is quoted: '{run.letter}'")
        yield PatternFault(run.offset, f"Spark has no letter {run.letter!r} here; {instead}")
    elif parsing and run.letter in _WRITING_ONLY:
        yield PatternFault(run.offset, f"Spark writes {run.letter!r} and does not read it; leave it out")
    elif not _COUNTS[run.letter][0](run.number):
        many = f"{run.number} times {run.letter!r}"
        yield PatternFault(
            run.offset, f"{many} is not a number of letters that Spark takes; {_COUNTS[run.letter][1]}"
        )


def _unlikely(runs: list[_Run]) -> Iterator[PatternFault]:
    """Letters that Spark takes and that rarely mean what is meant."""
    letters = {run.letter for run in runs}
    for run in runs:
        if run.letter == "D" and letters & set("ML"):
            yield PatternFault(
                run.offset, f"{str(run)!r} is the day of the year; d is that of the month", certain=False
            )
        if run.letter in "hK" and "a" not in letters:
            message = f"{str(run)!r} is an hour before or after noon, and no a says which; HH counts to 23"
            yield PatternFault(run.offset, message, certain=False)
