"""The packages on the page of the architecture are those of the imports. `python tests/unit/test_architecture.py` draws them anew."""

import ast
import re
from pathlib import Path

import pytest
from grimp import ImportGraph, build_graph


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
SOURCES = [ROOT / "app/src/mainstem", ROOT / "operator/src/mainstem_operator"]
BLOCK = re.compile(r"<!-- packages of ([\w.]+) -->\n(?:\n```mermaid\n(.*?)```\n)?", re.DOTALL)
LONGEST = 300
LARGEST = 20
DRAWN = [
    "mainstem",
    "mainstem.language",
    "mainstem.language.rules",
    "mainstem.dataframes",
    "mainstem.runtime",
    "mainstem_operator",
]


def arrows(graph: ImportGraph, package: str) -> set[tuple[str, str]]:
    """What directly within a package imports what; in the app's picture the operator is one of them."""
    inner = {*graph.find_children(package), *(["mainstem_operator"] if package == "mainstem" else [])}
    parts = {module: part for part in inner for module in (part, *graph.find_descendants(part))}
    return {
        (parts[module], parts[imported])
        for module in parts
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in parts and parts[module] != parts[imported]
    }


def reached(edges: set[tuple[str, str]], start: str) -> set[str]:
    """What the arrows lead to from a package."""
    modules: set[str] = set()
    left = [start]
    while left:
        following = {head for tail, head in edges if tail == left[-1]} - modules
        left.pop()
        modules |= following
        left += following
    return modules


def needed(edges: set[tuple[str, str]]) -> list[tuple[str, str]]:
    """The arrows that no way over other packages replaces."""
    return sorted((tail, head) for tail, head in edges if head not in reached(edges - {(tail, head)}, tail))


def picture(graph: ImportGraph, package: str) -> str:
    lines = [
        f"    {tail.rpartition('.')[2]} --> {head.rpartition('.')[2]}"
        for tail, head in needed(arrows(graph, package))
    ]
    return "\n".join(["graph TD", *lines, ""])


@pytest.fixture(scope="module")
def graph() -> ImportGraph:
    return imports()


def imports() -> ImportGraph:
    return build_graph("mainstem", "mainstem_operator", cache_dir=None)


def packages() -> list[Path]:
    return [file.parent for source in SOURCES for file in sorted(source.rglob("__init__.py"))]


@pytest.mark.parametrize("package", DRAWN)
def test_the_page_draws_the_arrows_of_the_imports(graph: ImportGraph, package: str) -> None:
    drawn = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
    assert drawn[package] == picture(graph, package), "run python tests/unit/test_architecture.py"


@pytest.mark.parametrize("package", DRAWN)
def test_no_two_packages_import_each_other(graph: ImportGraph, package: str) -> None:
    edges = arrows(graph, package)
    assert [edge for edge in edges if edge[0] in reached(edges, edge[1])] == []


def defined(reference: str) -> bool:
    """Whether app or operator define `package.module.Class.method`; True for a text that starts with none of their packages."""
    parts = reference.split(".")
    roots = [root for root in SOURCES if (root / parts[0]).is_dir() or (root / f"{parts[0]}.py").is_file()]
    if not roots:
        return True
    for source in roots:
        for length in range(len(parts), 0, -1):
            file = source.joinpath(*parts[:length]).with_suffix(".py")
            if file.is_file():
                return holds(ast.parse(file.read_text(encoding="utf-8")), parts[length:])
    return False


def holds(node: ast.Module | ast.ClassDef, names: list[str]) -> bool:
    """Whether a module or class defines the first name, which defines the next one."""
    if not names:
        return True
    for inner in node.body:
        if getattr(inner, "name", None) == names[0]:
            return len(names) == 1 or (isinstance(inner, ast.ClassDef) and holds(inner, names[1:]))
    return False


def test_every_function_of_the_walks_exists() -> None:
    references = set(re.findall(r"`([a-z][a-z_]*(?:\.\w+)+)`", PAGE.read_text(encoding="utf-8")))
    assert len([name for name in references if name.count(".") > 1]) > 40
    assert [name for name in sorted(references) if not defined(name)] == []


@pytest.mark.parametrize("folder", packages(), ids=lambda folder: folder.name)
def test_no_package_has_too_many_modules(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= LARGEST


@pytest.mark.parametrize("folder", packages(), ids=lambda folder: folder.name)
def test_every_package_has_a_docstring(folder: Path) -> None:
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))


@pytest.mark.parametrize("folder", packages(), ids=lambda folder: folder.name)
def test_no_module_is_long(folder: Path) -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in folder.glob("*.py")}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


if __name__ == "__main__":
    graph_of_imports = imports()
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        BLOCK.sub(
            lambda block: (
                f"<!-- packages of {block[1]} -->\n\n```mermaid\n{picture(graph_of_imports, block[1])}```\n"
            ),
            page,
        ),
        encoding="utf-8",
    )
