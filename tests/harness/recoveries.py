"""A table at the end of a run: how long the pipeline of each fault took until every record was written."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print fault, seconds from the end of the fault until all records are in all sinks, and drivers started meanwhile."""
    rows = [
        (fault(report.nodeid), properties["recovery"], properties["drivers"])
        for report in terminalreporter.getreports("passed")
        if "recovery" in (properties := dict(report.user_properties))
    ]
    if not rows:
        return
    terminalreporter.section("recovery after faults")
    width = max(len(name) for name, _, _ in rows) + 2
    terminalreporter.line(f"{'fault':{width}}{'seconds':>8}{'drivers':>9}")
    for name, seconds, drivers in sorted(rows):
        terminalreporter.line(f"{name:{width}}{seconds:8.1f}{drivers:9}")


def fault(test: str) -> str:
    """The name of a fault: the parameter of the test, or else the words of its name."""
    _, _, name = test.rpartition("::")
    function, _, parameter = name.partition("[")
    return parameter.removesuffix("]") or function.removeprefix("test_").replace("_", " ")
