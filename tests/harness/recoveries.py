"""A table at the end of a run: how long the pipeline of each fault took until every record was written."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print fault, seconds from the end of the fault until all records are in all sinks, and drivers started meanwhile."""
    rows = [
        (report.nodeid.partition("[")[2].rstrip("]"), properties["recovery"], properties["drivers"])
        for report in terminalreporter.getreports("passed")
        if "recovery" in (properties := dict(report.user_properties))
    ]
    if not rows:
        return
    terminalreporter.section("recovery after faults")
    terminalreporter.line(f"{'fault':32}{'seconds':>8}{'drivers':>9}")
    for fault, seconds, drivers in sorted(rows):
        terminalreporter.line(f"{fault:32}{seconds:8.1f}{drivers:9}")
