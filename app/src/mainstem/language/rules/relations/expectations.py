"""Expectations: a predicate looks at one row, and exactly one query reads the quarantined rows."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.context import Context
from mainstem.language.sql.facts import subquery
from mainstem.language.sql.text import forbidden_calls
from mainstem.language.yaml.yamltext import Path


def predicates(context: Context) -> Iterator[Problem]:
    """An expectation reads no relation, and calls no function that reaches into the JVM."""
    for index, view in enumerate(context.spec.views):
        for place, expectation in enumerate(view.expectations):
            path: Path = ("views", index, "expectations", place, "expect")
            for refusal in forbidden_calls(expectation.expect):
                yield context.problem(path, refusal.message, refusal.reason, offset=refusal.offset)
            if subquery(expectation.expect):
                message = "an expectation must not contain a subquery; it is a predicate over the columns of one row; write a join in the view"
                yield context.problem(path, message, reasons.NOT_A_PREDICATE)


def quarantines(context: Context) -> Iterator[Problem]:
    """Exactly one query reads a view's quarantine, so that each quarantined row is written once."""
    for index, view in enumerate(context.spec.views):
        if view.quarantine is None:
            continue
        actions = [expectation.on_violation for expectation in view.expectations]
        place = actions.index("quarantine")
        path: Path = ("views", index, "expectations", place, "onViolation")
        if not (readers := context.readers(view.quarantine)):
            message = f"no query reads {view.quarantine!r}, so its rows would be lost; add a query that reads it, or use onViolation: drop"
            yield context.problem(path, message, reasons.QUARANTINE_UNREAD)
        elif len(readers := context.readers(view.quarantine, certain=True)) > 1:
            message = f"{view.quarantine!r} is read by {' and '.join(readers)}; only one query may read it, so change the others"
            yield context.problem(path, message, reasons.QUARANTINE_READ_TWICE)
