"""The names of a query's source occurrences.

Spark's source evolution keeps offsets by name, so each occurrence of a stream in a query's plan needs a name of its
own: the first takes the source's, the next `<name>_2`, and so on, in the order in which the document leads to them.
"""

from collections import Counter

from mainstem.spec.graph import Graph


def occurrence_names(graph: Graph, relation: str, *, bounded: bool = False) -> list[tuple[str, str]]:
    """(occurrence, source or dead-letter relation) for every stream that a relation reads, in plan order.

    Args:
        graph: the pipeline's.
        relation: what a query reads.
        bounded: name the bounded sources too, as for a query that does not stream.
    """
    counts: Counter[str] = Counter()
    found: list[tuple[str, str]] = []

    def walk(name: str, above: tuple[str, ...]) -> None:
        if name in graph.views or name in graph.quarantines:
            for below in graph.reads(name):
                if below not in above:  # a guess only: no certain cycle comes so far
                    walk(below, (*above, name))
            return
        source = graph.sources.get(name) or graph.dead_letters.get(name)
        if source is not None and (source.streaming or (bounded and source.static is None)):
            found.append((next_name(counts, name), name))

    walk(relation, ())
    return found


def next_name(counts: Counter[str], name: str) -> str:
    """The name of the next occurrence: `name`, then `name_2`, `name_3`, …"""
    counts[name] += 1
    return name if counts[name] == 1 else f"{name}_{counts[name]}"
