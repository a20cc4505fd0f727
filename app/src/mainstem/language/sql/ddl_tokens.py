"""Splits a schema in DDL into tokens, as Spark's lexer does (Spark 4.2)."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mainstem.language.sql.text import comment_end


_TOKEN: Final = re.compile(
    r"(?P<blank>[^\S\x1c-\x1f\x85]+|--(?:\\\n|[^\r\n])*)|(?P<comment>/\*)|(?P<quoted>`(?:[^`]|``)*`)"
    r"|(?P<text>[rR](?:'[^']*'|\"[^\"]*\")|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")"
    r"|(?P<word>\w+)|(?P<sign>.)",
    re.DOTALL,
)


class DdlError(ValueError):
    """Why Spark refuses a text, and where in the text, from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message, self.at = message, at


class Token(NamedTuple):
    """A part of a text: `word`, `quoted` name, `text` in quotes, `sign`, or the `end`; and where it begins, from 0."""

    kind: str
    text: str
    at: int


def tokens(ddl: str) -> Iterator[Token]:
    """The tokens of a text, without blanks and comments, which may stand within each other.

    Raises:
        DdlError: a comment does not end.
    """
    place = 0
    while match := _TOKEN.match(ddl, place):
        place = match.end()
        if match.lastgroup == "comment":
            end = comment_end(ddl, place)
            if end is None:
                raise DdlError("a comment does not end", match.start())
            place = end
        elif match.lastgroup != "blank":
            yield Token(str(match.lastgroup), match.group(), match.start())


def until_blank(following: list[Token]) -> str:
    """The texts of tokens that stand side by side."""
    text, end = "", following[0].at
    for token in following:
        if token.at != end or token.kind not in ("word", "sign") or token.text in ",:<>()":
            break
        text, end = text + token.text, token.at + len(token.text)
    return text
