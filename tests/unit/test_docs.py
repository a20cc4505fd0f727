"""What the pages say is so: targets, links, documents, exit codes, reasons."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from mainstem.errors import Exit
from mainstem.spec.document import read_text


ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
RUNBOOK = ROOT / "docs" / "runbook.md"
PAGES = sorted([README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
CAMEL = re.compile(r"(?!False$|True$)(?=[A-Za-z]*[a-z])[A-Z][A-Za-z]+")
TAKES_A_REASON = {
    "Failure": slice(0, 1),
    "Problem": slice(1, None),
    "Refusal": slice(1, None),
    "_problem": slice(1, None),
    "_sign": slice(1, None),
    "problem": slice(1, None),
}
"""Calls that take a reason without its name, and where."""


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def named(node: ast.AST) -> Iterator[str]:
    """The CamelCase strings of an expression, those of `a if b else c` and `a or b` too."""
    for part in (
        [node.body, node.orelse]
        if isinstance(node, ast.IfExp)
        else node.values
        if isinstance(node, ast.BoolOp)
        else [node]
    ):
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and CAMEL.fullmatch(part.value):
            yield part.value


def reasons_of(module: Path) -> Iterator[str]:
    """Reasons that a module gives: as an argument, as a default, beside a message, or at a message's end."""
    for node in ast.walk(ast.parse(text(module))):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [keyword.value for keyword in node.keywords if keyword.arg == "reason"]
            given += node.args[TAKES_A_REASON[called]] if called in TAKES_A_REASON else []
            for argument in given:
                yield from named(argument)
        elif isinstance(node, ast.arguments):
            defaults = dict(zip([a.arg for a in node.args[::-1]], node.defaults[::-1], strict=False))
            if "reason" in defaults:
                yield from named(defaults["reason"])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from re.findall(r" \[([A-Z][a-zA-Z]+)\]$", node.value)
        elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and "messages" in module.name:
            yield from named(node.elts[1])


def reasons() -> dict[str, str]:
    """Reason -> a module that gives it."""
    modules = sorted((ROOT / "app" / "src" / "mainstem").rglob("*.py"))
    return {reason: module.name for module in modules for reason in reasons_of(module)}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_that_is_named_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", text(ROOT / "Makefile"), re.MULTILINE))
    wanted = set(re.findall(r"(?:`|^\s*)make ([a-z][a-z-]*)", text(ROOT / name), re.MULTILINE))
    assert wanted
    assert wanted <= targets


def test_documents_in_the_readme_are_valid() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", text(README), re.DOTALL)
    documents = [block for block in blocks if block.startswith("apiVersion: mainstem.dev")]
    assert documents
    for document in documents:
        assert read_text(document, "README.md")[0].warnings == ()
    assert min(len(document.splitlines()) for document in documents) <= 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text(page), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", prose)
    local = [link.partition("#")[0] for link in links if not re.match(r"[a-z]+:|#", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_every_exit_code_stands_in_the_readme() -> None:
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", text(README), re.MULTILINE)}
    assert rows == {int(code) for code in Exit}


def test_every_reason_stands_in_the_runbook() -> None:
    given = reasons()
    assert len(given) > 60
    assert {"SpecInvalid", "UnknownField", "InvalidYaml", "BadRecord", "SinkFolderTaken"} <= set(given)
    page = text(RUNBOOK)
    assert {reason: module for reason, module in given.items() if f"`{reason}`" not in page} == {}


def test_every_reason_of_the_runbook_exists() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", text(RUNBOOK), re.MULTILINE)
    ours = {reason for reason in rows if CAMEL.fullmatch(reason)}
    assert ours - set(reasons()) == set()


def test_every_scenario_stands_in_its_table() -> None:
    found = re.findall(r"^\| (S\d\d) \|", text(ROOT / "docs" / "scenarios.md"), re.MULTILINE)
    assert found == [f"S{number:02d}" for number in range(1, 40)]
