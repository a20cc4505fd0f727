"""Reads schemas in DDL, such as `id INT, tags ARRAY<STRING>`, by the grammar of Spark's parser (`colTypeList`, Spark 4.2)."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final, NamedTuple

from mainstem.language.sql.ddl_tokens import DdlError, Token, tokens, until_blank


MAX_PRECISION: Final = 38
MAX_DEPTH: Final = 100
"""Types within types that are read here."""
_LONGER: Final = {
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "INTEGER": "INT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "DEC": "DECIMAL",
    "NUMERIC": "DECIMAL",
    "CHARACTER": "CHAR",
    "TIMESTAMP_LTZ": "TIMESTAMP",
}
"""Other names of types."""
_SIMPLE: Final = frozenset(
    {
        *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"),
        *("STRING", "BINARY", "VARIANT", "GEOMETRY", "GEOGRAPHY", "VOID"),
        *("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIME", "INTERVAL"),
    }
)
_LENGTHS: Final = frozenset({"CHAR", "VARCHAR"})
_TEXTS: Final = _LENGTHS | {"STRING"}
_SHAPES: Final = frozenset({"GEOMETRY", "GEOGRAPHY"})
_NESTED: Final = frozenset({"ARRAY", "MAP", "STRUCT"})
_TYPES: Final = _SIMPLE | _LENGTHS | _NESTED
_NUMBERS: Final = {"DECIMAL": 2, "TIME": 1, "GEOMETRY": 1, "GEOGRAPHY": 1, "CHAR": 1, "VARCHAR": 1}
"""How many numbers stand in brackets after a type, at most."""
_UNITS: Final = (("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND"))
_NUMBER: Final = re.compile(r"\d+(?:[LSYFD]|BD|E\d+(?:[FD]|BD)?)?", re.IGNORECASE)
"""What the parser takes for a number, where the name of a column is due."""


class Type(NamedTuple):
    """A type.

    Attributes:
        name: in capitals, without its numbers.
        parts: the element of an ARRAY; key and value of a MAP.
        numbers: digits and decimal places of a DECIMAL.
        fields: of a STRUCT.
        words: the units of an INTERVAL, the collation of a STRING.
    """

    name: str
    parts: "tuple[Type, ...]" = ()
    numbers: tuple[int, ...] = ()
    fields: "tuple[Column, ...]" = ()
    words: str = ""

    def __str__(self) -> str:
        inner = [*map(str, self.parts), *(f"{field.name}: {field.type}" for field in self.fields)]
        numbers = f"({','.join(map(str, self.numbers))})" if self.numbers else ""
        brackets = f"<{', '.join(inner)}>" if self.name in _NESTED else ""
        return f"{self.name}{numbers}{brackets}{' ' if self.words else ''}{self.words}"


class Column(NamedTuple):
    """A column or field, and where its name begins in the text, from 0."""

    name: str
    type: Type
    at: int


class TooDeep(DdlError):
    """The text has more types within each other than are read here; how many Spark takes depends on its stack."""


def read(ddl: str) -> tuple[Column, ...]:
    """The columns of a schema: of a list, or of one STRUCT, as Spark's Python takes them.

    Raises:
        DdlError: Spark refuses the text.
        TooDeep: whether it does is not known.
    """
    reader = _Reader(ddl)
    columns = reader.all()
    reader.end()
    return columns


def levels(columns: tuple[Column, ...]) -> Iterator[tuple[Column, ...]]:
    """The columns, and the fields of each STRUCT within them."""
    yield columns
    for column in columns:
        for kind in _within(column.type):
            if kind.fields:
                yield from levels(kind.fields)


def has_length(column: Column) -> bool:
    """Whether it is a CHAR or VARCHAR, or an ARRAY or MAP of them."""
    return any(kind.name in _LENGTHS for kind in _within(column.type))


def inner(kind: Type) -> Iterator[Type]:
    """The type, and each type in it."""
    yield kind
    for part in (*kind.parts, *(field.type for field in kind.fields)):
        yield from inner(part)


def is_compared(kind: Type) -> bool:
    """Whether Spark compares and hashes values of the type: it has no MAP and no VARIANT, at any depth."""
    return not any(each.name in ("MAP", "VARIANT") for each in inner(kind))


def _within(kind: Type) -> Iterator[Type]:
    yield kind
    for part in kind.parts:
        yield from _within(part)


class _Reader:
    def __init__(self, ddl: str) -> None:
        self._tokens = [*tokens(ddl), Token("end", "the end", len(ddl))]
        self._place = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += token.kind != "end"
        return token

    def _has(self, *words: str) -> bool:
        """Take the next tokens if they are these words or signs."""
        ahead = self._tokens[self._place : self._place + len(words)]
        taken = [token.text.upper() for token in ahead] == list(words)
        self._place += len(words) * taken
        return taken

    def _expect(self, sign: str, after: str) -> None:
        if not self._has(sign):
            raise DdlError(f"{sign} is missing after {after}, before {self._next.text}", self._next.at)

    def end(self) -> None:
        if self._next.kind != "end":
            raise DdlError(f"a comma is missing before {self._next.text}", self._next.at)

    def all(self) -> tuple[Column, ...]:
        if [token.text.upper() for token in self._tokens[:2]] == ["STRUCT", "<"]:
            return self._type().fields
        return self._columns()

    def _columns(self) -> tuple[Column, ...]:
        columns = [self._column()]
        while self._has(","):
            columns.append(self._column())
        return tuple(columns)

    def _column(self) -> Column:
        token = self._take()
        name = self._name(token)
        self._has(":")
        kind = self._type()
        self._has("NOT", "NULL")
        if self._has("COMMENT"):
            if self._next.kind != "text":
                raise DdlError("COMMENT needs a text in quotes", self._next.at)
            while self._next.kind == "text":  # texts side by side are one
                self._take()
        return Column(name, kind, token.at)

    def _name(self, token: Token) -> str:
        if token.kind == "quoted":
            return token.text[1:-1].replace("``", "`")
        if token.kind != "word":
            raise DdlError(f"the name of a column is missing before {token.text}", token.at)
        text = token.text
        if self._next.kind == "sign" and self._next.text not in ",:<>()":
            text = until_blank(self._tokens[self._place - 1 :])
        if text != token.text or not text.isascii() or _NUMBER.fullmatch(text):
            raise DdlError(f"the name {text} needs backticks: `{text}`", token.at)
        return text

    def _type(self) -> Type:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeep(f"more than {MAX_DEPTH} types stand within each other", self._next.at)
        token = self._take()
        if token.kind != "word":
            raise DdlError(f"a type is missing before {token.text}", token.at)
        name = _LONGER.get(token.text.upper(), token.text.upper())
        kind = self._nested(name) if name in _NESTED else self._simple(name, token)
        self._depth -= 1
        return kind

    def _simple(self, name: str, token: Token) -> Type:
        if name == "INTERVAL":
            return Type(name, words=self._units())
        numbers = () if name in _SHAPES and self._has("(", "ANY", ")") else self._numbers()
        if name not in _TYPES and self._next.text.upper() in _TYPES | _LONGER.keys():
            raise DdlError(f"{token.text} is no type; a name with a blank needs backticks", token.at)
        _check(name, numbers, token)
        if name == "DECIMAL":
            return Type(name, numbers=_decimal(numbers, token))
        if name in _TEXTS:
            return Type(name, numbers=numbers, words=self._collation())
        if token.text.upper() in ("TIMESTAMP", "TIME") and self._has("WITHOUT", "TIME", "ZONE"):
            return Type("TIMESTAMP_NTZ") if name == "TIMESTAMP" else Type(name, numbers=numbers)
        if token.text.upper() == "TIMESTAMP":
            self._has("WITH", "LOCAL", "TIME", "ZONE")
        return Type(name, numbers=numbers)

    def _collation(self) -> str:
        if not self._has("COLLATE"):
            return ""
        parts: list[str] = []
        while not parts or self._has("."):
            if self._next.kind not in ("word", "quoted"):
                raise DdlError(f"a collation is missing before {self._next.text}", self._next.at)
            parts.append(self._take().text)
        return f"COLLATE {'.'.join(parts)}"

    def _nested(self, name: str) -> Type:
        self._expect("<", name)
        if name == "STRUCT":
            fields = () if self._next.text == ">" else self._columns()
            self._expect(">", "the fields of STRUCT")
            return Type(name, fields=fields)
        parts = [self._type()]
        if name == "MAP":
            self._expect(",", "the key of MAP")
            parts.append(self._type())
        self._expect(">", f"the type in {name}")
        return Type(name, tuple(parts))

    def _units(self) -> str:
        for units in _UNITS:
            if self._next.text.upper() in units:
                first = self._take().text.upper()
                if not self._has("TO"):
                    return first
                last = self._take()
                if last.text.upper() not in units[units.index(first) + 1 :]:
                    raise DdlError(f"an INTERVAL from {first} has no {last.text}", last.at)
                return f"{first} TO {last.text.upper()}"
        return ""

    def _numbers(self) -> tuple[int, ...]:
        if not self._has("("):
            return ()
        numbers: list[int] = []
        while not numbers or self._has(","):
            token = self._take()
            if not (token.text.isascii() and token.text.isdecimal()):
                raise DdlError(f"a number is missing before {token.text}", token.at)
            numbers.append(int(token.text.lstrip("0")[:9] or 0))
        self._expect(")", str(numbers[-1]))
        return tuple(numbers)


def _check(name: str, numbers: tuple[int, ...], token: Token) -> None:
    if name in _LENGTHS and not numbers:
        raise DdlError(f"{token.text} needs its length in brackets; or write STRING", token.at)
    if name not in _TYPES:
        near = get_close_matches(name, _TYPES | _LONGER.keys(), 1)
        raise DdlError(
            f"{token.text} is no type of Spark" + (f"; did you mean {near[0]}?" if near else ""), token.at
        )
    if len(numbers) > _NUMBERS.get(name, 0):
        raise DdlError(f"{token.text} has too many numbers in brackets", token.at)


def _decimal(numbers: tuple[int, ...], token: Token) -> tuple[int, int]:
    """Digits and decimal places; by default 10 and 0."""
    digits, places = (*(numbers or (10,)), 0)[:2]
    if digits > MAX_PRECISION:
        raise DdlError(f"a DECIMAL has at most {MAX_PRECISION} digits", token.at)
    if places > digits:
        raise DdlError(f"a DECIMAL of {digits} digits cannot have {places} decimal places", token.at)
    return digits, places
