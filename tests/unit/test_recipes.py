"""The page of recipes shows the documents and tests that run."""

import re
from pathlib import Path

import pytest
from mainstem.language.document import read
from mainstem.testing.files import suite


ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "k8s" / "samples" / "recipes"
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
FILES = sorted(RECIPES.iterdir())
WITHOUT_CASES = {"files-in-order"}
"""`mainstem test` gives rows, not files: tests/spark/test_recipes.py runs it."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def shown(file: Path) -> str:
    """What the page shows of a file: all of it, of tests the cases."""
    text = file.read_text(encoding="utf-8")
    return text[text.index("cases:\n") :] if file.name.endswith(".test.yaml") else text


def test_the_page_shows_every_file_and_nothing_else() -> None:
    on_page = sorted(blocks("yaml") + blocks("python"))
    assert on_page == sorted(shown(file) for file in FILES if file.is_file())


@pytest.mark.parametrize("file", [f for f in FILES if f.suffix == ".yaml"], ids=lambda file: file.name)
def test_a_recipe_is_valid_without_a_warning(file: Path) -> None:
    document = suite(file, {}).document if file.name.endswith(".test.yaml") else read(file)
    assert document.warnings == ()


def test_every_recipe_has_its_test() -> None:
    names = {file.name.partition(".")[0] for file in FILES if file.suffix == ".yaml"}
    tested = {file.name.partition(".")[0] for file in RECIPES.glob("*.test.yaml")}
    assert names - tested == WITHOUT_CASES
    assert len(names) >= 8


def test_every_question_leads_to_its_recipe() -> None:
    anchors = re.findall(r"^\| .* \| \[.*?\]\(#(.*?)\) \|$", PAGE, re.MULTILINE)
    titles = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert anchors == [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
