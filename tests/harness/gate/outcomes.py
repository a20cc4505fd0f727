"""What became of the tests of a tier, read from the log that pytest writes with `--report-log`."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


STORY = "story"
"""The marker of modules whose tests run in their order: none of them can be repeated alone."""


@dataclass(frozen=True)
class Outcome:
    """What became of one test, or of a module that pytest could not collect.

    Attributes:
        test: its node id, from the root of the checkout.
        seconds: of set-up, call and teardown together.
        error: the first failure, its place in the first line; None if the test passed or was skipped.
        repeat: the node id that repeats it: the module where its tests tell one story. Empty for a module that could not
            be collected: none of its tests ran.
    """

    test: str
    seconds: float = 0.0
    error: str | None = None
    repeat: str = ""


def read(log: Path, root: Path) -> list[Outcome]:
    """The tests of a run in the order in which they ended; none if the run wrote no log.

    :param root: of the checkout; places below it are named from there.
    """
    return outcomes(log.read_text().splitlines() if log.exists() else [], root)


def outcomes(lines: Iterable[str], root: Path) -> list[Outcome]:
    """The tests of a log. The reports of set-up, call and teardown of a test become one outcome."""
    tests: dict[str, Outcome] = {}
    for line in lines:
        report = _report(line)
        if report.get("$report_type") == "TestReport":
            test = report["nodeid"]
            before = tests.get(test, Outcome(test, repeat=_repeat(report)))
            error = before.error or _error(report, root)
            tests[test] = replace(before, seconds=before.seconds + report["duration"], error=error)
        elif report.get("$report_type") == "CollectReport" and report["outcome"] == "failed":
            tests[report["nodeid"]] = Outcome(report["nodeid"], error=_error(report, root))
    return list(tests.values())


def _report(line: str) -> dict[str, Any]:
    """A run that was killed leaves half a line at the end."""
    try:
        report: dict[str, Any] = json.loads(line)
    except json.JSONDecodeError:
        return {}
    return report


def _repeat(report: dict[str, Any]) -> str:
    test: str = report["nodeid"]
    return test.partition("::")[0] if STORY in report["keywords"] else test


def _error(report: dict[str, Any], root: Path) -> str | None:
    if report["outcome"] != "failed":
        return None
    text = report["longrepr"]
    crash = text.get("reprcrash") if isinstance(text, dict) else None
    if crash:
        return f"{_short(Path(crash['path']), root)}:{crash['lineno']}: {crash['message']}"
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return "\n".join([*lines[-1:], *lines[:-1]])  # a trace ends with its error


def _short(path: Path, root: Path) -> str:
    return str(path.relative_to(root) if path.is_relative_to(root) else path)
