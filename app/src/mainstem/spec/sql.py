"""What can be known of a SQL text without Spark.

sqlglot reads the text in Spark's dialect. It does not know all of Spark's grammar, so every answer has a third value:
what is not certain is `None`, and left to Spark's own analysis at start.
"""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError


logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # "unsupported syntax" is an answer to us, not news

FORBIDDEN_FUNCTIONS: Final = frozenset({"java_method", "reflect", "try_reflect"})
_STATEMENTS: Final = re.compile(
    r"\s*(set|add|use|insert|update|delete|merge|create|drop|alter|truncate|cache|uncache|clear|refresh|load|msck|"
    r"declare|explain|describe|desc|show|analyze|execute|call|grant|revoke|begin|reset|repair|comment|list|replace)\b",
    re.IGNORECASE,
)
_QUERIES: Final = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.Table)


@dataclass(frozen=True)
class Reference:
    """One occurrence of a relation's name in a SQL text.

    Attributes:
        name: the name in lower case, as Spark resolves it.
        start: offset of its first character, backquotes included.
        end: offset behind its last character.
        aliased: True where the text gives it an alias.
    """

    name: str
    start: int
    end: int
    aliased: bool


@dataclass(frozen=True)
class Refusal:
    """Why a text is certainly not one plain query, at an offset of it."""

    message: str
    reason: str
    offset: int = 0


@dataclass(frozen=True)
class Facts:
    """What is certain of one SQL text.

    Attributes:
        references: relations it reads, in the order of the text; None where the text could not be read.
        refusals: what it must not contain.
        tree: sqlglot's tree, None where the text could not be read.
    """

    references: tuple[Reference, ...] | None
    refusals: tuple[Refusal, ...]
    tree: exp.Expr | None


@lru_cache(maxsize=256)
def read(sql: str) -> Facts:
    """The facts of one text; never raises."""
    if match := _STATEMENTS.match(_without_comments(sql)):
        word = match[1].upper()
        return Facts(
            None, (Refusal(f"{word} is a statement; a view is exactly one query", "NotAQuery"),), None
        )
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="spark") if tree is not None]
    except (SqlglotError, RecursionError):
        return Facts(None, tuple(_forbidden_words(sql)), None)
    if len(trees) > 1:
        message = f"holds {len(trees)} statements; a view is exactly one query"
        return Facts(None, (Refusal(message, "NotAQuery"),), None)
    if trees and isinstance(trees[0], (exp.DML, exp.DDL, exp.Merge)) and not isinstance(trees[0], _QUERIES):
        message = f"{type(trees[0]).__name__.upper()} is a statement; a view is exactly one query"
        return Facts(None, (Refusal(message, "NotAQuery"),), None)
    if not trees or not isinstance(trees[0], _QUERIES):
        return Facts(None, tuple(_forbidden_words(sql)), None)
    tree = trees[0]
    references = tuple(sorted(_references(tree), key=lambda reference: reference.start))
    return Facts(references, tuple(_forbidden_words(sql)), tree)


def aggregates(facts: Facts, streaming: dict[str, bool], aggregated: dict[str, bool | None]) -> bool | None:
    """Whether the query aggregates a stream: yes, no, or unknown.

    Args:
        facts: the query.
        streaming: relation -> whether it streams.
        aggregated: relation -> the same answer for the views it may read.
    """
    if facts.tree is None or facts.references is None:
        return None
    below = [aggregated.get(reference.name) for reference in facts.references]
    if True in below:
        return True
    tree = facts.tree
    if isinstance(tree, exp.Select) and _groups(tree) and _reads_stream_directly(tree, streaming):
        return True
    if None in below or tree.find(
        exp.AggFunc, exp.Group, exp.Distinct, exp.Anonymous, exp.Pivot, exp.SetOperation
    ):
        return None
    return False


def orders(facts: Facts) -> bool | None:
    """Whether the whole result is sorted, which Spark allows in complete mode only."""
    if facts.tree is None:
        return None
    return facts.tree.args.get("order") is not None


def _groups(select: exp.Select) -> bool:
    if select.args.get("group") is not None:
        return True
    return any(
        isinstance(node, exp.AggFunc) and node.find_ancestor(exp.Window, exp.Query) is select
        for projection in select.expressions
        for node in projection.walk()
    )


def _reads_stream_directly(select: exp.Select, streaming: dict[str, bool]) -> bool:
    clause = select.args.get("from_") or select.args.get("from")
    ctes = {cte.alias.lower() for cte in select.ctes}
    table = clause.this if clause is not None else None
    if not isinstance(table, exp.Table) or table.db or table.name.lower() in ctes:
        return False
    return streaming.get(table.name.lower(), False)


def _references(tree: exp.Expr) -> Iterator[Reference]:
    for table in tree.find_all(exp.Table):
        name = table.this
        if not isinstance(name, exp.Identifier) or table.db or "start" not in name.meta:
            continue
        if table.find_ancestor(exp.Hint) is None and not _is_cte(table):
            yield Reference(name.name.lower(), name.meta["start"], name.meta["end"] + 1, bool(table.alias))


def _is_cte(table: exp.Table) -> bool:
    """True where the name is that of a common table expression in sight, not of a relation."""
    inside: exp.Expr = table
    above = table.parent
    while above is not None:
        ctes = above.ctes if isinstance(above, exp.Query) else []
        if isinstance(inside, exp.With):  # within a CTE's own text only the earlier ones are in sight
            own = next(
                (cte for cte in ctes if cte.find(exp.Table) and table in cte.find_all(exp.Table)), None
            )
            ctes = ctes[: ctes.index(own)] if own in ctes else ctes
        if table.name.lower() in {cte.alias.lower() for cte in ctes}:
            return True
        inside, above = above, above.parent
    return False


def _forbidden_words(sql: str) -> Iterator[Refusal]:
    """Functions that reach out of the query into the driver; searched in the text, so that no parser can miss them."""
    masked = _without_comments(sql, strings=True)
    for match in re.finditer(r"\b(\w+)`?\s*\(", masked):
        if match[1].lower() in FORBIDDEN_FUNCTIONS:
            message = f"the function {match[1].lower()} is refused: it calls into the driver's JVM"
            yield Refusal(message, "ForbiddenFunction", match.start())


def _without_comments(sql: str, *, strings: bool = False) -> str:
    """The text with comments (and strings, if asked) blanked out, offsets kept."""
    pattern = r"--[^\n]*|/\*.*?\*/" + (r"|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"" if strings else "")
    kept = r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\""
    return re.sub(
        f"({pattern})|({kept})",
        lambda match: re.sub(r"[^\n]", " ", match[1]) if match[1] else match[0],
        sql,
        flags=re.DOTALL,
    )
