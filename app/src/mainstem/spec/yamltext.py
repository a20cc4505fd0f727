"""YAML text to plain data that knows, for every value, the line and column it stands at.

Scalars follow the JSON schema of YAML 1.2, as Kubernetes reads them in practice: `true`, `false`, `null` and numbers
have types, and everything else is a string. So `on`, `no`, `12:30` and dates stay what was written.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from mainstem.errors import Problem, SpecInvalid


Path = tuple[str | int, ...]
_INT: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None, "~": None, "": None, "True": True, "False": False, "TRUE": True, "FALSE": False, "Null": None, "NULL": None}  # fmt: skip
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Text:
    """One YAML document.

    Attributes:
        data: plain dicts, lists and scalars.
        positions: path -> (line, column), 1-based, of the value; a missing field is looked up at its parent.
        keys: path -> (line, column) of the key, for fields of mappings.
        blocks: paths whose value is a block scalar (`|`, `>`): its text starts on the line after.
    """

    data: Any
    positions: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    blocks: frozenset[Path] = frozenset()

    def where(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Line and column of the value (or key) at `path`, or of the nearest thing around it."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, (1, 1))


def parse(text: str) -> list[Text]:
    """All documents of a file, empty ones left out.

    Raises:
        SpecInvalid: the text is not YAML, or a mapping names a key twice (kubectl would take the last, silently).
    """
    loader = _Loader(text)
    try:
        nodes = []
        while loader.check_node():
            nodes.append(loader.get_node())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise SpecInvalid([Problem(line, column, "$", f"not YAML: {error.problem}", "InvalidYaml")]) from None
    except yaml.YAMLError as error:
        raise SpecInvalid([Problem(1, 1, "$", f"not YAML: {error}", "InvalidYaml")]) from None
    finally:
        loader.dispose()
    return [document for document in map(_document, nodes) if document.data is not None]


def _document(node: yaml.Node) -> Text:
    reader = _Reader()
    data = reader.value(node, ())
    if reader.problems:
        raise SpecInvalid(reader.problems)
    return Text(data, reader.positions, reader.keys, frozenset(reader.blocks))


def render_path(path: Path) -> str:
    """A path as Kubernetes writes it: `spec.sources[0].kafka`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".") or "$"


class _Reader:
    """Walks the nodes of one document; aliases are followed, a cycle or a flood of them is refused."""

    limit = 100_000

    def __init__(self) -> None:
        self.positions: dict[Path, tuple[int, int]] = {}
        self.keys: dict[Path, tuple[int, int]] = {}
        self.blocks: set[Path] = set()
        self.problems: list[Problem] = []
        self._open: set[int] = set()

    def value(self, node: yaml.Node, path: Path) -> Any:
        self.positions[path] = (node.start_mark.line + 1, node.start_mark.column + 1)
        if id(node) in self._open or len(self.positions) > self.limit:
            self._problem(node, path, "aliases that contain themselves, or too many values")
            return None
        if isinstance(node, yaml.ScalarNode):
            if node.style in ("|", ">"):
                self.blocks.add(path)
            return _scalar(node)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
            return dict(self._fields(node, path))
        finally:
            self._open.discard(id(node))

    def _fields(self, node: yaml.Node, path: Path) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for key, child in node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            at = (*path, name)
            if name in seen:
                self._problem(key, at, f"the key {name!r} stands here twice", "DuplicateKey")
                continue
            seen.add(name)
            self.keys[at] = (key.start_mark.line + 1, key.start_mark.column + 1)
            yield name, self.value(child, at)

    def _problem(self, node: yaml.Node, path: Path, message: str, reason: str = "InvalidYaml") -> None:
        mark = node.start_mark
        self.problems.append(Problem(mark.line + 1, mark.column + 1, render_path(path), message, reason))


def _scalar(node: yaml.ScalarNode) -> Any:
    text = str(node.value)
    if node.style in ("'", '"', "|", ">"):  # quoted or block: a string, whatever it looks like
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
