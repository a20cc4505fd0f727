"""sqlglot's parser for Spark SQL, behind a bound on its work.

sqlglot tries a JOIN first as the start of a nested join, and `DATE(...)` first as a type: each such attempt that fails
parses the rest once more, so a text of 130 characters can take seconds, and one of 200 characters years. The bound
counts these repetitions on the tokens, before the parser runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

from mainstem.language.sql.builtins import BUILTINS, GRAMMAR


MAX_PARSED_TOKENS: Final = 50_000
"""Tokens that the parser may look at, those that it looks at again included: a second or two. A text of the greatest
length has 16,000.
"""
MAX_PIPES: Final = 128
"""`|>` operators in a text: each copies those before it."""
MAX_TYPE_ARGUMENTS: Final = 128
"""Uses of `ARRAY<`, `MAP<` or `STRUCT<` in a text: each nested one is searched for its end anew."""

_DIALECT: Final = Spark()
_OPEN: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSE: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_TYPES: Final = frozenset(Spark.Parser.TYPE_TOKENS) - {TokenType.IDENTIFIER, TokenType.VAR}
_JOINS: Final = frozenset({TokenType.JOIN, TokenType.STRAIGHT_JOIN})
_SIDES: Final = frozenset(
    {TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.OUTER, TokenType.INNER}
    | {TokenType.SEMI, TokenType.ANTI}
)
_WITHOUT_CONDITION: Final = frozenset({TokenType.CROSS, TokenType.NATURAL})
_CONDITIONS: Final = frozenset({TokenType.ON, TokenType.USING})
_CLAUSES: Final = frozenset(
    {TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY}
    | {TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.PIPE_GT, TokenType.SEMICOLON}
)
"""What ends a FROM clause, and with it a row of joins."""


def _spark_only(functions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: build for name, build in functions.items() if name.lower() in BUILTINS | GRAMMAR}


# To Spark a name that only other dialects know is nobody's, or the document's own: never what it is elsewhere. sqlglot is
# compiled, and lets nobody derive a parser of their own.
Spark.Parser.FUNCTIONS = _spark_only(Spark.Parser.FUNCTIONS)
Spark.Parser.FUNCTION_PARSERS = _spark_only(Spark.Parser.FUNCTION_PARSERS)


class TooMuchWork(ValueError):
    """The text is within the language, but parsing it could take longer than anybody waits."""


@dataclass
class _Level:
    """What lies between two brackets.

    Attributes:
        base: how often the parser may look at a token here, at the least.
        weight: the same at this point, behind joins that have no condition.
        unconditioned: whether the last JOIN has had no condition so far.
    """

    base: int
    weight: int
    unconditioned: bool = False


def parse(sql: str) -> list[exp.Expr]:
    """The statements of a text.

    Raises:
        SqlglotError: sqlglot does not understand the text.
        RecursionError: the text is nested too deep for it.
        TooMuchWork: the text is beyond the bound.
    """
    tokens = _DIALECT.tokenize(sql)
    if sum(token.token_type is TokenType.PIPE_GT for token in tokens) > MAX_PIPES:
        raise TooMuchWork(f"more than {MAX_PIPES} |> operators")
    if _type_arguments(tokens) > MAX_TYPE_ARGUMENTS:
        raise TooMuchWork(f"more than {MAX_TYPE_ARGUMENTS} types with arguments")
    if parsed_tokens(tokens) > MAX_PARSED_TOKENS:
        raise TooMuchWork(
            "too many joins without a condition, or functions nested that are called like types"
        )
    return [tree for tree in _DIALECT.parser().parse(tokens, sql) if tree is not None]


def parsed_tokens(tokens: Sequence[Token]) -> int:
    """How many tokens the parser may look at, at the most; at least one more than the bound where it is more."""
    levels, total = [_Level(1, 1)], 0
    before: TokenType | None = None
    for position, token in enumerate(tokens):
        level, kind = levels[-1], token.token_type
        total += level.weight
        if total > MAX_PARSED_TOKENS:
            break
        if kind in _OPEN:
            inner = level.weight * (2 if before in _TYPES else 1)
            levels.append(_Level(inner, inner))
        elif kind in _CLOSE and len(levels) > 1:
            levels.pop()
        elif kind in _JOINS and _may_nest(tokens, position):
            level.weight *= 2 if level.unconditioned else 1
            level.unconditioned = True
        elif kind in _CONDITIONS:
            level.unconditioned = False
        elif kind in _CLAUSES:
            level.weight, level.unconditioned = level.base, False
        before = kind
    return total


def _may_nest(tokens: Sequence[Token], position: int) -> bool:
    """Whether the parser tries a JOIN as one that holds further joins; not CROSS and NATURAL, which have no condition."""
    position -= 1
    while position >= 0 and tokens[position].token_type in _SIDES:
        position -= 1
    return position < 0 or tokens[position].token_type not in _WITHOUT_CONDITION


def _type_arguments(tokens: Sequence[Token]) -> int:
    pairs = pairwise(tokens)
    return sum(second.token_type is TokenType.LT and first.token_type in _TYPES for first, second in pairs)
