"""Code of every kind that fails in the way that a row names."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


def import_missing() -> None:
    import module_that_is_not_there  # noqa: F401


def raise_lines() -> None:
    raise ValueError('first line\nsecond: líne ☃\n\n  File "x.py", line 3, in f\nlast')


def raise_long() -> None:
    raise ValueError("x" * 100_000)


def raise_chained() -> None:
    try:
        int("many")
    except ValueError as error:
        raise RuntimeError("no such count") from error


def raise_group() -> None:
    raise ExceptionGroup("several", [ValueError("one"), TypeError("two")])


WAYS: dict[str, Callable[[], Any]] = {
    "type": lambda: len(5),  # type: ignore[arg-type]
    "import": import_missing,
    "lines": raise_lines,
    "long": raise_long,
    "library": lambda: re.compile("("),
    "chained": raise_chained,
    "exit": lambda: sys.exit("enough"),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "group": raise_group,
}


def udf(how: str) -> int:
    """For SQL, row by row."""
    WAYS[how]()
    return 1


def vectorized(how: pd.Series) -> pd.Series:
    """For SQL, by Series."""
    WAYS[how[0]]()
    return how.str.len()


def misfit(how: pd.Series) -> pd.Series:
    """Strings where numbers are expected."""
    return how


def each_batch(batch: DataFrame, _number: int) -> None:
    """A sink of batches."""
    for row in batch.collect():
        WAYS[row.how]()


def no_number(batch: DataFrame) -> None:
    """No sink of batches: takes no number."""


def each_row(row: Row) -> None:
    """A sink of rows."""
    WAYS[row.how]()


class Rows:
    """The same as a class."""

    def process(self, row: Row) -> None:
        WAYS[row.how]()


def frame(_rows: DataFrame) -> DataFrame:
    """A view."""
    WAYS["type"]()
    return _rows


def no_input() -> None:
    """No view: takes no relation."""


class Processor(StatefulProcessor):
    """State by rows."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for row in rows:
            WAYS[row.how]()
        return iter(())


class PandasProcessor(Processor):
    """State by DataFrames of pandas."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for part in rows:
            WAYS[part["how"][0]]()
        return iter(())


class OtherTimer(Processor):
    """Spark gives the last argument by name, and the name is another."""

    def handleExpiredTimer(self, key: Any, timerValues: Any, timer: Any) -> Iterator[Any]:
        return iter(())


def with_state(_key: Any, frames: Iterator[pd.DataFrame], _state: Any) -> Iterator[pd.DataFrame]:
    """State of the older kind."""
    for part in frames:
        WAYS[part["how"].iloc[0]]()
    return iter(())


def no_state(_key: Any, _frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """No state: takes none."""
    return iter(())
