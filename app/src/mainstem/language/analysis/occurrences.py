"""Names and counts the occurrences of sources in the plan of a query.

Spark's source evolution keeps offsets by name, so each occurrence of a stream in a query's plan needs its own name. The
first occurrence has the source's name, the next one is `<name>_2`, and so on, in the order of the plan.
"""

from collections import Counter
from typing import Final

from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query


MAX_OCCURRENCES: Final = 256
"""The most occurrences of sources in one query. Spark plans, reads and checkpoints each occurrence separately. The limit is
four times the number of sources that a document can have; a driver cannot plan as many in reasonable time.
"""


def count_occurrences(graph: Graph, relation: str) -> Counter[str]:
    """The number of times that a query of the relation reads each source, dead-letter relation, or view without inputs.

    The counts are exact at any size, and the function visits each relation once.
    """
    times = Counter({relation: 1})
    readable = _reads_in_order(graph, relation)
    for name, below in readable.items():
        for relation_below in below:
            times[relation_below] += times[name]
    return Counter({name: times[name] for name, below in readable.items() if not below})


def occurrence_names(graph: Graph, relation: str, *, bounded: bool = False) -> list[tuple[str, str]]:
    """(occurrence, source or dead-letter relation) for every stream that a relation reads, in plan order.

    The time and the list grow with the number of occurrences; the rules reject more than `MAX_OCCURRENCES`.

    Args:
        graph: the pipeline's graph.
        relation: the relation that a query reads.
        bounded: also name the bounded sources, for a query that does not stream.
    """
    counts: Counter[str] = Counter()
    occurrences: list[tuple[str, str]] = []
    readable = _reads_in_order(graph, relation)

    def walk(name: str) -> None:
        if name in graph.views or name in graph.quarantines:
            for below in readable[name]:
                walk(below)
            return
        source = graph.source_of(name)
        if source is not None and (source.streaming or (bounded and source.static is None)):
            occurrences.append((next_name(counts, name), name))

    walk(relation)
    return occurrences


def source_occurrences(graph: Graph, query: Query, *, bounded: bool = False) -> dict[str, str]:
    """Occurrence -> name of the source, as `occurrence_names` has them, for every stream that a query reads, in plan order."""
    read = (
        (occurrence, graph.source_of(relation))
        for occurrence, relation in occurrence_names(graph, query.from_, bounded=bounded)
    )
    return {occurrence: source.name for occurrence, source in read if source is not None}


def next_name(counts: Counter[str], name: str) -> str:
    """The name of the next occurrence: `name`, then `name_2`, `name_3`, …"""
    counts[name] += 1
    return name if counts[name] == 1 else f"{name}_{counts[name]}"


def _reads_in_order(graph: Graph, relation: str) -> dict[str, list[str]]:
    """Relation -> the relations that it reads; each relation stands before those that it reads.

    Reads that close a cycle are left out: if no rule has rejected them, they are guesses.
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
