"""Recognizes words that are names where they stand, though they are keywords elsewhere.

Spark reserves almost no word: `GROUP BY window(ts, '1 hour')`, `GROUP BY offset` and `SELECT values` are names. sqlglot takes
such a word for the beginning of another clause. Where an operand must begin, no clause can.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from sqlglot import Token, TokenType
from sqlglot.parsers.spark import SparkParser


_OPERATORS: Final = frozenset(
    {
        *SparkParser.DISJUNCTION,
        *SparkParser.CONJUNCTION,
        *SparkParser.EQUALITY,
        *SparkParser.COMPARISON,
        *SparkParser.BITWISE,
        *SparkParser.TERM,
        *SparkParser.FACTOR,
        TokenType.ARROW,
        TokenType.FARROW,
        TokenType.PIPE,
    }
)
_SIGNS: Final = frozenset({TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.TILDE})
"""Operators that may also begin an operand, or be one: `DISTINCT -x`, `ALL *`."""
_BEFORE: Final = _OPERATORS - {TokenType.STAR} | frozenset(
    {
        TokenType.WITH,
        TokenType.DISTINCT,
        TokenType.SELECT,
        TokenType.WHERE,
        TokenType.HAVING,
        TokenType.GROUP_BY,
        TokenType.ORDER_BY,
        TokenType.PARTITION_BY,
        TokenType.SORT_BY,
        TokenType.CLUSTER_BY,
        TokenType.DISTRIBUTE_BY,
        TokenType.ON,
        TokenType.CASE,
        TokenType.WHEN,
        TokenType.THEN,
        TokenType.ELSE,
        TokenType.BETWEEN,
        TokenType.FROM,
        TokenType.JOIN,
        TokenType.COMMA,
        TokenType.L_PAREN,
        TokenType.L_BRACKET,
    }
)
"""What an operand, or the name of a relation, follows."""
_ENDS: Final = frozenset(
    {
        TokenType.COMMA,
        TokenType.R_PAREN,
        TokenType.R_BRACKET,
        TokenType.DOT,
        TokenType.DCOLON,
        TokenType.ALIAS,
        TokenType.FROM,
    }
)
"""What no operand begins with."""
_BEHIND: Final = (
    _OPERATORS - _SIGNS
    | _ENDS
    | frozenset(
        {
            TokenType.L_BRACKET,
            TokenType.COLON,
            TokenType.WHERE,
            TokenType.GROUP_BY,
            TokenType.HAVING,
            TokenType.ORDER_BY,
            TokenType.LIMIT,
            TokenType.ON,
            TokenType.USING,
            TokenType.ASC,
            TokenType.DESC,
            TokenType.IS,
            TokenType.IN,
            TokenType.BETWEEN,
            TokenType.LIKE,
            TokenType.WHEN,
            TokenType.THEN,
            TokenType.ELSE,
            TokenType.END,
            TokenType.UNION,
            TokenType.PIPE_GT,
        }
    )
)
"""What follows a whole operand, and nothing that only begins one."""
_PREFIXES: Final = frozenset(
    {
        TokenType.SELECT,
        TokenType.FROM,
        TokenType.WITH,
        TokenType.NOT,
        TokenType.DISTINCT,
        TokenType.CASE,
        TokenType.WHEN,
        TokenType.INTERVAL,
    }
)
"""Keywords that an operand or a query may begin with, before a name that may be a keyword too."""
_CALLED: Final = (
    SparkParser.FUNC_TOKENS - SparkParser.QUERY_MODIFIER_TOKENS
    | _PREFIXES
    | {
        TokenType.VAR,
        TokenType.VALUES,
        TokenType.LATERAL,
        TokenType.CUBE,
        TokenType.ROLLUP,
        TokenType.GROUPING_SETS,
    }
)
"""Words that sqlglot reads as Spark does before a bracket: functions, or what is none."""
_READ: Final = SparkParser.ID_VAR_TOKENS - SparkParser.QUERY_MODIFIER_TOKENS - {
    TokenType.CASE,
    TokenType.ANY,
} - _OPERATORS | {TokenType.VAR}
"""Words that sqlglot takes for names where they are."""


def with_names(tokens: Sequence[Token]) -> list[Token]:
    """The tokens of a text, with the type VAR for each keyword that is a name where it stands."""
    following: Iterable[TokenType | None] = (token.token_type for token in tokens[1:])
    kept: list[Token] = []
    for token, behind in zip(tokens, chain(following, [None]), strict=True):
        before = kept[-1].token_type if kept else None
        kept.append(_named(token) if before in _BEFORE and _is_name(token, behind) else token)
    return kept


def _named(token: Token) -> Token:
    return Token(TokenType.VAR, token.text, token.line, token.col, token.start, token.end, token.comments)


def _is_name(token: Token, behind: TokenType | None) -> bool:
    """Whether a token where an operand must begin is a keyword, but also a whole operand or a function."""
    kind = token.token_type
    if not token.text.isidentifier() or token.end - token.start >= len(token.text):  # quoted
        return False
    if behind is TokenType.L_PAREN:
        return kind not in _CALLED
    if kind in _READ:
        return False
    if kind in _PREFIXES:
        return behind is None or behind in _ENDS
    return behind is None or behind in _BEHIND | _SIGNS
