"""A relation's logical plan, as far as it is certain without Spark: what streams, what keeps state, what carries event time.

The plan follows Spark's own closely enough to say what its UnsupportedOperationChecker will refuse. Where a text leaves
doubt, the plan says so, and no rule refuses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from mainstem.spec.views import Deduplicate


Events = frozenset[str] | None
"""Columns that may carry event time, in lower case; None where any may. What is not in it certainly does not."""


class Kind(StrEnum):
    """What a node does."""

    SOURCE = "source"
    SELECT = "select"
    WATERMARK = "watermark"
    AGGREGATE = "aggregation"
    DEDUPLICATE = "deduplication"
    STATE = "state"
    JOIN = "join"
    UNION = "UNION"
    INTERSECT = "INTERSECT"
    EXCEPT = "EXCEPT"
    SORT = "sort"
    LIMIT = "LIMIT"
    OFFSET = "OFFSET"
    SAMPLE = "TABLESAMPLE"
    OVER = "window function"
    SUBQUERY = "subquery"
    ROW_IDS = "monotonically_increasing_id"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Joined:
    """What is certain of a join's condition.

    Attributes:
        type: `inner`, `left`, `right`, `full`, `semi` or `anti`.
        equal: whether a column of one side may be asked to equal one of the other.
        timed: whether event time may bound the state: it may be among the equal columns, or in another comparison.
        ranged: whether it may be in another comparison, for rows of the left and of the right side.
    """

    type: str
    equal: bool
    timed: bool
    ranged: tuple[bool, bool]


@dataclass(frozen=True, eq=False)
class Node:
    """One step of a plan.

    Attributes:
        kind: what it does.
        streams: whether its rows are a stream: yes, no, or unknown.
        events: columns that may carry event time.
        inputs: what it reads.
        view: the view in which it stands; empty for a source.
        offset: where in the view's SQL.
        timed: an aggregation or deduplication: whether event time may be among its keys.
        session: an aggregation: whether a session window is among its keys.
        distinct: an aggregation: whether it certainly aggregates distinct values.
        within: a deduplication: whether it is within the watermark.
        join: of a join its condition.
    """

    kind: Kind
    streams: bool | None
    events: Events
    inputs: "tuple[Node, ...]" = ()
    view: str = ""
    offset: int = 0
    timed: bool = True
    session: bool = False
    distinct: bool = False
    within: bool = False
    join: Joined | None = None

    def all(self) -> "Iterator[Node]":
        """The node and all below it, each once, from above and from the left."""
        seen: set[int] = set()
        todo = [self]
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                todo += reversed(node.inputs)

    @property
    def known(self) -> bool:
        """True where nothing below is unknown."""
        return all(node.kind is not Kind.UNKNOWN for node in self.all())

    @property
    def aggregated(self) -> bool | None:
        """Whether a stream is aggregated: yes, no, or unknown."""
        found = [node.streams for node in self.all() if node.kind is Kind.AGGREGATE]
        if True in found:
            return True
        return None if None in found or not self.known else False

    @property
    def aggregation(self) -> "Node | None":
        """The topmost aggregation of a stream, if it is certain which that is."""
        for node in self.all():
            if node.kind is Kind.UNKNOWN or (node.kind is Kind.AGGREGATE and node.streams is None):
                return None
            if node.kind is Kind.AGGREGATE and node.streams:
                return node
        return None

    @property
    def sides(self) -> tuple[bool | None, ...]:
        """Of each input whether it streams."""
        return tuple(below.streams for below in self.inputs)


def source(streams: bool, watermark: str | None) -> Node:
    """A source, with the column of its watermark."""
    node = Node(Kind.SOURCE, streams, frozenset())
    return watermarked(node, watermark) if watermark else node


def watermarked(below: Node, column: str, view: str = "") -> Node:
    """A relation with event time in one more column."""
    events = None if below.events is None else below.events | {column.lower()}
    return Node(Kind.WATERMARK, below.streams, events, (below,), view)


def deduplicated(below: Node, step: Deduplicate, view: str) -> Node:
    """A relation without what was seen before."""
    keys = None if step.columns is None else {column.lower() for column in step.columns}
    timed = below.events is None or bool(below.events if keys is None else below.events & keys)
    return Node(
        Kind.DEDUPLICATE,
        below.streams,
        below.events,
        (below,),
        view,
        timed=timed,
        within=step.within_watermark,
    )


def stateful(below: Node, view: str) -> Node:
    """What code makes of rows and of the state that it keeps; any of its columns may carry event time."""
    return Node(Kind.STATE, below.streams, None, (below,), view)


def unknown(*inputs: Node, streams: bool | None = None, events: Events = None) -> Node:
    """A step of which nothing else is certain."""
    return Node(Kind.UNKNOWN, streams, events, inputs)


def either(*nodes: Node) -> bool | None:
    """Whether one of them streams."""
    answers = [node.streams for node in nodes]
    if True in answers:
        return True
    return None if None in answers else False


def all_events(*nodes: Node) -> Events:
    """Columns of any of them that may carry event time."""
    found: frozenset[str] = frozenset()
    for node in nodes:
        if node.events is None:
            return None
        found |= node.events
    return found
