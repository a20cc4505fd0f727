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
from sqlglot.errors import SqlglotError
from sqlglot.parsers.spark import SparkParser

from mainstem.language.sql.builtins import BUILTINS, GRAMMAR
from mainstem.language.sql.names import with_names


MAX_STEPS: Final = 50_000
"""How often the parser may move to another token. The longest text has 16,000 tokens. Texts of joins,
calls or sums of that length need up to 28,000 steps, and the limit is three seconds of work."""
MAX_PIPES: Final = 128
"""The most `|>` operators in a text: each one copies all earlier ones."""
MAX_TYPE_ARGUMENTS: Final = 128
"""The most uses of `ARRAY<`, `MAP<` or `STRUCT<` in a text: the parser searches the end of each nested one again."""


class _AsWritten(Spark):
    """Spark's SQL with the patterns of dates as they are: sqlglot's own have one spelling for `y` and `yyyy`."""

    TIME_MAPPING = {}  # noqa: RUF012 - as sqlglot has it


_DIALECT: Final = _AsWritten()
_START: Final = Token.string("")
_TYPES: Final = frozenset(SparkParser.TYPE_TOKENS) - {TokenType.IDENTIFIER, TokenType.VAR}


_REWRITTEN: Final = frozenset(
    {
        "approx_percentile",
        "array_size",
        "cardinality",
        "date_trunc",
        "get_json_object",
        "named_struct",
        "percentile",
        "percentile_approx",
        "size",
        "trunc",
        "uuid",
    }
)
"""Functions of which sqlglot leaves out or rewrites an argument; they stay calls with their arguments as they are."""


def _spark_only(functions: Mapping[str, Any]) -> dict[str, Any]:
    names = (BUILTINS | GRAMMAR) - _REWRITTEN
    return {name: build for name, build in functions.items() if name.lower() in names}


WRAPPED: Final = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
"""What stands around the call of an aggregate; see `unwrapped`."""
_BUILTIN: Final = ("builtin", "system.builtin")
"""The schema of Spark's own functions, by which a text may name them."""


class NotReadable(ValueError):
    """sqlglot cannot read the text, or it could take too long.

    Attributes:
        offset: offset of the first character that could not be read.
    """

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


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
    COLON_IS_VARIANT_EXTRACT = True
    steps = 0

    @property
    def offset(self) -> int:
        """The offset of the token at which the parser stands; that of the last one at the end of the text."""
        return (self._curr or self._prev or _START).start

    def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
        """The node of an expression; Spark knows which arguments a function takes, but no argument may get lost."""
        if not isinstance(expression, exp.Func):
            return super().validate_expression(expression, args)
        name = expression.sql_name()
        if args and len(args) > len(expression.arg_types) and not expression.is_var_len_args:
            return exp.Anonymous(this=name, expressions=args)
        return expression

    def _advance(self, times: int = 1) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise NotReadable("the parser tries too many readings of the text")
        super()._advance(times)


def parse(sql: str) -> list[exp.Expr]:
    """The statements of a text.

    Raises:
        NotReadable: sqlglot does not understand the text, it is nested too deep for sqlglot, or it exceeds the limit.
    """
    try:
        tokens = with_names(_DIALECT.tokenize(sql))
    except SqlglotError as error:
        raise NotReadable(str(error)) from error
    if sum(token.token_type is TokenType.PIPE_GT for token in tokens) > MAX_PIPES:
        raise NotReadable(f"more than {MAX_PIPES} |> operators")
    if _type_arguments(tokens) > MAX_TYPE_ARGUMENTS:
        raise NotReadable(f"more than {MAX_TYPE_ARGUMENTS} types with arguments")
    parser = _Parser(dialect=_DIALECT)
    try:
        return [_with_schemas(tree) for tree in parser.parse(tokens, sql) if tree is not None]
    except NotReadable:
        raise
    except Exception as error:  # sqlglot raises errors of many kinds, also IndexError and RecursionError
        raise NotReadable(str(error), parser.offset) from error


def spelling(sql: str) -> str:
    """A text that is equal for texts that differ in layout and comments alone: each word can be a name, in its letter case."""
    try:
        tokens = _DIALECT.tokenize(sql)
    except SqlglotError:
        return sql
    return repr([(each.token_type.name, each.text) for each in tokens])


def unwrapped(call: exp.Expr) -> exp.Expr:
    """The call without FILTER, IGNORE NULLS and the like around it."""
    while isinstance(call, WRAPPED):
        call = call.this
    return call


def _with_schemas(tree: exp.Expr) -> exp.Expr:
    """The tree, in which the name of a function includes its schema, so that it is not the function of Spark or of the document
    that has the same last name.

    sqlglot has schema and function as two parts of a name, or takes `s.total(v) FILTER (...)` for a column of a relation.
    """
    for name in list(tree.find_all(exp.Column, exp.Dot)):
        parts = _parts(name)
        at = next((at for at, part in enumerate(parts) if isinstance(unwrapped(part), exp.Anonymous)), 0)
        schema = [_dotted(part) for part in parts[:at]]
        if schema and all(schema):
            call = unwrapped(parts[at])
            if ".".join(schema).lower() not in _BUILTIN:
                call.set("this", ".".join([*schema, call.name]))
            fields = parts[at + 1 :]
            name.replace(exp.Dot.build([parts[at], *fields]) if fields else parts[at])
    return tree


def _parts(name: exp.Expr) -> list[exp.Expr]:
    """What stands between the dots of a column, or on both sides of a dot."""
    return name.parts if isinstance(name, exp.Column) else [name.this, name.args["expression"]]


def _dotted(name: exp.Expr) -> str:
    """A name with its dots; empty for anything else."""
    if isinstance(name, exp.Identifier):
        return name.name
    parts = [_dotted(part) for part in _parts(name)] if isinstance(name, (exp.Column, exp.Dot)) else []
    return ".".join(parts) if all(parts) else ""


def _type_arguments(tokens: Sequence[Token]) -> int:
    pairs = pairwise(tokens)
    return sum(second.token_type is TokenType.LT and first.token_type in _TYPES for first, second in pairs)
