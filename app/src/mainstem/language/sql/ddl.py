"""Reads schemas in DDL, such as `id INT, tags ARRAY<STRING>`, by the grammar of Spark's parser (`colTypeList`, Spark 4.2)."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final, NamedTuple


MAX_PRECISION: Final = 38
MAX_DEPTH: Final = 100
"""Types within types; Spark's own parser has no bound, and ends with a stack overflow."""
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
    (
        *(
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INT",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL",
            "STRING",
            "BINARY",
            "VARIANT",
        ),
        *("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIME", "INTERVAL", "GEOMETRY", "GEOGRAPHY", "VOID"),
    )
)
_LENGTHS: Final = frozenset({"CHAR", "VARCHAR"})
_NESTED: Final = frozenset({"ARRAY", "MAP", "STRUCT"})
_TYPES: Final = _SIMPLE | _LENGTHS | _NESTED
_NUMBERS: Final = {"DECIMAL": 2, "TIME": 1, "GEOMETRY": 1, "GEOGRAPHY": 1, "CHAR": 1, "VARCHAR": 1}
"""How many numbers stand in brackets after a type, at most."""
_UNITS: Final = (("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND"))
_TOKEN: Final = re.compile(
    r"(?P<blank>\s+|--[^\n]*|/\*.*?\*/)|(?P<quoted>`(?:[^`]|``)*`)|(?P<word>\w+)"
    r"|(?P<text>'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\")|(?P<sign>.)",
    re.DOTALL,
)
_NUMBER: Final = re.compile(r"\d+(?:L|S|Y|F|D|BD|E\d+)?", re.IGNORECASE)
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


class DdlError(ValueError):
    """Why Spark refuses a text, and where in the text, from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message, self.at = message, at


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def read(ddl: str) -> tuple[Column, ...]:
    """The columns of a schema.

    Raises:
        DdlError: Spark's parser refuses the text, or no source of Spark has such columns.
    """
    reader = _Reader(ddl)
    columns = reader.columns(colon=False)
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


def _within(kind: Type) -> Iterator[Type]:
    yield kind
    for part in kind.parts:
        yield from _within(part)


class _Reader:
    def __init__(self, ddl: str) -> None:
        tokens = [
            _Token(str(match.lastgroup), match.group(), match.start()) for match in _TOKEN.finditer(ddl)
        ]
        self._tokens = [token for token in tokens if token.kind != "blank"]
        self._tokens.append(_Token("end", "the end", len(ddl)))
        self._place = 0
        self._depth = 0

    @property
    def _next(self) -> _Token:
        return self._tokens[self._place]

    def _take(self) -> _Token:
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

    def columns(self, *, colon: bool) -> tuple[Column, ...]:
        columns = [self._column(colon=colon)]
        while self._has(","):
            columns.append(self._column(colon=colon))
        return tuple(columns)

    def _column(self, *, colon: bool) -> Column:
        token = self._take()
        name = self._name(token)
        if colon:
            self._has(":")
        kind = self._type()
        self._has("NOT", "NULL")
        if self._has("COMMENT") and (comment := self._take()).kind != "text":
            raise DdlError("COMMENT needs a text in quotes", comment.at)
        return Column(name, kind, token.at)

    def _name(self, token: _Token) -> str:
        if token.kind == "quoted":
            if name := token.text[1:-1].replace("``", "`"):
                return name
            raise DdlError("the name of a column is empty", token.at)
        if token.kind != "word":
            raise DdlError(f"the name of a column is missing before {token.text}", token.at)
        text = token.text
        if self._next.kind == "sign" and self._next.text not in ",:<>()":
            text = _until_blank(self._tokens[self._place - 1 :])
        if text != token.text or not text.isascii() or _NUMBER.fullmatch(text):
            raise DdlError(f"the name {text} needs backticks: `{text}`", token.at)
        return text

    def _type(self) -> Type:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DdlError(f"more than {MAX_DEPTH} types stand within each other", self._next.at)
        token = self._take()
        if token.kind != "word":
            raise DdlError(f"a type is missing before {token.text}", token.at)
        name = _LONGER.get(token.text.upper(), token.text.upper())
        kind = self._nested(name) if name in _NESTED else self._simple(name, token)
        self._depth -= 1
        return kind

    def _simple(self, name: str, token: _Token) -> Type:
        if name == "INTERVAL":
            return Type(name, words=self._units())
        numbers = self._numbers()
        if name not in _TYPES and self._next.text.upper() in _TYPES | _LONGER.keys():
            raise DdlError(f"{token.text} is no type; a name with a blank needs backticks", token.at)
        _check(name, numbers, token)
        if name == "DECIMAL":
            return Type(name, numbers=(*(numbers or (10,)), 0)[:2])
        if name == "TIMESTAMP" and self._has("WITHOUT", "TIME", "ZONE"):
            return Type("TIMESTAMP_NTZ")
        words = f"COLLATE {self._take().text}" if name == "STRING" and self._has("COLLATE") else ""
        return Type(name, numbers=numbers, words=words)

    def _nested(self, name: str) -> Type:
        self._expect("<", name)
        if name == "STRUCT":
            fields = () if self._next.text == ">" else self.columns(colon=True)
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
            numbers.append(int(token.text[:9]))
        self._expect(")", str(numbers[-1]))
        return tuple(numbers)


def _until_blank(tokens: list[_Token]) -> str:
    """The texts of tokens that stand side by side."""
    text, end = "", tokens[0].at
    for token in tokens:
        if token.at != end or token.kind not in ("word", "sign") or token.text in ",:<>()":
            break
        text, end = text + token.text, token.at + len(token.text)
    return text


def _check(name: str, numbers: tuple[int, ...], token: _Token) -> None:
    if name in _LENGTHS and not numbers:
        raise DdlError(f"{token.text} needs its length in brackets; or write STRING", token.at)
    if name not in _TYPES:
        near = get_close_matches(name, _TYPES | _LONGER.keys(), 1)
        raise DdlError(
            f"{token.text} is no type of Spark" + (f"; did you mean {near[0]}?" if near else ""), token.at
        )
    if len(numbers) > _NUMBERS.get(name, 0):
        raise DdlError(f"{token.text} has too many numbers in brackets", token.at)
    if name == "DECIMAL" and numbers and numbers[0] > MAX_PRECISION:
        raise DdlError(f"a DECIMAL has at most {MAX_PRECISION} digits", token.at)
    if name == "DECIMAL" and len(numbers) == 2 and numbers[1] > numbers[0]:
        raise DdlError(f"a DECIMAL of {numbers[0]} digits cannot have {numbers[1]} decimal places", token.at)
