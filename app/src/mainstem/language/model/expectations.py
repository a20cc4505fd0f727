"""Expectations: predicates for the rows of a view, and the action for rows that violate one."""

from typing import Annotated, Final, Literal

from pydantic import Field

from mainstem.language.base import LIST_MAP, Identifier, Model, Predicate


MOST: Final = 16
"""Expectations of one view."""
METRIC: Final = "mainstem-expectations."
ROWS: Final = "mainstem-rows"
"""Prefix of the name of a view's observation in Spark, and name of its row count. No expectation has this name."""
CHECKED: Final = "mainstem-checked."
"""Prefix of the name of an observation whose counts nobody reads, before an occurrence: it makes Spark look at each row."""


class Expectation(Model):
    """A predicate that each row of the view should fulfil. Mainstem counts the rows while Spark computes them."""

    name: Identifier
    """Name of the expectation in counts and metrics."""
    expect: Predicate
    """A predicate in Spark SQL over the view's columns. A row for which it is null violates it."""
    on_violation: Literal["warn", "drop", "fail", "quarantine"] = "warn"
    """For a row that violates the expectation: `warn` only counts it, `drop` omits it, `fail` fails the query,
    `quarantine` moves it to the relation `<view>_quarantine`."""


Expectations = Annotated[tuple[Expectation, ...], Field(max_length=MOST, json_schema_extra=LIST_MAP)]
