"""Checks the expectations of a view: computes and counts a verdict for each row in one pass (`observe`), then filters."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem import reasons
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.model.expectations import CHECKED, METRIC, ROWS, Expectation
from mainstem.language.model.views import View


EXPECTATION_FAILED: Final = "mainstem:ExpectationFailed:"
_ADDED: Final = ("violated", "time")


def with_verdicts(
    frame: DataFrame, view: View, occurrence: str, *, is_counted: bool, fails: bool
) -> DataFrame:
    """The rows with a verdict for each expectation: true if the row meets the expectation; null counts as false.

    The counts read each verdict of each row. In a filter above them an error would be missed: Spark evaluates what it derives
    from filters of later views first, and these may drop the row. So rows that can fail are counted in any case.

    Args:
        frame: the rows of the view.
        view: the view.
        occurrence: name of the view's occurrence in the query.
        is_counted: whether the counts are the view's, `mainstem-expectations.<view>`.
        fails: whether a violation with `onViolation: fail` raises an error.
    """
    columns = {
        _verdict(index): _checked(view, expectation, fails=fails)
        for index, expectation in enumerate(view.expectations)
    }
    rows = frame.withColumns(columns)
    if not is_counted and not (fails and any(_raises(expectation) for expectation in view.expectations)):
        return rows
    counts = [
        F.count_if(~F.col(_verdict(i))).alias(expectation.name)
        for i, expectation in enumerate(view.expectations)
    ]
    metric = f"{METRIC}{view.name}" if is_counted else f"{CHECKED}{occurrence}"
    return rows.observe(metric, F.count(F.lit(1)).alias(ROWS), *counts)


def check_expectation(frame: DataFrame, expectation: Expectation) -> None:
    """Let Spark analyse one expectation over rows; Spark's error is raised unchanged."""
    frame.select(F.coalesce(F.expr(expectation.expect), F.lit(False)))


def keep(rows: DataFrame, view: View) -> DataFrame:
    """The rows that the view keeps."""
    for index, expectation in enumerate(view.expectations):
        if expectation.on_violation in ("drop", "quarantine"):
            rows = rows.where(F.col(_verdict(index)))
    return rows.drop(*_verdicts(view))


def quarantine_rows(rows: DataFrame, view: View) -> DataFrame:
    """The quarantined rows: the view's columns, the names of all violated expectations, and the time.

    Raises:
        SpecInvalid: the view has a column `violated` or `time`.
    """
    duplicates = [name for name in _ADDED if name in map(str.lower, rows.columns)]
    if duplicates:
        message = f"the view has a column {duplicates[0]!r}, and its quarantine adds a column of that name; rename it in the view"
        raise SpecInvalid(
            [Problem(0, 0, "spec.views", f"{view.name!r}: {message}", reasons.DUPLICATE_COLUMN)]
        )
    passes = F.lit(True)
    for index, expectation in enumerate(view.expectations):
        if expectation.on_violation == "quarantine":
            passes = passes & F.col(_verdict(index))
    return (
        rows.where(~passes)
        .withColumns({"violated": _violated_names(view), "time": F.current_timestamp()})
        .drop(*_verdicts(view))
    )


def _raises(expectation: Expectation) -> bool:
    return expectation.on_violation == "fail"


def _checked(view: View, expectation: Expectation, *, fails: bool) -> Column:
    verdict = F.coalesce(F.expr(expectation.expect), F.lit(False))
    if not fails or not _raises(expectation):
        return verdict
    message = f"{EXPECTATION_FAILED} a row of the view {view.name!r} violates {expectation.name!r}"
    return F.when(verdict, True).otherwise(F.raise_error(F.lit(message)))


def _violated_names(view: View) -> Column:
    names = [
        F.when(~F.col(_verdict(i)), F.lit(expectation.name))
        for i, expectation in enumerate(view.expectations)
    ]
    return F.array_compact(F.array(*names))


def _verdict(index: int) -> str:
    return f"__mainstem_verdict_{index}"


def _verdicts(view: View) -> list[str]:
    return [_verdict(index) for index in range(len(view.expectations))]
