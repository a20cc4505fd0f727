"""The logical plan of a relation without Spark: steps that stream, keep state or carry event time.

The plan is close enough to Spark's plan to predict what Spark's UnsupportedOperationChecker rejects. If a text leaves
doubt, the plan is unknown there, and no rule rejects the text.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from mainstem.language.model.views import Deduplicate, Stateful


EventTimeColumns = frozenset[str] | None
"""Columns that may carry event time, in lower case; other columns certainly do not. None: any column may."""


class NodeKind(StrEnum):
    """The kind of a node."""

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
    """Rows of a join that Spark drops by their event time although another column allows matches for longer.

    Attributes:
        column: the other column of the condition, as written.
        event: the event-time column of the same side.
        certain: whether a row only matches rows at or after its event time, so that Spark certainly loses matches.
    """

    column: str
    event: str
    certain: bool


class Bounds(NamedTuple):
    """How long a join of streams keeps rows; each answer is yes, no or unknown. Pairs are (left side, right side).

    Attributes:
        event_key: whether an event-time column is among the equal columns, which bounds both sides.
        by_range: whether another comparison of the condition bounds the side.
        is_bounded: whether Spark drops rows of the side after the watermark has passed.
        early_drops: rows that Spark drops too early.
    """

    event_key: bool | None
    by_range: tuple[bool | None, bool | None]
    is_bounded: tuple[bool | None, bool | None]
    early_drops: tuple[EarlyDrop, ...] = ()


DOUBTFUL: Final = Bounds(None, (None, None), (None, None))
"""The bounds for a condition that only Spark can read."""


@dataclass(frozen=True)
class Joined:
    """The certain facts about a join's condition.

    Attributes:
        type: `inner`, `left`, `right`, `full`, `semi` or `anti`.
        equal: whether the condition may have an equality between the sides; Spark also derives equalities.
        bounds: how long the join keeps rows if both sides stream.
    """

    type: str
    equal: bool
    bounds: Bounds


@dataclass(frozen=True, eq=False)
class Node:
    """One step of a plan.

    Attributes:
        kind: the kind of the step.
        streams: whether its rows are a stream: yes, no, or unknown.
        events: columns that may carry event time.
        ends: columns that certainly are the start or the end of a window over event time.
        inputs: the nodes that it reads.
        view: the view that contains it; empty for a source.
        offset: its offset in the view's SQL.
        timed: for an aggregation, deduplication or EXCEPT: whether event time may be among its keys.
        session: for an aggregation: whether a session window is among its keys.
        lone: for an aggregation: whether a session window certainly is the only grouping key.
        end_key: for an aggregation: the offset of a key that is the start or end of a window instead of the window.
        implied: for an aggregation: whether it implements DISTINCT, or the DISTINCT of UNION.
        distinct: for an aggregation: whether it certainly aggregates distinct values; for EXCEPT: whether it removes
            duplicates.
        equates: for a SELECT: whether its filter or a projection may compare columns for equality.
        orders: for a SELECT without joins: whether its filter may require one column to be less than another column.
        within: for a deduplication: whether it is within the watermark.
        function: for a window function: its name.
        join: for a join: its condition.
        step: for state: the step of the document that keeps it.
        known: whether the plan has no unknown part.
        aggregated: whether the plan aggregates a stream: yes, no, or unknown.
        groups: whether the plan has aggregations that may be over a stream: explicit ones, and implied ones.

    The last three describe the node and all nodes below it. They are computed from the inputs, because rules read them at
    each of many thousand nodes.
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
    function: str = ""
    join: Joined | None = None
    step: Stateful | None = None
    known: bool = field(init=False)
    aggregated: bool | None = field(init=False)
    groups: tuple[bool, bool] = field(init=False)
    _top: "Node | bool" = field(init=False, repr=False)

    def all(self, until: "Callable[[Node], bool]" = lambda _: False) -> "Iterator[Node]":
        """The node and all nodes below it, each once, from top and left; without those below a node for which `until` is true."""
        visited: set[int] = set()
        todo = [self]
        while todo:
            node = todo.pop()
            if id(node) not in visited:
                visited.add(id(node))
                yield node
                todo += reversed(() if until(node) else node.inputs)

    def __post_init__(self) -> None:
        """Combine the facts about the inputs."""
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
        """The first aggregation from top and left; True if there is none, False if that is unknown."""
        if self.kind is NodeKind.UNKNOWN or (self.kind is NodeKind.AGGREGATE and self.streams is None):
            return False
        if self.kind is NodeKind.AGGREGATE and self.streams:
            return self
        return next((below._top for below in self.inputs if below._top is not True), True)  # noqa: SLF001

    @property
    def aggregation(self) -> "Node | None":
        """The topmost aggregation of a stream, if it is certain."""
        return None if isinstance(self._top, bool) else self._top

    @property
    def sides(self) -> tuple[bool | None, ...]:
        """Whether each input streams."""
        return tuple(below.streams for below in self.inputs)

    @property
    def stream_join(self) -> Joined | None:
        """The condition of a join of two streams; None for any other node."""
        return self.join if self.sides == (True, True) else None


def source(streams: bool, watermark: str | None) -> Node:
    """The plan of a source with the column of its watermark."""
    node = Node(NodeKind.SOURCE, streams, frozenset())
    return watermarked(node, watermark) if watermark else node


def watermarked(below: Node, column: str, view: str = "") -> Node:
    """The plan of a relation with event time in one more column."""
    events = None if below.events is None else below.events | {column.lower()}
    return Node(NodeKind.WATERMARK, below.streams, events, (below,), view, ends=below.ends)


def deduplicated(below: Node, step: Deduplicate, view: str) -> Node:
    """The plan of a relation without duplicates."""
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
    """The plan of a state step; only the column that it declares may be event time."""
    column = step.event_time_column
    events = frozenset({column.lower()} if column else ())
    return Node(NodeKind.STATE, below.streams, events, (below,), view, step=step)


def unknown(*inputs: Node, streams: bool | None = None, events: EventTimeColumns = None) -> Node:
    """A step about which nothing else is certain."""
    return Node(NodeKind.UNKNOWN, streams, events, inputs)


def unbounded_state(root: Node) -> list[tuple[Node, tuple[bool, ...]]]:
    """Steps that certainly keep their state for ever in spite of a watermark, and for a join which of its sides.

    The function ignores complete mode, which keeps the whole result.
    """
    nodes = list(root.all())
    # Spark moves a filter that orders columns from above a join into the join.
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
    """Joins without an equality, in their own condition or in the filters and conditions that Spark moves down to them."""
    nodes = list(root.all())
    if any(node.kind is NodeKind.UNKNOWN or node.equates for node in nodes):
        return []
    above = [node for node in nodes if node.join and node.join.equal]
    below = {id(node) for node in beneath(above)}
    return [node for node in nodes if node.join and not node.join.equal and id(node) not in below]


def beneath(nodes: Iterable[Node]) -> Iterator[Node]:
    """All nodes below the given nodes, each once; a given node only if it is below another one."""
    inputs = tuple(side for node in nodes for side in node.inputs)
    return (node for node in unknown(*inputs).all() if node.inputs is not inputs)


def either(*nodes: Node) -> bool | None:
    """Whether one of the nodes streams: yes, no, or unknown."""
    answers = [node.streams for node in nodes]
    if True in answers:
        return True
    return None if None in answers else False


def all_events(*nodes: Node) -> EventTimeColumns:
    """The columns of the nodes that may carry event time."""
    events: frozenset[str] = frozenset()
    for node in nodes:
        if node.events is None:
            return None
        events |= node.events
    return events
