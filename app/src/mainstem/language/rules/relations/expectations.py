"""Expectations: a predicate looks at one row, and what is put aside is read by exactly one query."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.context import Context
from mainstem.language.sql.facts import subquery
from mainstem.language.sql.text import forbidden_calls
from mainstem.language.yaml.yamltext import Path


def predicates(context: Context) -> Iterator[Problem]:
    """An expectation reads no relation, and calls nothing that reaches into the JVM."""
    for index, view in enumerate(context.spec.views):
        for place, expectation in enumerate(view.expectations):
            path: Path = ("views", index, "expectations", place, "expect")
            for refusal in forbidden_calls(expectation.expect):
                yield context.problem(path, refusal.message, refusal.reason, offset=refusal.offset)
            if subquery(expectation.expect):
                message = "an expectation is a predicate over the columns of one row; join what it needs in the view"
                yield context.problem(path, message, reasons.NOT_A_PREDICATE)


def quarantines(context: Context) -> Iterator[Problem]:
    """Exactly one query reads a view's quarantine, so that each row put aside is written once."""
    for index, view in enumerate(context.spec.views):
        if view.quarantine is None:
            continue
        place = next(at for at, one in enumerate(view.expectations) if one.on_violation == "quarantine")
        path: Path = ("views", index, "expectations", place, "onViolation")
        if not (readers := context.readers(view.quarantine)):
            message = f"no query reads {view.quarantine!r}, so the rows would vanish; add one, or use onViolation: drop"
            yield context.problem(path, message, reasons.QUARANTINE_UNREAD)
        elif len(readers := context.readers(view.quarantine, certain=True)) > 1:
            message = f"{view.quarantine!r} is read by {' and '.join(readers)}; exactly one query may"
            yield context.problem(path, message, reasons.QUARANTINE_READ_TWICE)
