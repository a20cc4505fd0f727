"""Turns what is wrong with a node of a plan into problems at places in the document."""

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
    """The fault of a node of a plan; `mode` is true where another output mode would allow the node."""

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
    """Problems of every query's plan, each reported once.

    Args:
        context: the document.
        checks: called with each node and the query's output mode.
        among: selects the nodes of a plan to check.
        warning: the problems are warnings and do not reject the document.
    """
    reported: set[tuple[Path, int, str]] = set()
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
            if (path, node.offset, finding.reason) not in reported:
                reported.add((path, node.offset, finding.reason))
                offset = _offset(context, node) if path[-1] == "sql" else None
                yield context.problem(path, finding.message, finding.reason, warning=warning, offset=offset)


def place(context: Context, node: Node) -> Path:
    """The path of the part that makes a node: a view's SQL, its step or its watermark."""
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
