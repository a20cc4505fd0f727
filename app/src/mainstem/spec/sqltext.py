"""The letters of a Spark SQL text: what is code, what is comment, string or quoted name.

No parser is asked here, so no parser can miss what is looked for. Where the rules of Spark's lexer leave doubt, a piece
counts as code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Refusal:
    """Why a text is certainly not one plain query, at an offset of it."""

    message: str
    reason: str
    offset: int = 0


FORBIDDEN_FUNCTIONS: Final = frozenset({"java_method", "reflect", "try_reflect"})
_PIECES: Final = re.compile(
    r"""
      (?P<comment> --[^\r\n]* )
    | (?P<open> /\*(?!\+) )
    | (?P<string> (?<!\w)[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<name> `(?:[^`]|``)*` )
    """,
    re.DOTALL | re.VERBOSE,
)
_STATEMENTS: Final = re.compile(
    r"\s*(add|alter|analyze|begin|cache|call|clear|comment|convert|create|declare|delete|desc|describe|drop|execute|"
    r"explain|export|fsck|generate|grant|import|insert|list|load|lock|merge|msck|optimize|refresh|reorg|repair|replace|"
    r"reset|restore|revoke|set|show|truncate|uncache|undrop|unlock|update|use|vacuum)\b",
    re.IGNORECASE,
)
_CTE: Final = r"[\w`]+\s*(?:\(\s*\)\s*)?(?:max\s+recursion\s+level\s+\d+\s*)?(?:as\s*)?\(\s*\)"
_BEHIND_WITH: Final = re.compile(
    rf"\s*with\s+(?:recursive\s+)?{_CTE}(?:\s*,\s*{_CTE})*\s*(insert|update|delete|merge)\b", re.IGNORECASE
)
_BEHIND_FROM: Final = re.compile(
    r"\s*from\b.*?\b(insert)\s+(?:into|overwrite)\s+(?!(?:from|where|group|having|order|limit)\b)\w",
    re.IGNORECASE | re.DOTALL,
)
_CALL: Final = re.compile(r"[`\"]?\b(\w+)[`\"]?\s*\(")

# A join's USING is followed by a bracket; a script's by a string, which is blanked out.
_SCRIPT: Final = re.compile(r"\bUSING\s+(?!\s|\()", re.IGNORECASE)


def code(sql: str) -> str:
    """The text with comments, strings and odd quoted names blanked out; every offset stays what it was."""
    kept, at = [], 0
    while match := _PIECES.search(sql, at):
        end = _comment_end(sql, match.start()) if match["open"] else match.end()
        piece = sql[match.start() : end]
        plain = match["name"] is not None and re.fullmatch(r"`\w+`", piece)
        # With spark.sql.ansi.doubleQuotedIdentifiers, a string can be a function's name.
        called = match["string"] is not None and piece[0] == '"' and re.match(r"\s*\(", sql[end:])
        kept += [sql[at : match.start()], piece if plain or called else re.sub(r"[^\r\n]", " ", piece)]
        at = end
    return "".join([*kept, sql[at:]])


def unended(sql: str) -> str:
    """The text with the semicolons at its end blanked out, which Spark's parser of queries does not take."""
    text = code(sql)
    end = len(text.rstrip(" \t\r\n;"))
    return sql[:end] + "".join(" " if text[at] == ";" else sql[at] for at in range(end, len(sql)))


def has_word(sql: str, *words: str) -> bool:
    """True where one of the words stands in the code of the text."""
    return re.search(rf"\b(?:{'|'.join(words)})\b", code(sql), re.IGNORECASE) is not None


def statement(sql: str) -> Refusal | None:
    """The refusal of a text that is a statement, by its first words or what follows them, or that is not one."""
    text = code(sql)
    if match := _STATEMENTS.match(text):
        return _no_query(match)
    starts = [match.start() for match in re.finditer(r"[^;\s][^;]*", text)]
    if not starts:
        return Refusal("holds no query", "NotAQuery")
    if len(starts) > 1:
        message = f"holds {len(starts)} statements; a view is exactly one query"
        return Refusal(message, "NotAQuery", starts[1])
    top = _top_level(text)
    if match := _BEHIND_WITH.match(top) or _BEHIND_FROM.match(top):
        return _no_query(match)
    return None


def order_by(sql: str) -> int:
    """Where the whole result is sorted: the last ORDER BY outside of brackets, or the start."""
    found = list(re.finditer(r"\border\s+by\b", _top_level(code(sql)), re.IGNORECASE))
    return found[-1].start() if found else 0


def forbidden_calls(sql: str) -> Iterator[Refusal]:
    """Functions that reach out of the query into the driver, and names that are only known once computed."""
    for match in _CALL.finditer(code(sql)):
        name = match[1].lower()
        if name in FORBIDDEN_FUNCTIONS:
            message = f"the function {name} is refused: it calls into the driver's JVM"
            yield Refusal(message, "ForbiddenFunction", match.start())
        elif name == "identifier":
            message = (
                "IDENTIFIER(...) is refused: it hides which relation or function is meant; write the name"
            )
            yield Refusal(message, "ForbiddenFunction", match.start())
    for match in _SCRIPT.finditer(code(sql)):
        message = "TRANSFORM ... USING is refused: it runs a command of the machine's"
        yield Refusal(message, "ForbiddenFunction", match.start())


def _no_query(match: re.Match[str]) -> Refusal:
    message = f"{match[1].upper()} is a statement; a view is exactly one query"
    return Refusal(message, "NotAQuery", match.start(1))


def _comment_end(sql: str, start: int) -> int:
    """Where a bracketed comment ends; they nest. One that is never closed is no comment."""
    depth = 0
    for match in re.compile(r"/\*(?!\+)|\*/").finditer(sql, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return start + 2


def _top_level(text: str) -> str:
    """The text with what stands in brackets blanked out."""
    depth, kept = 0, []
    for letter in text:
        depth -= letter == ")"
        kept.append(letter if depth <= 0 else " ")
        depth += letter == "("
    return "".join(kept)
