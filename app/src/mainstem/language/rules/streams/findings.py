"""Where in the document a node of a plan is told of."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.rules.context import Context
from mainstem.language.sql.logical_plan import Node, NodeKind
from mainstem.language.sql.text import order_by
from mainstem.language.yaml.yamltext import Path


@dataclass(frozen=True)
class Finding:
    """What is wrong with a node; `mode` where another output mode would allow it."""

    reason: reasons.Reason
    message: str
    mode: bool = False


NodeCheck = Callable[[Node, str], Finding | None]


def findings(
    context: Context,
    *checks: NodeCheck,
    among: Callable[[Node], Iterable[Node]] = Node.all,
    warning: bool = False,
) -> Iterator[Problem]:
    """Problems of every query's plan, each told once.

    Args:
        context: the document.
        checks: asked of each node, with the query's output mode.
        among: of a plan the nodes that are asked.
        warning: they refuse nothing.
    """
    said: set[tuple[Path, int, str]] = set()
    known: dict[tuple[str, str], list[tuple[Node, Finding]]] = {}
    for index, query in enumerate(context.spec.queries):
        same = (query.from_, query.output_mode)
        if same not in known:  # many queries may read one long plan
            root = context.graph.plan(query.from_)
            nodes = among(root) if root.streams else ()
            results = ((node, check(node, query.output_mode)) for node in nodes for check in checks)
            known[same] = [(node, finding) for node, finding in results if finding is not None]
        for node, finding in known[same]:
            path = ("queries", index, "outputMode") if finding.mode else place(context, node)
            if (path, node.offset, finding.reason) not in said:
                said.add((path, node.offset, finding.reason))
                offset = _offset(context, node) if path[-1] == "sql" else None
                yield context.problem(path, finding.message, finding.reason, warning=warning, offset=offset)


def place(context: Context, node: Node) -> Path:
    """What of the document makes a node: a view's text, its step or its watermark."""
    names = [view.name for view in context.spec.views]
    index = names.index(node.view)
    if node.kind is NodeKind.WATERMARK:
        return ("views", index, "watermark")
    return ("views", index, "sql" if context.spec.views[index].sql else context.spec.views[index].choice())


def _offset(context: Context, node: Node) -> int:
    sql = context.graph.views[node.view].sql or ""
    if node.end_key is not None:
        return node.end_key
    return order_by(sql) if node.kind is NodeKind.SORT else node.offset
