"""Recognizes what a predicate over one row cannot contain: Spark has no other rows and no other relations there."""

from collections.abc import Collection
from typing import Final

from sqlglot import exp

from mainstem.language.sql.aggregates import is_aggregate
from mainstem.language.sql.builtins import GENERATORS
from mainstem.language.sql.event_time import called
from mainstem.language.sql.parser import NotReadable, parse


SUBQUERY: Final = "a subquery"


def beyond_a_row(predicate: str, declared: Collection[str] = ()) -> str | None:
    """What the predicate certainly has that needs more than its row, such as `a subquery`; never raises.

    Args:
        predicate: a SQL expression.
        declared: the aggregates of the document, in lower case.
    """
    try:
        trees = parse(f"SELECT 1 WHERE ({predicate}\n)")
    except NotReadable:
        return None
    where = trees[0].args.get("where") if len(trees) == 1 else None
    for node in where.walk() if where is not None else ():
        if isinstance(node, exp.Query):
            return SUBQUERY
        if isinstance(node, exp.Window):
            return "a window function"
        if is_aggregate(node, declared):
            return "an aggregate"
        if called(node) in GENERATORS:
            return "a function that makes several rows of one"
    return None
