"""A relation's logical plan, as far as it is certain without Spark: what streams, what keeps state, what carries event time.

The plan follows Spark's own closely enough to say what its UnsupportedOperationChecker will refuse. Where a text leaves
doubt, the plan says so, and no rule refuses.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from mainstem.language.model.views import Deduplicate, Stateful


EventTimeColumns = frozenset[str] | None
"""Columns that may carry event time, in lower case; None where any may. What is not in it certainly does not."""


class NodeKind(StrEnum):
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


class EarlyDrop(NamedTuple):
    """Rows of a join that Spark drops by their event time, though another column says how long they may find partners.

    Attributes:
        column: of the condition, as it is written.
        event: the event time of the same side.
        certain: whether a row finds all its partners at or after its event time, so that those that are lost are its own.
    """

    column: str
    event: str
    certain: bool


class Bounds(NamedTuple):
    """Up to when a join of streams keeps rows; every answer is yes, no, or unknown. Pairs are of the left and the right side.

    Attributes:
        event_key: whether event time is among the equal columns, which bounds both sides.
        by_range: whether another comparison of the condition bounds the side.
        is_bounded: whether rows of the side are dropped at last, behind the watermark.
        early_drops: rows that are dropped too early.
    """

    event_key: bool | None
    by_range: tuple[bool | None, bool | None]
    is_bounded: tuple[bool | None, bool | None]
    early_drops: tuple[EarlyDrop, ...] = ()


DOUBTFUL: Final = Bounds(None, (None, None), (None, None))
"""Of a condition that only Spark can read."""


@dataclass(frozen=True)
class Joined:
    """What is certain of a join's condition.

    Attributes:
        type: `inner`, `left`, `right`, `full`, `semi` or `anti`.
        equal: whether a column of one side may be asked to equal one of the other; Spark finds some that are not written so.
        bounds: up to when rows are kept, where both sides stream.
    """

    type: str
    equal: bool
    bounds: Bounds


@dataclass(frozen=True, eq=False)
class Node:
    """One step of a plan.

    Attributes:
        kind: what it does.
        streams: whether its rows are a stream: yes, no, or unknown.
        events: columns that may carry event time.
        ends: columns that certainly are the start or the end of a window over event time.
        inputs: what it reads.
        view: the view in which it stands; empty for a source.
        offset: where in the view's SQL.
        timed: an aggregation, deduplication or EXCEPT: whether event time may be among its keys.
        session: an aggregation: whether a session window is among its keys.
        lone: an aggregation: whether a session window is certainly all that its groups are told apart by.
        end_key: an aggregation: where in the view's SQL a key is the start or end of a window, in place of the window.
        implied: an aggregation: whether it stands for DISTINCT, or for that of UNION.
        distinct: an aggregation: whether it certainly aggregates distinct values; EXCEPT: whether it gives each row once.
        equates: a SELECT: whether it may ask columns to be equal, in its filter or for one of its own.
        orders: a SELECT: whether its filter may ask a column to be less than another, of relations that it does not join.
        within: a deduplication: whether it is within the watermark.
        join: of a join its condition.
        step: of state what keeps it.
        known: whether nothing in the plan is unknown.
        aggregated: whether a stream is aggregated: yes, no, or unknown.
        groups: whether the plan has aggregations that may be of a stream: those that are written as such, and those
            that are implied.

    The last three are of the node and all below it, and come from those of the inputs: plans of many thousand nodes
    are asked for them at every node.
    """

    kind: NodeKind
    streams: bool | None
    events: EventTimeColumns
    inputs: "tuple[Node, ...]" = ()
    view: str = ""
    offset: int = 0
    timed: bool = True
    session: bool = False
    lone: bool = False
    implied: bool = False
    distinct: bool = False
    equates: bool = False
    orders: bool = False
    ends: frozenset[str] = frozenset()
    end_key: int | None = None
    within: bool = False
    join: Joined | None = None
    step: Stateful | None = None
    known: bool = field(init=False)
    aggregated: bool | None = field(init=False)
    groups: tuple[bool, bool] = field(init=False)
    _top: "Node | bool" = field(init=False, repr=False)

    def all(self, until: "Callable[[Node], bool]" = lambda _: False) -> "Iterator[Node]":
        """The node and all below it, each once, from above and from the left; not what lies below one that `until` names."""
        seen: set[int] = set()
        todo = [self]
        while todo:
            node = todo.pop()
            if id(node) not in seen:
                seen.add(id(node))
                yield node
                todo += reversed(() if until(node) else node.inputs)

    def __post_init__(self) -> None:
        """Combine what is known of the inputs."""
        aggregates = self.kind is NodeKind.AGGREGATE
        known = self.kind is not NodeKind.UNKNOWN and all(below.known for below in self.inputs)
        answers = [self.streams if aggregates else False, *(below.aggregated for below in self.inputs)]
        unsure = None in answers or not known
        own = aggregates and self.streams is not False
        groups = (own and not self.implied, own and self.implied)
        for below in self.inputs:
            groups = (groups[0] or below.groups[0], groups[1] or below.groups[1])
        object.__setattr__(self, "known", known)
        object.__setattr__(self, "aggregated", True if True in answers else None if unsure else False)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "_top", self._topmost())

    def _topmost(self) -> "Node | bool":
        """The aggregation that is met first from above and from the left; True for none, False where that is unknown."""
        if self.kind is NodeKind.UNKNOWN or (self.kind is NodeKind.AGGREGATE and self.streams is None):
            return False
        if self.kind is NodeKind.AGGREGATE and self.streams:
            return self
        return next((below._top for below in self.inputs if below._top is not True), True)  # noqa: SLF001

    @property
    def aggregation(self) -> "Node | None":
        """The topmost aggregation of a stream, if it is certain which that is."""
        return None if isinstance(self._top, bool) else self._top

    @property
    def sides(self) -> tuple[bool | None, ...]:
        """Of each input whether it streams."""
        return tuple(below.streams for below in self.inputs)

    @property
    def stream_join(self) -> Joined | None:
        """The condition of a join of two streams; None of anything else."""
        return self.join if self.sides == (True, True) else None


def source(streams: bool, watermark: str | None) -> Node:
    """A source, with the column of its watermark."""
    node = Node(NodeKind.SOURCE, streams, frozenset())
    return watermarked(node, watermark) if watermark else node


def watermarked(below: Node, column: str, view: str = "") -> Node:
    """A relation with event time in one more column."""
    events = None if below.events is None else below.events | {column.lower()}
    return Node(NodeKind.WATERMARK, below.streams, events, (below,), view, ends=below.ends)


def deduplicated(below: Node, step: Deduplicate, view: str) -> Node:
    """A relation without what was seen before."""
    keys = None if step.columns is None else {column.lower() for column in step.columns}
    timed = below.events is None or bool(below.events if keys is None else below.events & keys)
    return Node(
        NodeKind.DEDUPLICATE,
        below.streams,
        below.events,
        (below,),
        view,
        timed=timed,
        ends=below.ends,
        within=step.within_watermark,
    )


def stateful(below: Node, step: Stateful, view: str) -> Node:
    """What code makes of rows and of the state that it keeps: of its columns one alone may be said to be event time."""
    column = step.event_time_column
    events = frozenset({column.lower()} if column else ())
    return Node(NodeKind.STATE, below.streams, events, (below,), view, step=step)


def unknown(*inputs: Node, streams: bool | None = None, events: EventTimeColumns = None) -> Node:
    """A step of which nothing else is certain."""
    return Node(NodeKind.UNKNOWN, streams, events, inputs)


def unbounded_state(root: Node) -> list[tuple[Node, tuple[bool, ...]]]:
    """Steps that certainly keep what they have seen for ever, whatever the watermark, and of a join which of its sides.

    Complete mode, which keeps the whole result, is not looked at.
    """
    nodes = list(root.all())
    # A filter that orders columns may stand above a join, and Spark moves it there.
    in_doubt = any(node.kind is NodeKind.UNKNOWN or node.orders for node in nodes)
    steps: list[tuple[Node, tuple[bool, ...]]] = []
    for node in nodes:
        if join := node.stream_join:
            sides = tuple(bounded is False for bounded in join.bounds.is_bounded)
            if any(sides) and not (in_doubt and join.type == "inner"):
                steps.append((node, sides))
        elif node.kind in (NodeKind.AGGREGATE, NodeKind.DEDUPLICATE) and node.streams:
            steps += [] if node.timed or node.within else [(node, ())]
    return steps


def unequal(root: Node) -> list[Node]:
    """Joins without an equality: neither their own condition has one, nor what Spark moves there, filters of the plan and
    conditions of joins above.
    """
    nodes = list(root.all())
    if any(node.kind is NodeKind.UNKNOWN or node.equates for node in nodes):
        return []
    above = [node for node in nodes if node.join and node.join.equal]
    below = {id(node) for node in beneath(above)}
    return [node for node in nodes if node.join and not node.join.equal and id(node) not in below]


def beneath(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes below some, each once; the nodes themselves only where they are below others."""
    inputs = tuple(side for node in nodes for side in node.inputs)
    return (node for node in unknown(*inputs).all() if node.inputs is not inputs)


def either(*nodes: Node) -> bool | None:
    """Whether one of them streams."""
    answers = [node.streams for node in nodes]
    if True in answers:
        return True
    return None if None in answers else False


def all_events(*nodes: Node) -> EventTimeColumns:
    """Columns of any of them that may carry event time."""
    found: frozenset[str] = frozenset()
    for node in nodes:
        if node.events is None:
            return None
        found |= node.events
    return found
