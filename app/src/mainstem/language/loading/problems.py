"""Creates problems with their line and column in a document's text."""

from collections.abc import Mapping
from typing import Protocol

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.parameters import written_offset
from mainstem.language.yaml.yamltext import Path, YamlText, render_path


class Locate(Protocol):
    """Creates problems of one document."""

    def __call__(
        self, path: Path, message: str, reason: reasons.Reason, *, offset: int | None = None
    ) -> Problem:
        """The problem at a path; `offset` is the position in the text there, with its parameters filled in."""


def without_text(path: Path, message: str, reason: reasons.Reason, *, offset: int | None = None) -> Problem:
    """The problem of a document without its text, so without line and column."""
    del offset
    return Problem(0, 0, render_path(path), message, reason)


def problem_at(
    part: YamlText,
    values: Mapping[str, str],
    path: Path,
    message: str,
    reason: reasons.Reason,
    *,
    key: bool = False,
    warning: bool = False,
    offset: int | None = None,
) -> Problem:
    """The problem at a path of a document.

    Args:
        part: the document's text.
        values: the values of its parameters.
        path: the path from the document's root.
        message: what is wrong.
        reason: stable name of the broken rule.
        key: the key is wrong, not the value.
        warning: the document is valid in spite of the problem.
        offset: the position in the text at the path, with its parameters filled in.
    """
    line, column = part.where(path, key=key)
    spot = None
    if offset is not None:
        written = str(part.at(path))
        offset = written_offset(written, values, offset)
        line, column = part.where_in(path, written, offset)
        spot = written.count("\n", 0, offset) + 1, offset - written.rfind("\n", 0, offset)
    return Problem(line, column, render_path(path), message, reason, warning, spot)
