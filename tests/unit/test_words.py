"""Words of pages, CLI help and names of modules: terms of Spark, Kubernetes, Kafka and the glossary.

Not tested: words that are right in one sense and retired in another one (`past`, `fit`, `stream` in prose), and names of
test modules, which quote what they test.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from mainstem.cli import main
from unit.vocabulary import RETIRED_MODULES, RETIRED_NAMES, RETIRED_WORDS, retired_names, retired_words


ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "app").glob("*.md"),
        *(ROOT / "operator").glob("*.md"),
        *(ROOT / "bench").glob("*.md"),
        ROOT / "helm" / "mainstem" / "README.md",
        ROOT / "helm" / "mainstem" / "values.yaml",
        ROOT / "helm" / "mainstem" / "templates" / "NOTES.txt",
    ]
)

EXCEPTIONS = {
    (
        "CHANGELOG.md",
        "*",
    ): "it lists the old names beside the new ones, and describes earlier releases in their words",
}
"""(page, retired name or word, or `*`) -> why it may stand there."""

MODULE_EXCEPTIONS = {
    "app/src/mainstem/language/rules/streams": "rules about streaming queries; only the module of options was renamed",
    "demo/run": "it runs the demo; the retired package was one of the app",
    "tests/harness/build": "it builds the servers of the tests; the retired package was one of the app",
}
"""Module or package -> why it has a name that was retired elsewhere."""

ENTRY = re.compile(r"^## (?P<term>.+)\n\n(?P<text>[^\n]+)\n", re.MULTILINE)
MOST_WORDS = 25
"""Of an entry of the glossary: it is one short sentence."""


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code(page: Path) -> str:
    """The parts of a page in code: blocks and `spans`."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", read(page), re.DOTALL))


def prose(page: Path) -> str:
    """The words of a page, without code and without the targets of links."""
    text = re.sub(r"```.*?```|`[^`\n]+`|\{\{.*?\}\}", "", read(page), flags=re.DOTALL)
    text = re.sub(r"\]\([^)\n]*\)", "]", text)
    if page.suffix == ".yaml":
        text = "\n".join(re.findall(r"#(.*)", text))
    return re.sub(r"\s*\n[ #>-]*", " ", text)


def is_excepted(page: Path, retired: str) -> bool:
    return (name(page), retired) in EXCEPTIONS or (name(page), "*") in EXCEPTIONS


def retired_in(page: Path) -> list[str]:
    """Each retired name and word of a page, with what stands instead."""
    held = [*retired_names(code(page)), *retired_words(prose(page))]
    instead = RETIRED_NAMES | RETIRED_WORDS
    return [f"{word}: {instead[word]}" for word in held if not is_excepted(page, word)]


def commands(command: click.Command, *path: str) -> Iterator[tuple[str, ...]]:
    """The path of every command, hidden ones too; that of `mainstem` itself is empty."""
    yield path
    for word, below in getattr(command, "commands", {}).items():
        yield from commands(below, *path, word)


ENTRIES = list(ENTRY.finditer(read(GLOSSARY)))


def modules() -> Iterator[str]:
    """Every module and package of the sources, and every helper of tests, as a path without suffix."""
    for folder in ("app/src", "operator/src", "tests", "bench", "demo"):
        for module in (ROOT / folder).rglob("*.py"):
            if not module.name.startswith("test_"):
                yield name(module.parent if module.name == "__init__.py" else module.with_suffix(""))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_holds_no_retired_word(page: Path) -> None:
    assert retired_in(page) == []


@pytest.mark.parametrize("command", list(commands(main)), ids=" ".join)
def test_the_help_of_a_command_holds_no_retired_word(command: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(main, [*command, "--help"])
    assert shown.exit_code == 0
    text = re.sub(r"\s+", " ", shown.output)
    assert [*retired_names(text), *retired_words(text)] == []


def test_no_module_has_a_retired_name() -> None:
    retired = {path for path in modules() if path.rpartition("/")[2] in RETIRED_MODULES}
    assert len(list(modules())) > 200
    assert retired == set(MODULE_EXCEPTIONS)


def test_every_exception_is_needed() -> None:
    for page, word in EXCEPTIONS:
        held = [*retired_names(code(ROOT / page)), *retired_words(prose(ROOT / page))]
        assert held if word == "*" else word in held


def test_words_are_detected_in_prose_and_names_in_code(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "The driver is\ntold, [says](lint.md) `scout` and `Refused: x`. Refused. A mushroom proclaims bad\nrecords.\n"
    )
    assert list(retired_names(code(page))) == ["Refused"]
    assert list(retired_words(prose(page))) == [r"(?:good|bad) records?", "told|heard", "says|said"]


def test_the_glossary_is_in_alphabetical_order() -> None:
    terms = [entry["term"] for entry in ENTRIES]
    assert len(terms) == len(re.findall(r"^## ", read(GLOSSARY), re.MULTILINE)) > 30
    assert terms == sorted(terms, key=str.casefold)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["term"])
def test_an_entry_of_the_glossary_is_one_short_sentence(entry: re.Match[str]) -> None:
    sentence = re.sub(r"\]\([^)]*\)", "]", entry["text"])
    assert re.fullmatch(r"[^.]*(?:\.\S[^.]*)*\.", sentence)
    assert len(sentence.split()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_to_the_glossary_lead_to_an_entry(page: Path) -> None:
    anchors = {entry["term"].lower().replace(" ", "-") for entry in ENTRIES}
    pattern = r"\]\(#([^)\s]+)\)" if page == GLOSSARY else r"glossary\.md#([^)\s]+)\)"
    assert set(re.findall(pattern, read(page))) - anchors == set()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/cluster.md", "docs/security.md"])
def test_a_page_leads_to_the_glossary(page: str) -> None:
    assert "glossary.md" in read(ROOT / page)
