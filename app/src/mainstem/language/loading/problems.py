"""Problems at their place in a document's text."""

from collections.abc import Mapping
from typing import Protocol

from mainstem.errors import Problem
from mainstem.language.loading.parameters import written_offset
from mainstem.language.yaml.yamltext import Path, YamlText, render_path


class Locate(Protocol):
    """Makes problems of one document."""

    def __call__(self, path: Path, message: str, reason: str, *, offset: int | None = None) -> Problem:
        """The problem at a path; `offset` counts characters into a text there, its parameters filled in."""


def without_text(path: Path, message: str, reason: str, *, offset: int | None = None) -> Problem:
    """The problem of a document whose text is not at hand."""
    del offset
    return Problem(0, 0, render_path(path), message, reason)


def problem_at(
    part: YamlText,
    values: Mapping[str, str],
    path: Path,
    message: str,
    reason: str,
    *,
    key: bool = False,
    warning: bool = False,
    offset: int | None = None,
) -> Problem:
    """The problem at a path of a document.

    Args:
        part: the document's text.
        values: what its parameters were filled with.
        path: where, from the document's root.
        message: what is wrong.
        reason: stable name of the broken rule.
        key: it is the key that is wrong, not the value.
        warning: it refuses nothing.
        offset: characters into the text that stands there, its parameters filled in.
    """
    line, column = part.where(path, key=key)
    spot = None
    if offset is not None:
        written = str(part.at(path))
        offset = written_offset(written, values, offset)
        line, column = part.where_in(path, written, offset)
        spot = written.count("\n", 0, offset) + 1, offset - written.rfind("\n", 0, offset)
    return Problem(line, column, render_path(path), message, reason, warning, spot)
