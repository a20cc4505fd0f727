"""The names of a query's source occurrences, and how many there are.

Spark's source evolution keeps offsets by name, so each occurrence of a stream in a query's plan needs a name of its
own: the first takes the source's, the next `<name>_2`, and so on, in the order in which the document leads to them.
"""

from collections import Counter
from typing import Final

from mainstem.language.analysis.graph import Graph


MAX_OCCURRENCES: Final = 256
"""Occurrences of sources in one query. Views are built anew wherever they are read, so Spark plans, and a streaming
query reads and checkpoints, each occurrence by itself: four times as many as a document can have sources is far beyond
what a driver plans in reasonable time.
"""


def count_occurrences(graph: Graph, relation: str) -> Counter[str]:
    """How often a query of the relation reads each source, dead-letter relation, or view that reads nothing.

    The counts are exact, whatever their size, and cost one visit of each relation.
    """
    times = Counter({relation: 1})
    readable = _reads_in_order(graph, relation)
    for name, below in readable.items():
        for read in below:
            times[read] += times[name]
    return Counter({name: times[name] for name, below in readable.items() if not below})


def occurrence_names(graph: Graph, relation: str, *, bounded: bool = False) -> list[tuple[str, str]]:
    """(occurrence, source or dead-letter relation) for every stream that a relation reads, in plan order.

    As long as its occurrences are many: the rules refuse more than `MAX_OCCURRENCES`.

    Args:
        graph: the pipeline's.
        relation: what a query reads.
        bounded: name the bounded sources too, as for a query that does not stream.
    """
    counts: Counter[str] = Counter()
    found: list[tuple[str, str]] = []
    readable = _reads_in_order(graph, relation)

    def walk(name: str) -> None:
        if name in graph.views or name in graph.quarantines:
            for below in readable[name]:
                walk(below)
            return
        source = graph.sources.get(name) or graph.dead_letters.get(name)
        if source is not None and (source.streaming or (bounded and source.static is None)):
            found.append((next_name(counts, name), name))

    walk(relation)
    return found


def next_name(counts: Counter[str], name: str) -> str:
    """The name of the next occurrence: `name`, then `name_2`, `name_3`, …"""
    counts[name] += 1
    return name if counts[name] == 1 else f"{name}_{counts[name]}"


def _reads_in_order(graph: Graph, relation: str) -> dict[str, list[str]]:
    """Relation -> what it reads, each relation before those that it reads.

    Reads that close a cycle are left out: they are guesses where no rule has refused them.
    """
    done: list[str] = []
    visited = {relation}
    stack = [(relation, iter(graph.reads(relation)))]
    while stack:
        name, rest = stack[-1]
        below = next((read for read in rest if read not in visited), None)
        if below is None:
            done.append(name)
            stack.pop()
        else:
            visited.add(below)
            stack.append((below, iter(graph.reads(below))))
    order = {name: place for place, name in enumerate(reversed(done))}
    return {name: [read for read in graph.reads(name) if order[read] > order[name]] for name in order}
