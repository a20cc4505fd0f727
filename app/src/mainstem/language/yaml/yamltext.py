"""Parses YAML text to plain data, with line and column of every value.

Scalars have the values that kubectl and the API server give them (goyaml.v2 of sigs.k8s.io/yaml, YAML 1.1 without some
parts): `yes`, `on` and `y` are booleans, `0x10`, `017` and `1_000` are numbers; `12:30` and dates are strings. Anchors,
aliases and merge keys (`<<`) work as in kubectl. `!!str` is the only tag with a meaning.
"""

import json
import re
from dataclasses import dataclass, field
from math import isfinite, nan
from types import NoneType
from typing import Any, Final

import yaml

from mainstem import reasons
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.yaml.guard import guard, marked_problem
from mainstem.language.yaml.scalar_positions import index_of


Path = tuple[str | int, ...]
_INTEGER: Final = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_LONGEST: Final = 40
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MEANINGS: Final[tuple[tuple[str, bool | None], ...]] = (
    ("true yes on y", True),
    ("false no off n", False),
    ("null", None),
    ("~", None),
)
_ENDLESS: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Final = {
    spelling: meaning
    for words, meaning in _MEANINGS
    for word in words.split()
    for spelling in (word, word.capitalize(), word.upper())
}
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class YamlText:
    """One YAML document.

    Attributes:
        data: plain dicts, lists and scalars.
        positions: path -> (line, column) of the value, 1-based; a missing field has the position of its parent.
        keys: path -> (line, column) of the key, for fields of mappings.
        spans: path of a string -> begin and end of its text in the source.
        texts: path of a value that is no string -> its text, if JSON writes the value in another way.
        misread: path of a key -> as what kubectl reads it, if it then writes another key: a bare `y` becomes `true`.
        source: the text of the file.
    """

    data: Any
    positions: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict)
    texts: dict[Path, str] = field(default_factory=dict)
    misread: dict[Path, str] = field(default_factory=dict)
    source: str = ""

    def at(self, path: Path) -> Any:
        """The value at an existing path."""
        value = self.data
        for piece in path:
            value = value[piece]
        return value

    def where(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column of the value (or key) at `path`, or of the nearest existing parent."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, (1, 1))

    def where_in(self, path: Path, value: str, offset: int) -> tuple[int, int]:
        """Line and column of the character at `offset` of the string `value` at `path`."""
        if path not in self.spans:
            return self.where(path)
        start, end = self.spans[path]
        at = start + index_of(self.source[start:end], value, offset)
        return self.source.count("\n", 0, at) + 1, at - self.source.rfind("\n", 0, at)


def parse(text: str) -> list[YamlText]:
    """All documents of a file, without empty ones.

    Raises:
        SpecInvalid: the text is not YAML, or a mapping has a key twice (kubectl silently takes the last one).
    """
    text = text.removeprefix("\ufeff")
    strings = guard(text, _Loader)
    loader, readers = _Loader(text), list[_Reader]()
    try:
        while loader.check_node():
            node = loader.get_node()
            readers.append(_Reader(text, strings))
            readers[-1].read(node)
    except yaml.MarkedYAMLError as error:
        raise SpecInvalid([marked_problem(text, error)]) from None
    finally:
        loader.dispose()
    if problems := [problem for reader in readers for problem in reader.problems]:
        raise SpecInvalid(problems)
    return [reader.text() for reader in readers if reader.data is not None]


def render_path(path: Path) -> str:
    """A path in the form of Kubernetes: `spec.sources[0].kafka`, `spec.spark.conf[spark.locality.wait]`."""
    pieces = (f".{part}" if re.fullmatch(r"[A-Za-z_]\w*", str(part)) else f"[{part}]" for part in path)
    return "".join(pieces).lstrip(".") or "$"


def parse_path(text: str) -> Path:
    """The reverse of `render_path`."""
    return tuple(int(index) if index else key for index, key in re.findall(r"\[(\d+)\]|([^.\[\]]+)", text))


class _Flood(Exception):
    """The aliases of a document expand to too many values."""


class _Reader:
    """Reads the nodes of one document; follows aliases, and rejects cycles and too many aliased values."""

    limit = 50_000

    def __init__(self, source: str, strings: frozenset[int]) -> None:
        self.data: Any = None
        self.problems: list[Problem] = []
        self._source = source
        self._strings = strings
        self._positions: dict[Path, tuple[int, int]] = {}
        self._keys: dict[Path, tuple[int, int]] = {}
        self._spans: dict[Path, tuple[int, int]] = {}
        self._texts: dict[Path, str] = {}
        self._misread: dict[Path, str] = {}
        self._open: set[int] = set()
        self._merged: dict[int, list[tuple[yaml.ScalarNode, yaml.Node]]] = {}

    def read(self, node: yaml.Node) -> None:
        """Read one document."""
        try:
            self.data = self._value(node, ())
        except _Flood:
            self._problem(node, (), f"the aliases of this document expand to more than {self.limit} values")

    def text(self) -> YamlText:
        """The document."""
        places = self._positions, self._keys, self._spans, self._texts, self._misread
        return YamlText(self.data, *places, self._source)

    def _value(self, node: yaml.Node, path: Path) -> Any:
        self._positions[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        if len(self._positions) > self.limit:
            raise _Flood
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._open:
            self._problem(node, path, "this value contains itself through an alias; remove the alias")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self._value(child, (*path, index)) for index, child in enumerate(node.value)]
            return self._mapping(node, path)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> Any:
        text = str(node.value)
        if self._bare(node):
            value = _plain(text)
            if isinstance(value, float) and not isfinite(value):
                why = "is too large" if text[-1:].isdigit() else "does not exist in JSON; put it in quotes"
                self._problem(node, path, f"the number {text:.40} {why}")
                return None
        else:  # a quoted or block scalar is always a string
            value = text
        if isinstance(value, str):
            self._spans[path] = (node.start_mark.index, node.end_mark.index)
        elif text and text != json.dumps(value):
            self._texts[path] = text
        return value

    def _bare(self, scalar: yaml.ScalarNode) -> bool:
        """Whether a scalar has no quotes and no tag, so that its text decides its type."""
        return not scalar.style and scalar.start_mark.index not in self._strings

    def _mapping(self, node: yaml.Node, path: Path) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, child in self._fields(node, path):
            name = str(key.value)
            self._keys[*path, name] = (key.start_mark.line + 1, key.start_mark.column + 1)
            if self._bare(key) and (read := _misread(name)):
                self._misread[*path, name] = read
            mapping[name] = self._value(child, (*path, name))
        return mapping

    def _fields(self, node: yaml.Node, path: Path) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
        """The fields of a mapping, and the fields of its `<<` that it does not have; the first of several bases wins."""
        fields: dict[str, tuple[yaml.ScalarNode, yaml.Node]] = {}
        bases: list[yaml.Node] = []
        for key, child in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._problem(key, path, "a key must be a string, not a list or a mapping")
            elif key.value == "<<" and not key.style:
                bases += child.value if isinstance(child, yaml.SequenceNode) else [child]
            elif key.value in fields:
                message = f"the mapping has the key {key.value!r} twice; remove one"
                self._problem(key, (*path, str(key.value)), message, reasons.DUPLICATE_KEY)
            else:
                fields[key.value] = (key, child)
        for base in bases:
            if not isinstance(base, yaml.MappingNode) or id(base) in self._open:
                self._problem(base, path, "the value of << must be another mapping or a list of mappings")
                continue
            if id(base) not in self._merged:
                self._open.add(id(base))
                self._merged[id(base)] = self._fields(base, path)
                self._open.discard(id(base))
            fields = {str(key.value): (key, child) for key, child in self._merged[id(base)]} | fields
        return list(fields.values())

    def _problem(
        self, node: yaml.Node, path: Path, message: str, reason: reasons.Reason = reasons.INVALID_YAML
    ) -> None:
        mark = node.start_mark
        self.problems.append(Problem(mark.line + 1, mark.column + 1, render_path(path), message, reason))


def _plain(text: str) -> Any:
    """The value of a scalar without quotes."""
    if not text:
        return None
    if text in _WORDS:
        return _WORDS[text]
    if _ENDLESS.fullmatch(text):
        return nan
    plain = text.replace("_", "") if text[0] in "+-0123456789" else text
    if _INTEGER.fullmatch(plain) and len(plain) <= _LONGEST:
        return _integer(plain)
    if _FLOAT.fullmatch(plain) is None:
        return text
    number = float(plain)
    return int(number) if abs(number) < 2**53 and number == int(number) else number


def _misread(text: str) -> str:
    """As what kubectl reads a key without quotes; empty if the key keeps its text.

    kubectl writes keys as it has read them, and fractions with the digits of a float of 32 bits: convertToJSONableObject
    in https://github.com/kubernetes-sigs/yaml.
    """
    value = _plain(text) if text else text
    if isinstance(value, (bool, NoneType)):
        return json.dumps(value)
    if value != value:  # noqa: PLR0124 -- kubectl keeps .nan and .inf as keys
        return ""
    kept = value if isinstance(value, str) else f"{value:.6g}" if isinstance(value, float) else str(value)
    return "" if kept == text else f"the number {value}"


def _integer(text: str) -> int:
    """A whole number by the rules of Go's base 0: a number with a leading 0 is octal."""
    octal = re.sub(r"^([-+]?)0+(?=[0-7])", r"\g<1>0o", text)
    return int(octal, 0)
