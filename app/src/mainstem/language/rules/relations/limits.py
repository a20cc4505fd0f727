"""Limits on the size of a document: on parts that cost the parser or Spark's planner more than their length shows."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.occurrences import MAX_OCCURRENCES, count_occurrences
from mainstem.language.rules.context import Context


MAX_SQL_TOTAL: Final = 256 * 1024
"""Characters of the SQL of all views together: sixteen texts of the maximum length, parsed in about two seconds."""


def sql_size(context: Context) -> Iterator[Problem]:
    """The SQL of all views together has at most 262144 characters."""
    size = sum(len(view.sql or "") for view in context.graph.given.spec.views)  # before any is read
    if size > MAX_SQL_TOTAL:
        message = (
            f"the SQL of all views together has {size} characters; at most {MAX_SQL_TOTAL} are allowed; "
            "split the document into several pipelines"
        )
        yield context.problem(("views",), message, reasons.DOCUMENT_TOO_COMPLEX, key=True)


def occurrences(context: Context) -> Iterator[Problem]:
    """A query reads sources at most 256 times in all; a view that is read twice reads its sources twice."""
    for index, query in enumerate(context.spec.queries):
        if query.from_ not in context.graph.names:
            continue
        counts = count_occurrences(context.graph, query.from_)
        if counts.total() > MAX_OCCURRENCES:
            [(name, times)] = counts.most_common(1)
            message = (
                f"the query reads {name!r} {times} times, and sources {counts.total()} times in all, because Spark "
                f"builds a view again for every reference; at most {MAX_OCCURRENCES} times are allowed; "
                "write the shared view to a table, and read the table"
            )
            yield context.problem(("queries", index, "from"), message, reasons.TOO_MANY_OCCURRENCES)
