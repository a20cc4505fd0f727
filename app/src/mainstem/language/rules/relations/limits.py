"""How large a document may be: what costs its reader, or Spark's planner, more than its length shows."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.occurrences import MAX_OCCURRENCES, count_occurrences
from mainstem.language.rules.context import Context


MAX_SQL_TOTAL: Final = 256 * 1024
"""Characters of all views' SQL together: sixteen texts of the greatest length, parsed in about two seconds."""


def sql_size(context: Context) -> Iterator[Problem]:
    """The SQL of all views together has at most 262144 characters."""
    size = sum(len(view.sql or "") for view in context.spec.views)
    if size > MAX_SQL_TOTAL:
        message = (
            f"the SQL of all views together has {size} characters; at most {MAX_SQL_TOTAL} are allowed; "
            "make it several pipelines"
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
                f"the query reads {name!r} {times} times, and sources {counts.total()} times in all, because a view "
                f"is built anew wherever it is read; at most {MAX_OCCURRENCES} times are allowed; "
                "write what is read often to a table, and read that"
            )
            yield context.problem(("queries", index, "from"), message, reasons.TOO_MANY_OCCURRENCES)
