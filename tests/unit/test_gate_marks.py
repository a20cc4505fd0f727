"""A test that only `make test-full` runs may name the one of `make test` that fails for the same fault: it is there, and runs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest


TESTS = Path(__file__).resolve().parents[1]
MODULES = {
    str(path.relative_to(TESTS)): ast.parse(path.read_text()) for path in sorted(TESTS.glob("*/test_*.py"))
}


def marks(nodes: list[ast.expr]) -> Iterator[ast.expr]:
    """Each use of the marker `full` in expressions, with its arguments or without."""
    for node in nodes:
        if isinstance(node, (ast.List, ast.Tuple)):
            yield from marks(node.elts)
        elif ast.unparse(node).startswith("pytest.mark.full"):
            yield node


def of_module(module: ast.Module) -> list[ast.expr]:
    values = [
        node.value
        for node in module.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return list(marks(values))


def functions(module: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}


def named() -> Iterator[tuple[str, str]]:
    """Each test or module that names one of the gate, and the name."""
    for path, module in MODULES.items():
        places = [(path, of_module(module))]
        places += [
            (f"{path}::{name}", list(marks(node.decorator_list))) for name, node in functions(module).items()
        ]
        for place, uses in places:
            for use in uses:
                if isinstance(use, ast.Call):
                    [gate] = [word.value for word in use.keywords if word.arg == "gate"]
                    yield place, ast.literal_eval(gate)


def test_there_are_tests_that_name_one() -> None:
    assert len(list(named())) > 30


@pytest.mark.parametrize(("place", "gate"), sorted(named()))
def test_the_named_test_of_the_gate_exists_and_is_not_full_itself(place: str, gate: str) -> None:
    path, _, name = gate.partition("::")
    function = functions(MODULES[path])[name]
    assert not of_module(MODULES[path]), f"{path} is full"
    assert not list(marks(function.decorator_list)), f"{gate} is full"
