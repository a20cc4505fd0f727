"""Rows of a table of tests: some of them in each run, all of them in `make test-full`."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def sampled(rows: Iterable[Any], every: int) -> list[Any]:
    """The rows as parameters of a test; all but each `every`-th one, from the first on, are marked `full`.

    For tables whose rows are alike. A tuple is a row of several parameters.
    """
    return [row if number % every == 0 else _full(row) for number, row in enumerate(rows)]


def only(rows: Iterable[Any], keep: Container[Any]) -> list[Any]:
    """The rows as parameters of a test; all but those to keep are marked `full`. For tables whose rows differ in kind."""
    return [row if row in keep else _full(row) for row in rows]


def _full(row: Any) -> Any:
    values = row if type(row) is tuple else (row,)  # a named tuple is one value
    return pytest.param(*values, marks=pytest.mark.full)
