"""Mistakes in Spark's datetime patterns, such as `yyyy-MM-dd HH:mm:ss`: where each is, and what to write instead.

Sources: the page "Datetime Patterns for Formatting and Parsing" of Spark's SQL reference; Spark's DateTimeFormatterHelper,
which rejects some of Java's letters; Java's DateTimeFormatterBuilder.appendPattern, which parses all others.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class PatternFault(NamedTuple):
    """A mistake in a pattern.

    Attributes:
        offset: number of characters before the mistake.
        message: what is wrong, and what to write.
        certain: True if Spark rejects the pattern; False if Spark accepts it, but probably reads or writes wrong times.
    """

    offset: int
    message: str
    certain: bool = True


class _Run(NamedTuple):
    """A letter and how often it is repeated."""

    offset: int
    letter: str
    number: int

    def __str__(self) -> str:
        return self.letter * self.number


_TOKEN: Final = re.compile(r"'(?:[^']|'')*(?P<end>'|$)|(?P<letter>[A-Za-z])(?P=letter)*|.", re.DOTALL)
_INSTEAD: Final = {
    "Y": "use y for the year",
    "u": "use E for the day of the week, when writing",
    "w": "use weekofyear(...) in a view for the week",
    "W": "use weekofyear(...) in a view for the week",
    "e": "use E for the day of the week, when writing",
    "c": "use E for the day of the week, when writing",
    "T": "quote a literal letter: 'T'",
    "A": "use S for the fraction of a second",
    "n": "use S for the fraction of a second",
    "N": "use S for the fraction of a second",
}
_OFFSETS: Final = "XxZOz"
"""Letters of an offset; the zone's name of `V` is the same in both hours of a repeated one."""
_WRITING_ONLY: Final = "EFqQ"
"""Letters that Spark accepts for writing only."""


def _up_to(maximum: int) -> Callable[[int], bool]:
    return lambda count: count <= maximum


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
"""How often each letter may be repeated: a test, and the allowed numbers in words."""


def faults(pattern: str, *, parsing: bool) -> list[PatternFault]:
    """The mistakes in a pattern, in its order.

    Args:
        pattern: the value of the option.
        parsing: True for reading, False for writing.

    >>> [fault.message for fault in faults("YYYY-MM-dd", parsing=True)]
    ["'Y' is not a pattern letter of Spark; use y for the year"]
    """
    runs: list[_Run] = []
    mistakes: list[PatternFault] = []
    opened = 0
    for match in _TOKEN.finditer(pattern):
        text, offset = match[0], match.start()
        if match["letter"]:
            runs.append(_Run(offset, match["letter"], len(text)))
        elif match["end"] == "":
            mistakes.append(PatternFault(offset, "the quote ' is not closed; write '' for a literal quote"))
        elif text in "{}#":
            mistakes.append(PatternFault(offset, f"{text!r} is reserved; quote it: '{text}'"))
        elif text in "[]":
            opened += 1 if text == "[" else -1
            if opened < 0:
                mistakes.append(PatternFault(offset, "']' has no '[' before it; '[' opens an optional part"))
                opened = 0
    mistakes += [fault for run in runs for fault in _letter_faults(run, parsing=parsing)]
    return sorted([*mistakes, *_unlikely(runs)])


def _letter_faults(run: _Run, *, parsing: bool) -> Iterator[PatternFault]:
    if run.letter not in _COUNTS:
        instead = _INSTEAD.get(run.letter, f"quote a literal letter: '{run.letter}'")
        yield PatternFault(run.offset, f"{run.letter!r} is not a pattern letter of Spark; {instead}")
    elif parsing and run.letter in _WRITING_ONLY:
        yield PatternFault(run.offset, f"Spark writes {run.letter!r}, but cannot read it; remove it")
    elif not _COUNTS[run.letter][0](run.number):
        allowed = _COUNTS[run.letter][1]
        message = f"Spark does not accept {run.number} times {run.letter!r}; the allowed number is {allowed}"
        yield PatternFault(run.offset, message)


def _unlikely(runs: list[_Run]) -> Iterator[PatternFault]:
    """Letters that Spark accepts, and that people often confuse with others."""
    letters = {run.letter for run in runs}
    for run in runs:
        if run.letter == "D" and letters & set("ML"):
            yield PatternFault(
                run.offset,
                f"{str(run)!r} is the day of the year; use d for the day of the month",
                certain=False,
            )
        if run.letter in "hK" and "a" not in letters:
            message = f"{str(run)!r} is an hour of a half day, and the pattern has no a for AM or PM; add a, or use HH for 0 to 23"
            yield PatternFault(run.offset, message, certain=False)


def has_offset(pattern: str) -> bool:
    """Whether a time that is written with the pattern has its offset from UTC."""
    letters = {match["letter"] for match in _TOKEN.finditer(pattern)}
    return not letters.isdisjoint(_OFFSETS)
