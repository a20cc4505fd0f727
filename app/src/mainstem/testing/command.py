"""`mainstem test`: reads test files, runs their cases and reports the outcomes."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from mainstem.testing import files, report


def run(
    paths: Sequence[Path],
    overrides: Mapping[str, str],
    *,
    junit: Path | None,
    verbose: bool,
    write: Callable[[str], None],
) -> bool:
    """Run the tests of every file; True where all passed.

    Args:
        paths: test files, or pipelines' files that have a test file beside them.
        overrides: values of parameters.
        junit: the file for JUnit's XML, which is also written if a test fails.
        verbose: show Spark's INFO lines.
        write: takes the output, line by line.

    Raises:
        SpecInvalid: a file is invalid; then no test runs.
        NotReady: a file cannot be read, or Spark does not start.
    """
    suites = [files.suite(path, overrides) for path in paths]
    from mainstem.runtime.local_sessions import jvm_needs
    from mainstem.runtime.preflight import user_modules
    from mainstem.testing import lab, steps  # these import Spark: only after all files are valid

    start = time.monotonic()
    outcomes: list[report.CaseOutcome] = []
    try:
        for _, together in groupby(suites, lambda suite: jvm_needs(suite.document)):
            first, *others = together
            document = first.document
            with (
                user_modules.in_folder(document.folder),
                lab.opened(document.pipeline, code=document.folder, verbose=verbose) as spark,
            ):
                for suite in (first, *others):
                    outcomes += steps.run(suite, spark, lambda outcome: write(report.lines(outcome)))
    finally:
        if junit is not None:
            junit.parent.mkdir(parents=True, exist_ok=True)
            junit.write_text(report.junit(outcomes), encoding="utf-8")
    write(report.summary(outcomes, time.monotonic() - start))
    return all(outcome.passed for outcome in outcomes)
