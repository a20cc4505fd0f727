"""A test that only `make test-full` runs may name the one of `make test` that fails for the same fault: it is there, and runs."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


TESTS = Path(__file__).resolve().parents[1]


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of tests by their path below the folder of tests, parsed once."""
    return {str(path.relative_to(TESTS)): ast.parse(path.read_text()) for path in TESTS.glob("*/test_*.py")}


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
    for path, module in modules().items():
        places = [(path, of_module(module))]
        places += [
            (f"{path}::{name}", list(marks(node.decorator_list))) for name, node in functions(module).items()
        ]
        for place, uses in places:
            for use in uses:
                if isinstance(use, ast.Call):
                    [gate] = [word.value for word in use.keywords if word.arg == "gate"]
                    yield place, ast.literal_eval(gate)


def is_in_the_gate(test: str) -> bool:
    """Whether there is such a test, and neither it nor its module is full."""
    path, _, name = test.partition("::")
    module = modules().get(path)
    function = functions(module).get(name) if module else None
    return bool(module and function and not of_module(module) and not list(marks(function.decorator_list)))


def test_each_test_that_stands_for_a_full_one_exists_and_is_not_full_itself() -> None:
    pairs = sorted(named())
    assert len(pairs) > 200
    assert [pair for pair in pairs if not is_in_the_gate(pair[1])] == []
