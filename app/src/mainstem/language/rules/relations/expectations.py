"""Conditions over rows, which look at one row, and quarantines: exactly one query reads the rows of each."""

from collections.abc import Iterator

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.context import Context
from mainstem.language.sql.predicates import SUBQUERY, beyond_a_row
from mainstem.language.sql.text import forbidden_calls
from mainstem.language.yaml.yamltext import Path


def predicates(context: Context) -> Iterator[Problem]:
    """A condition over rows looks at one row, and calls no function that reaches into the JVM."""
    declared = {function.name.lower() for function in context.spec.functions if function.aggregates}
    for path, subject, text in _predicates(context):
        for refusal in forbidden_calls(text):
            yield context.problem(path, refusal.message, refusal.reason, offset=refusal.offset)
        if more := beyond_a_row(text, declared):
            advice = "write a join in a view" if more == SUBQUERY else "compute it in a view"
            message = (
                f"{subject} must not contain {more}; it is a predicate over the columns of one row; {advice}"
            )
            yield context.problem(path, message, reasons.NOT_A_PREDICATE)


def _predicates(context: Context) -> Iterator[tuple[Path, str, str]]:
    """Each condition over one row: its path, what it is, and its text."""
    for index, view in enumerate(context.spec.views):
        for place, expectation in enumerate(view.expectations):
            yield ("views", index, "expectations", place, "expect"), "an expectation", expectation.expect
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            if sink.delta and sink.delta.merge and sink.delta.merge.delete_when:
                path: Path = ("queries", index, "to", place, "delta", "merge", "deleteWhen")
                yield path, "deleteWhen", sink.delta.merge.delete_when


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
