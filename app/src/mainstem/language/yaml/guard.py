"""Rejects YAML texts that are too deep or too large, and tags and control characters, before the text is composed.

PyYAML composes recursively in C, so a text with endless nesting must never reach that step.
"""

import re
from typing import Any, Final

import yaml

from mainstem import reasons
from mainstem.errors import Problem, SpecInvalid


MAX_DEPTH: Final = 64
MAX_VALUES: Final = 50_000
_STRING_TAGS: Final = ("!", "tag:yaml.org,2002:str")
NOT_IN_YAML: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
)
"""Characters that YAML does not have; JSON has most of them in strings."""
_NEEDS_QUOTES: Final = "@`%"


def guard(text: str, loader: Any) -> frozenset[int]:
    """The offsets of scalars that have a string tag.

    Args:
        text: the YAML text.
        loader: the class of the loader that parses it.

    Raises:
        SpecInvalid: the text is not YAML, or exceeds the limits of a document.
    """
    if match := NOT_IN_YAML.search(text):
        message = f"not YAML: the control character U+{ord(match[0]):04X}"
        raise SpecInvalid([_at(text.count("\n", 0, match.start()), match.start() - text.rfind("\n", 0, match.start()) - 1, message)])  # fmt: skip
    depth, values, strings = 0, 0, set()
    try:
        for event in yaml.parse(text, loader):
            start: Any = event.start_mark
            values += isinstance(event, yaml.NodeEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH or values > MAX_VALUES:
                message = (
                    f"the document is nested deeper than {MAX_DEPTH} levels"
                    if depth > MAX_DEPTH
                    else f"the document has more than {MAX_VALUES} values"
                )
                raise SpecInvalid([_at(start.line, start.column, message)])
            tag = getattr(event, "tag", None)
            if tag is not None and not (isinstance(event, yaml.ScalarEvent) and tag in _STRING_TAGS):
                name = tag.replace("tag:yaml.org,2002:", "!!")
                raise SpecInvalid(
                    [_at(start.line, start.column, f"the tag {name} has no meaning here; remove it")]
                )
            if tag is not None:
                strings.add(start.index)
    except yaml.MarkedYAMLError as error:
        raise SpecInvalid([marked_problem(text, error)]) from None
    except yaml.YAMLError as error:
        raise SpecInvalid([_at(0, 0, f"not YAML: {error}")]) from None
    return frozenset(strings)


def marked_problem(text: str, error: yaml.MarkedYAMLError) -> Problem:
    """The error of the YAML parser with its context and a correction."""
    mark, context = error.problem_mark or error.context_mark, error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    began = f", {error.context} that begins in line {context.line + 1}" if error.context and context and context.line != line else ""  # fmt: skip
    lines = text.splitlines() or [""]
    if line >= len(lines):  # the position is behind the end of the file
        line, column = len(lines) - 1, len(lines[-1])
    letter = lines[line][column : column + 1]
    return _at(line, column, f"not YAML: {error.problem}{began}{_remedy(str(error.problem), letter)}")


def _remedy(problem: str, letter: str) -> str:
    if "cannot start any token" in problem:
        if letter == "\t":
            return "; this is a tab, indent YAML with spaces"
        return f"; put a value that starts with {letter} in quotes" if letter in _NEEDS_QUOTES else ""
    if "mapping values are not allowed" in problem:
        return "; put a value that holds ': ' in quotes, and check the indentation"
    if "expected ',' or" in problem:
        return "; a bracket is not closed, or a value that holds ${, a bracket or a comma needs quotes"
    return ""


def _at(line: int, column: int, message: str) -> Problem:
    return Problem(line + 1, column + 1, "$", message, reasons.INVALID_YAML)
