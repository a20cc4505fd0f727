"""Scans a Spark SQL text: separates code from comments, strings and quoted names, and finds forbidden parts in the code.

The module uses no parser, so that no error of a parser hides a forbidden part. If the rules of Spark's lexer leave
doubt, a piece counts as code. docs/adr/0018 explains why the tokenizer of sqlglot does not replace this module.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mainstem import reasons


@dataclass(frozen=True)
class SqlRefusal:
    """The reason why a text certainly is not exactly one plain query, with its offset in the text."""

    message: str
    reason: reasons.Reason
    offset: int = 0


FORBIDDEN_FUNCTIONS: Final = frozenset({"java_method", "reflect", "try_reflect"})
FILE_FUNCTIONS: Final = frozenset({"table_changes_by_path"})
"""Table functions that read files by path, even if `spark.sql.runSQLOnFiles` is false."""
_OPENERS: Final = re.compile(r"""--|/\*(?!\+)|(?<!\w)[rR]['"]|['"`]""")
"""The beginning of a comment, a raw string, a string or a quoted name."""
_CLOSERS: Final = {
    "--": re.compile(r"[^\r\n]*"),
    "'": re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL),
    '"': re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL),
    "`": re.compile(r"(?:[^`]|``)*`"),
    "r'": re.compile(r"[^']*'"),
    'r"': re.compile(r'[^"]*"'),
}
"""Opener -> pattern of the rest of the piece."""
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
_BRACKETS: Final = re.compile(r"/\*(?!\+)|\*/")
_CALLED: Final = re.compile(r"\s*\(")
_CALL: Final = re.compile(r"[`\"]?\b(\w+)[`\"]?\s*\(")

# After the USING of a join comes a bracket; after the USING of a script a string, which is blank here.
_SCRIPT: Final = re.compile(r"\bUSING\s+(?!\s|\()", re.IGNORECASE)


@lru_cache(maxsize=256)
def code(sql: str) -> str:
    """The text with blanks in place of comments, strings and unusual quoted names; all offsets stay the same.

    It takes one pass: an opener without an end is code, and later openers of this kind are not tried again.
    """
    kept: list[str] = []
    at = search_from = 0
    unclosed: set[str] = set()
    while match := _OPENERS.search(sql, search_from):
        opener = match[0].lower()
        end = None if opener in unclosed else _end(sql, opener, match.end())
        if end is None:
            unclosed.add(opener)
            search_from = match.end()
            if opener == "/*":  # the opener itself is not code: Spark rejects the text
                kept += [sql[at : match.start()], "  "]
                at = search_from
            continue
        piece = sql[match.start() : end]
        plain = opener == "`" and re.fullmatch(r"`\w+`", piece)
        # With spark.sql.ansi.doubleQuotedIdentifiers a string can be the name of a function.
        called = opener == '"' and _CALLED.match(sql, end)
        kept += [sql[at : match.start()], piece if plain or called else re.sub(r"[^\r\n]", " ", piece)]
        at = search_from = end
    return "".join([*kept, sql[at:]])


def _end(sql: str, opener: str, start: int) -> int | None:
    """The end of the piece whose opener ends at `start`; None if the piece has no end."""
    if opener == "/*":
        return comment_end(sql, start)
    match = _CLOSERS[opener].match(sql, start)
    return match.end() if match else None


def unended(sql: str) -> str:
    """The text with blanks in place of the semicolons at its end, which Spark's parser of queries rejects."""
    text = code(sql)
    end = len(text.rstrip(" \t\r\n;"))
    return sql[:end] + "".join(" " if text[at] == ";" else sql[at] for at in range(end, len(sql)))


_TABLE: Final = re.compile(
    r"\btable\s+(?!(?:is|in|not|between|i?like|rlike|regexp|and|or|as|from|over|when|then|else|end|asc|desc|nulls|filter|div)\b)"
    r"(?=[`\w])",
    re.IGNORECASE,
)
_READS: Final = re.compile(
    # A function of a table; a relation behind FROM or JOIN, whatever its name; a relation or query in a list or in brackets.
    r"(?<!\.)\b((?:table|stream)\s*\()|\b(?:from|join|lateral)\s+((?:table|stream)(?:\s+|(?=`))[`\w])|"
    r"(?:\A|[(,]|=>|\b(?:union|except|minus|intersect|all))\s*((?:table|stream)\s+(?!(?:as|from)\b)[`\w])",
    re.IGNORECASE,
)
_WATERMARK: Final = re.compile(r"(?<![\w.])watermark\b(?!`)", re.IGNORECASE)
_DELAY: Final = re.compile(r"\bdelay\s+of\b", re.IGNORECASE)
_BEFORE_QUERY: Final = re.compile(
    r"(?:\A|\b(?:union|except|minus|intersect)(?:\s+(?:all|distinct))?|(?:\A|[^\w`\s]|\b(?:as|in|exists|from|join))\s*\()"
    r"[\s(]*\Z",
    re.IGNORECASE,
)


