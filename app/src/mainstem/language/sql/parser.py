"""sqlglot's parser for Spark SQL with a limit on its work.

sqlglot tries several readings of a text. After each failed attempt it parses the rest again, so a text of 130 characters
can take seconds, and a text of 200 characters years. The limit counts the tokens that the parser really reads. It needs
sqlglot's parser in Python: the compiled one can neither be counted nor interrupted.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from mainstem.language.sql.builtins import BUILTINS, GRAMMAR


MAX_STEPS: Final = 50_000
"""How often the parser may move to another token. The longest text has 16,000 tokens. Texts of joins,
calls or sums of that length need up to 28,000 steps, and the limit is three seconds of work."""
MAX_PIPES: Final = 128
"""The most `|>` operators in a text: each one copies all earlier ones."""
MAX_TYPE_ARGUMENTS: Final = 128
"""The most uses of `ARRAY<`, `MAP<` or `STRUCT<` in a text: the parser searches the end of each nested one again."""

_DIALECT: Final = Spark()
_TYPES: Final = frozenset(SparkParser.TYPE_TOKENS) - {TokenType.IDENTIFIER, TokenType.VAR}


def _spark_only(functions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: build for name, build in functions.items() if name.lower() in BUILTINS | GRAMMAR}


class TooMuchWork(ValueError):
    """Parsing the text could take too long."""


if not hasattr(SparkParser.parse, "__code__"):
    raise ImportError(
        "sqlglot's compiled parser cannot be limited, and Mainstem needs the one in Python: pip uninstall sqlglotc"
    )


class _Parser(SparkParser):
    """Spark's parser, which gives up at the limit; one for each text."""

    # For Spark the name of a function of another dialect is unknown, or a function of the document.
    FUNCTIONS = _spark_only(SparkParser.FUNCTIONS)
    FUNCTION_PARSERS = _spark_only(SparkParser.FUNCTION_PARSERS)
    NO_PAREN_FUNCTION_PARSERS = _spark_only(SparkParser.NO_PAREN_FUNCTION_PARSERS)
    FUNC_TOKENS = SparkParser.FUNC_TOKENS | {TokenType.APPLY}
    steps = 0

    def _advance(self, times: int = 1) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooMuchWork("the parser tries too many readings of the text")
        super()._advance(times)


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
    return [tree for tree in _Parser(dialect=_DIALECT).parse(tokens, sql) if tree is not None]


def _type_arguments(tokens: Sequence[Token]) -> int:
    pairs = pairwise(tokens)
    return sum(second.token_type is TokenType.LT and first.token_type in _TYPES for first, second in pairs)
