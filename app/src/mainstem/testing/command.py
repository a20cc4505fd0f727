"""`mainstem test`: reads suites, runs them, tells how they ended."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mainstem.testing import files, report


def run(
    paths: Sequence[Path],
    overrides: Mapping[str, str],
    *,
    junit: Path | None,
    verbose: bool,
    tell: Callable[[str], None],
) -> bool:
    """Run the tests of every file; True where all passed.

    Args:
        paths: files of tests, or of pipelines that have one beside them.
        overrides: values of parameters.
        junit: where to write JUnit's XML; also where tests fail.
        verbose: Spark's INFO lines.
        tell: takes what is said, line by line.

    Raises:
        SpecInvalid: a file is refused; nothing runs then.
        NotReady: a file cannot be read, or Spark does not start.
    """
    suites = [files.suite(path, overrides) for path in paths]
    from mainstem.runtime.preflight import user_modules
    from mainstem.testing import lab, steps  # Spark: only once every file is good

    start = time.monotonic()
    outcomes: list[report.CaseOutcome] = []
    try:
        for suite in suites:
            folder = Path(suite.document.file).absolute().parent
            user_modules.look_in(folder)
            with lab.opened(suite.document.pipeline, code=folder, verbose=verbose) as spark:
                outcomes += steps.run(suite, spark, lambda outcome: tell(report.lines(outcome)))
    finally:
        if junit is not None:
            junit.parent.mkdir(parents=True, exist_ok=True)
            junit.write_text(report.junit(outcomes), encoding="utf-8")
    tell(report.summary(outcomes, time.monotonic() - start))
    return all(outcome.passed for outcome in outcomes)