def table_queries(sql: str) -> list[tuple[int, int]]:
    """The offsets of TABLE and of the name in each query `TABLE t`, which means `SELECT * FROM t`.

    >>> table_queries("TABLE a UNION ALL (TABLE b)")
    [(0, 6), (19, 25)]
    """
    text = code(sql)
    matches = ((match.start(), match.end()) for match in _TABLE.finditer(text))
    return [(start, end) for start, end in matches if _BEFORE_QUERY.search(text[:start])]


def unread_relation(sql: str) -> int | None:
    """The offset at which the text may read a relation that sqlglot does not find: by TABLE(t), STREAM t, or t WATERMARK ... DELAY OF.

    None if there is none.
    """
    match = _READS.search(code(sql))
    return match.start(match.lastindex or 0) if match else _watermark(sql)


def has_watermark(sql: str) -> bool:
    """Whether the text may have a watermark of its own."""
    return _watermark(sql) is not None


def _watermark(sql: str) -> int | None:
    """The offset of the first WATERMARK that is followed by DELAY OF; in time that grows with the text alone."""
    match = _WATERMARK.search(code(sql))
    return match.start() if match and _DELAY.search(code(sql), match.end()) else None


def statement(sql: str) -> SqlRefusal | None:
    """The refusal of a text that is a statement, several statements, or empty; None for any other text."""
    text = code(sql)
    if match := _STATEMENTS.match(text):
        return _no_query(match)
    starts = [match.start() for match in re.finditer(r"[^;\s][^;]*", text)]
    if not starts:
        return SqlRefusal("the text is empty; a view is exactly one query", reasons.NOT_A_QUERY)
    if len(starts) > 1:
        message = f"the text has {len(starts)} statements; a view is exactly one query"
        return SqlRefusal(message, reasons.NOT_A_QUERY, starts[1])
    top = _top_level(text)
    if match := _BEHIND_WITH.match(top) or _BEHIND_FROM.match(top):
        return _no_query(match)
    return None


def order_by(sql: str) -> int:
    """The offset of the last ORDER BY outside of brackets, which sorts the whole result; 0 without one."""
    matches = list(re.finditer(r"\border\s+by\b", _top_level(code(sql)), re.IGNORECASE))
    return matches[-1].start() if matches else 0


def forbidden_calls(sql: str) -> Iterator[SqlRefusal]:
    """Calls of functions that use the driver or its files, and names that only Spark can compute."""
    for match in _CALL.finditer(code(sql)):
        name = match[1].lower()
        if name in FORBIDDEN_FUNCTIONS:
            message = (
                f"the function {name} is not allowed, because it calls code in the driver's JVM; remove it"
            )
            yield SqlRefusal(message, reasons.FORBIDDEN_FUNCTION, match.start())
        elif name in FILE_FUNCTIONS:
            message = (
                f"{name} reads files by path; add a delta source with readChangeFeed for the table instead"
            )
            yield SqlRefusal(message, reasons.FILE_IN_SQL, match.start())
        elif name == "identifier":
            message = "IDENTIFIER(...) is not allowed, because it hides the name of a relation or function; write the name"
            yield SqlRefusal(message, reasons.FORBIDDEN_FUNCTION, match.start())
    for match in _SCRIPT.finditer(code(sql)):
        message = "TRANSFORM ... USING is not allowed, because it runs a command on the machine; remove it"
        yield SqlRefusal(message, reasons.FORBIDDEN_FUNCTION, match.start())


def _no_query(match: re.Match[str]) -> SqlRefusal:
    message = f"{match[1].upper()} is a statement; a view is exactly one query"
    return SqlRefusal(message, reasons.NOT_A_QUERY, match.start(1))


def comment_end(sql: str, start: int) -> int | None:
    """The end of a bracketed comment; comments nest. None for a comment without an end, which Spark rejects."""
    depth = 1
    for match in _BRACKETS.finditer(sql, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return None


@lru_cache(maxsize=256)
def _top_level(text: str) -> str:
    """The text with blanks in place of everything in brackets."""
    depth, kept = 0, []
    for letter in text:
        depth -= letter == ")"
        kept.append(letter if depth <= 0 else " ")
        depth += letter == "("
    return "".join(kept)
