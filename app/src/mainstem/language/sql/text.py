"""The letters of a Spark SQL text: what is code, what is comment, string or quoted name.

No parser is asked here, so no parser can miss what is looked for. Where the rules of Spark's lexer leave doubt, a piece
counts as code.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True)
class SqlRefusal:
    """Why a text is certainly not one plain query, at an offset of it."""

    message: str
    reason: str
    offset: int = 0


FORBIDDEN_FUNCTIONS: Final = frozenset({"java_method", "reflect", "try_reflect"})
FILE_FUNCTIONS: Final = frozenset({"table_changes_by_path"})
"""Table functions that read files by their path, whatever `spark.sql.runSQLOnFiles` says."""
_OPENERS: Final = re.compile(r"""--|/\*(?!\+)|(?<!\w)[rR]['"]|['"`]""")
"""How a comment, a raw string, a string or a quoted name begins."""
_CLOSERS: Final = {
    "--": re.compile(r"[^\r\n]*"),
    "'": re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL),
    '"': re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL),
    "`": re.compile(r"(?:[^`]|``)*`"),
    "r'": re.compile(r"[^']*'"),
    'r"': re.compile(r'[^"]*"'),
}
"""Opener -> what follows it, up to its end."""
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

# A join's USING is followed by a bracket; a script's by a string, which is blanked out.
_SCRIPT: Final = re.compile(r"\bUSING\s+(?!\s|\()", re.IGNORECASE)


@lru_cache(maxsize=256)
def code(sql: str) -> str:
    """The text with comments, strings and odd quoted names blanked out; every offset stays what it was.

    One pass: an opener that is never closed is code, and then no later one of its kind is tried again.
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
            if opener == "/*":  # no code either: Spark refuses the text
                kept += [sql[at : match.start()], "  "]
                at = search_from
            continue
        piece = sql[match.start() : end]
        plain = opener == "`" and re.fullmatch(r"`\w+`", piece)
        # With spark.sql.ansi.doubleQuotedIdentifiers, a string can be a function's name.
        called = opener == '"' and _CALLED.match(sql, end)
        kept += [sql[at : match.start()], piece if plain or called else re.sub(r"[^\r\n]", " ", piece)]
        at = search_from = end
    return "".join([*kept, sql[at:]])


def _end(sql: str, opener: str, behind: int) -> int | None:
    """Where the piece ends whose opener ends at `behind`; None where it is never closed."""
    if opener == "/*":
        return _comment_end(sql, behind)
    match = _CLOSERS[opener].match(sql, behind)
    return match.end() if match else None


def unended(sql: str) -> str:
    """The text with the semicolons at its end blanked out, which Spark's parser of queries does not take."""
    text = code(sql)
    end = len(text.rstrip(" \t\r\n;"))
    return sql[:end] + "".join(" " if text[at] == ";" else sql[at] for at in range(end, len(sql)))


_TABLE: Final = re.compile(
    r"\btable\s+(?!(?:is|in|not|between|i?like|rlike|regexp|and|or|as|from|over|when|then|else|end|asc|desc|nulls|filter|div)\b)"
    r"(?=[`\w])",
    re.IGNORECASE,
)
_BEFORE_QUERY: Final = re.compile(
    r"(?:\A|\b(?:union|except|minus|intersect)(?:\s+(?:all|distinct))?|(?:\A|[^\w`\s]|\b(?:as|in|exists|from|join))\s*\()"
    r"[\s(]*\Z",
    re.IGNORECASE,
)


def table_queries(sql: str) -> list[tuple[int, int]]:
    """Where `TABLE t` stands as a query of its own, which is `SELECT * FROM t`: the offsets of TABLE and of the name.

    >>> table_queries("TABLE a UNION ALL (TABLE b)")
    [(0, 6), (19, 25)]
    """
    text = code(sql)
    found = ((match.start(), match.end()) for match in _TABLE.finditer(text))
    return [(start, end) for start, end in found if _BEFORE_QUERY.search(text[:start])]


def has_word(sql: str, *words: str) -> bool:
    """True where one of the words stands in the code of the text."""
    return re.search(rf"\b(?:{'|'.join(words)})\b", code(sql), re.IGNORECASE) is not None


def statement(sql: str) -> SqlRefusal | None:
    """The refusal of a text that is a statement, by its first words or what follows them, or that is not one."""
    text = code(sql)
    if match := _STATEMENTS.match(text):
        return _no_query(match)
    starts = [match.start() for match in re.finditer(r"[^;\s][^;]*", text)]
    if not starts:
        return SqlRefusal("holds no query", "NotAQuery")
    if len(starts) > 1:
        message = f"holds {len(starts)} statements; a view is exactly one query"
        return SqlRefusal(message, "NotAQuery", starts[1])
    top = _top_level(text)
    if match := _BEHIND_WITH.match(top) or _BEHIND_FROM.match(top):
        return _no_query(match)
    return None


def order_by(sql: str) -> int:
    """Where the whole result is sorted: the last ORDER BY outside of brackets, or the start."""
    found = list(re.finditer(r"\border\s+by\b", _top_level(code(sql)), re.IGNORECASE))
    return found[-1].start() if found else 0


def forbidden_calls(sql: str) -> Iterator[SqlRefusal]:
    """Functions that reach out of the query, into the driver or its files, and names that are only known once computed."""
    for match in _CALL.finditer(code(sql)):
        name = match[1].lower()
        if name in FORBIDDEN_FUNCTIONS:
            message = f"the function {name} is refused: it calls into the driver's JVM"
            yield SqlRefusal(message, "ForbiddenFunction", match.start())
        elif name in FILE_FUNCTIONS:
            message = (
                f"{name} reads files by their path; name the table as a source, by delta with readChangeFeed"
            )
            yield SqlRefusal(message, "FileInSql", match.start())
        elif name == "identifier":
            message = (
                "IDENTIFIER(...) is refused: it hides which relation or function is meant; write the name"
            )
            yield SqlRefusal(message, "ForbiddenFunction", match.start())
    for match in _SCRIPT.finditer(code(sql)):
        message = "TRANSFORM ... USING is refused: it runs a command of the machine's"
        yield SqlRefusal(message, "ForbiddenFunction", match.start())


def _no_query(match: re.Match[str]) -> SqlRefusal:
    message = f"{match[1].upper()} is a statement; a view is exactly one query"
    return SqlRefusal(message, "NotAQuery", match.start(1))


def _comment_end(sql: str, behind: int) -> int | None:
    """Where a bracketed comment ends; they nest. None for one that is never closed, which Spark refuses."""
    depth = 1
    for match in _BRACKETS.finditer(sql, behind):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return None


@lru_cache(maxsize=256)
def _top_level(text: str) -> str:
    """The text with what stands in brackets blanked out."""
    depth, kept = 0, []
    for letter in text:
        depth -= letter == ")"
        kept.append(letter if depth <= 0 else " ")
        depth += letter == "("
    return "".join(kept)
