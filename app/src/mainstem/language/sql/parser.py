"""sqlglot's parser for Spark SQL with a limit on its work.

sqlglot first tries a JOIN as the start of a nested join, and `DATE(...)` as a type. After each failed attempt it parses
the rest again. So a text of 130 characters can take seconds, and a text of 200 characters years. The limit counts these
repetitions on the tokens before the parser runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

from mainstem.language.sql.builtins import BUILTINS, GRAMMAR


MAX_PARSED_TOKENS: Final = 50_000
"""The most tokens that the parser may read, including repetitions: this takes one or two seconds. The longest text has
16,000 tokens.
"""
MAX_PIPES: Final = 128
"""The most `|>` operators in a text: each one copies all earlier ones."""
MAX_TYPE_ARGUMENTS: Final = 128
"""The most uses of `ARRAY<`, `MAP<` or `STRUCT<` in a text: the parser searches the end of each nested one again."""

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
"""Tokens that end a FROM clause, and so a sequence of joins."""


def _spark_only(functions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: build for name, build in functions.items() if name.lower() in BUILTINS | GRAMMAR}


# For Spark the name of a function of another dialect is unknown, or a function of the document. The compiled sqlglot
# does not allow a subclass of its parser, so the tables of its class are changed.
Spark.Parser.FUNCTIONS = _spark_only(Spark.Parser.FUNCTIONS)
Spark.Parser.FUNCTION_PARSERS = _spark_only(Spark.Parser.FUNCTION_PARSERS)


class TooMuchWork(ValueError):
    """Parsing the text could take too long."""


@dataclass
class _Level:
    """The text between two brackets.

    Attributes:
        base: how often the parser may read a token here, without joins.
        weight: how often it may read a token at this point, after joins without a condition.
        unconditioned: whether the last JOIN has no condition so far.
    """

    base: int
    weight: int
    unconditioned: bool = False


def parse(sql: str) -> list[exp.Expr]:
    """The statements of a text.

    Raises:
        SqlglotError: sqlglot does not understand the text.
        RecursionError: the text is nested too deep for sqlglot.
        TooMuchWork: the text exceeds the limit.
    """
    tokens = _DIALECT.tokenize(sql)
    if sum(token.token_type is TokenType.PIPE_GT for token in tokens) > MAX_PIPES:
        raise TooMuchWork(f"more than {MAX_PIPES} |> operators")
    if _type_arguments(tokens) > MAX_TYPE_ARGUMENTS:
        raise TooMuchWork(f"more than {MAX_TYPE_ARGUMENTS} types with arguments")
    if parsed_tokens(tokens) > MAX_PARSED_TOKENS:
        raise TooMuchWork("too many joins without a condition, or nested functions with the name of a type")
    return [tree for tree in _DIALECT.parser().parse(tokens, sql) if tree is not None]


def parsed_tokens(tokens: Sequence[Token]) -> int:
    """The most tokens that the parser may read, including repetitions; stops counting above the limit."""
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
    """Whether the parser tries a JOIN as the start of a nested join; CROSS and NATURAL have no condition, so it does not."""
    position -= 1
    while position >= 0 and tokens[position].token_type in _SIDES:
        position -= 1
    return position < 0 or tokens[position].token_type not in _WITHOUT_CONDITION


def _type_arguments(tokens: Sequence[Token]) -> int:
    pairs = pairwise(tokens)
    return sum(second.token_type is TokenType.LT and first.token_type in _TYPES for first, second in pairs)
