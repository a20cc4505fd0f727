"""Recognizes calls of aggregates."""

from collections.abc import Collection

from sqlglot import exp

from mainstem.language.sql.builtins import AGGREGATES
from mainstem.language.sql.event_time import called
from mainstem.language.sql.parser import unwrapped


def is_aggregate(node: exp.Expr, declared: Collection[str] = ()) -> bool:
    """Whether a node is the call of an aggregate.

    Args:
        node: the node.
        declared: the aggregates of the document, in lower case.
    """
    node = unwrapped(node)
    if isinstance(node, exp.Any):  # a function, or a comparison with the rows of a query or with patterns
        return not isinstance(node.this.unnest(), exp.Query) and not isinstance(
            node.parent, (exp.Like, exp.ILike)
        )
    return isinstance(node, exp.AggFunc) or called(node) in AGGREGATES or called(node) in declared
