"""Nothing depends on the time of the machine: a run takes it from its clock, and tests wait for conditions alone.

A test that compares seconds, or sleeps and hopes, fails on a busy machine and proves nothing on a quiet one.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from unit.test_source_words import ROOT, modules, name


CLOCK = "app/src/mainstem/runtime/clock.py"
"""The one module of a run that asks the machine for the time."""

MAY = {
    "tests/harness/waiting.py": "the one loop that waits",
    "tests/harness/clock.py": "lets other threads go on while its own time stands still",
    "tests/harness/load.py": "keeps the cores busy for a bounded time",
    "tests/harness/build.py": "prints how long a build took",
    "tests/harness/images/__main__.py": "prints how long an image took",
    "tests/harness/cluster/__main__.py": "prints how long a step took",
    "tests/harness/gate/tier_runs.py": "prints the minutes of each tier",
    "tests/harness/cluster/bare.py": "prints when each phase of the start was over",
    "tests/harness/cluster/node.py": "runs with the standard library alone, and starts ended servers again after a pause",
    "tests/harness/faultservers.py": "prints how long a recovery took",
    "tests/harness/records.py": "gives up when a broker is silent",
    "tests/usercode/hanging.py": "blocks a batch until a gate opens",
    "tests/usercode/hungry.py": "keeps its memory while other processes take theirs",
    "tests/usercode/sinks.py": "blocks a batch until a gate opens",
}
"""Module of the tests -> why it may ask for the time, or sleep."""
VIRTUAL = "unit.virtual_time"
"""A module that imports it runs asyncio by a clock that the time of the machine does not move."""

CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
STOPWATCH = {f"time.{clock}{unit}" for clock in CLOCKS for unit in ("", "_ns")} | {
    "time.sleep",
    "asyncio.sleep",
}
ANY_TIME = STOPWATCH | {"datetime.now"}


@cache
def nodes(module: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(module.read_text(encoding="utf-8"))))


def calls(module: Path, functions: set[str]) -> list[int]:
    """The lines of a module that call one of these functions, or pass it on; not those where a task only lets others run."""
    names = {function.rpartition(".")[2] for function in functions}
    places = [
        node
        for node in nodes(module)
        if isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node) in functions
    ]
    yields = {
        id(node.func)
        for node in nodes(module)
        if isinstance(node, ast.Call) and node.func in places and ast.unparse(node) == "asyncio.sleep(0)"
    }
    return [node.lineno for node in places if id(node) not in yields]


def imports(module: Path, other: str) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.module == other for node in nodes(module))


def of_tests() -> Iterator[Path]:
    """All modules of the tests but this one, and those that run by virtual time."""
    for module in modules("tests"):
        if module != Path(__file__) and name(module) not in MAY and not imports(module, VIRTUAL):
            yield module


def timed_waits(module: Path) -> list[int]:
    """The lines that wait for an event of a thread with a limit of time."""
    return [
        node.lineno
        for node in nodes(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "wait"
        and len(node.args) == 1
        and not ast.unparse(node.func).endswith(("process.wait", "clock.wait"))
    ]


def short_requests(module: Path) -> list[int]:
    """The lines that ask a server once with a limit of their own: a request that is made again handles an `OSError`."""
    again = {
        id(node)
        for part in nodes(module)
        if isinstance(part, ast.Try)
        and any(handler.type and "OSError" in ast.unparse(handler.type) for handler in part.handlers)
        for statement in part.body
        for node in ast.walk(statement)
    }
    return [
        node.lineno
        for node in nodes(module)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("urlopen")
        and id(node) not in again
        and any(each.arg == "timeout" and isinstance(each.value, ast.Constant) for each in node.keywords)
    ]


def test_a_run_takes_the_time_from_its_clock_alone() -> None:
    places = {
        name(module): lines
        for module in modules("app/src/mainstem/runtime")
        if (lines := calls(module, ANY_TIME) + timed_waits(module))
    }
    assert places.keys() == {CLOCK}


def test_tests_neither_sleep_nor_measure() -> None:
    places = {name(module): lines for module in of_tests() if (lines := calls(module, STOPWATCH))}
    assert places == {}, "wait for a condition with harness.waiting, or own the time with harness.clock"


def test_an_answer_of_a_server_may_take_as_long_as_anything() -> None:
    places = {name(module): lines for module in of_tests() if (lines := short_requests(module))}
    assert places == {}, "give a request harness.waiting.LIMIT: the first one may start what answers it"


def test_each_exception_is_one() -> None:
    assert [module for module in MAY if not calls(ROOT / module, STOPWATCH)] == []
