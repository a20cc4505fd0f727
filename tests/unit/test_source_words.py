"""Words of the sources: docstrings, comments, messages, identifiers and names of tests use the terms of the glossary."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from unit.vocabulary import RETIRED_IDENTIFIERS, RETIRED_WORDS, retired_words


ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("app/src", "app/jars/src", "operator/src")
HELPERS = ("tests/harness", "bench", "demo")

EXCEPTIONS: dict[tuple[str, str], str] = {}
"""(module, retired word) -> why it may stand there."""

TEST_EXCEPTIONS = {"test_helm_lint_has_no_warning": "the command is called `helm lint`"}
"""Name of a test -> why it may hold a retired word."""

JAVA_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)


def modules(*folders: str, suffix: str = ".py") -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob(f"*{suffix}"))


def name(module: Path) -> str:
    return str(module.relative_to(ROOT))


@cache
def tree(module: Path) -> ast.Module:
    """A module, parsed once for all tests."""
    return ast.parse(module.read_text(encoding="utf-8"))


def texts(module: Path) -> Iterator[str]:
    """The docstrings, comments and string literals of a module in Python or Java."""
    source = module.read_text(encoding="utf-8")
    if module.suffix == ".java":
        yield from JAVA_TEXT.findall(source)
        return
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def words(module: Path) -> list[str]:
    """Each retired word of a module, with what stands instead; code in `spans` is left out."""
    prose = " ".join(re.sub(r"`[^`\n]+`", "", text) for text in texts(module))
    held = retired_words(re.sub(r"\s*\n[\s#*>]*", " ", prose))
    return [f"{word}: {RETIRED_WORDS[word]}" for word in held if (name(module), word) not in EXCEPTIONS]


def assigned(module: Path) -> Iterator[str]:
    """The names that a module gives to variables, parameters, attributes, functions and imports."""
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


@cache
def names(module: Path) -> frozenset[str]:
    """`assigned`, parsed once for all tests."""
    return frozenset(assigned(module))


def identifiers(module: Path) -> list[str]:
    return sorted(RETIRED_IDENTIFIERS & names(module))


def held(check: Callable[[Path], list[str]], sources: list[Path]) -> dict[str, list[str]]:
    """Module -> what it still holds; clean modules are left out."""
    return {name(module): entries for module in sources if (entries := check(module))}


def test_no_source_holds_a_retired_word() -> None:
    sources = [*modules(*PRODUCT, *HELPERS), *modules("app/jars/src", suffix=".java")]
    assert len(sources) > 250
    assert held(words, sources) == {}


def test_no_source_assigns_to_a_retired_identifier() -> None:
    assert held(identifiers, list(modules(*PRODUCT, "tests", "bench", "demo"))) == {}


def test_no_test_has_a_retired_word_in_its_name() -> None:
    tests = [test for module in modules("tests") for test in names(module) if test.startswith("test_")]
    assert len(tests) > 1000
    assert {test for test in tests if list(retired_words(test.replace("_", " ")))} == set(TEST_EXCEPTIONS)


def test_every_exception_is_needed() -> None:
    for module, word in EXCEPTIONS:
        assert word in list(retired_words(" ".join(texts(ROOT / module))))


def test_words_and_identifiers_are_detected(tmp_path: Path) -> None:
    python, java = tmp_path / "module.py", tmp_path / "Module.java"
    python.write_text(
        '"""The driver is told `scout`."""\nfound = f"it {found} claims"  # one that says\ndef f(of, *, what=1): ...\n'
    )
    java.write_text('/** What the driver\n * said. */ // heard\nString heard = "a room"; // `lint`\n')
    assert list(retired_words(" ".join(texts(python)))) == [
        "told|heard",
        "says|said",
        "claims?|claimed",
        "scouts?",
    ]
    assert list(retired_words(" ".join(texts(java)))) == [r"lint", "told|heard", "says|said", "rooms?"]
    assert identifiers(python) == ["found", "of", "what"]
