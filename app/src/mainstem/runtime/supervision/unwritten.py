"""Logs the rows that a query has read and not written: one line with all numbers when it ends, one at its first late row."""

from typing import Any, Final

from mainstem.language.analysis.graph import Graph
from mainstem.runtime.query.supervised_query import SupervisedQuery


_REMEDIES: Final = {
    "late": "raise watermark.delay above the time by which rows arrive out of order",
    "malformed": "set onMalformedRecord to deadLetter to keep the records",
    "violating": "set onViolation to quarantine to keep the rows",
    "expired": "keep records and files until the query has read them",
}


def log_late(log: Any, supervised: SupervisedQuery, before: int) -> None:
    """Log the first late rows of a query in this driver; `before` is their number before the last batch."""
    if supervised.status.dropped_by_watermark and not before:
        log.warning(
            "the first late rows are dropped",
            query=supervised.query.name,
            watermark=supervised.status.watermark,
            remedy=_REMEDIES["late"],
        )


def log_unwritten(log: Any, graph: Graph, supervised: SupervisedQuery) -> None:
    """Log the numbers of rows that a query has not written, if there are any, and what to do."""
    if numbers := unwritten(graph, supervised):
        remedy = "; ".join(_REMEDIES[kind] for kind in numbers)
        log.warning("rows were read and not written", query=supervised.query.name, **numbers, remedy=remedy)


def unwritten(graph: Graph, supervised: SupervisedQuery) -> dict[str, int]:
    """Kind of rows -> the number that the query has not written since the driver started; only kinds with rows.

    The number of late rows is a lower bound. Records that go to dead letters or to a quarantine are not among these rows,
    nor are tombstones, which the document skips.
    """
    status = supervised.status
    dropping = {
        source.name
        for source in graph.spec.sources
        if source.decoding and source.decoding.on_malformed_record == "drop"
    }
    expected = {
        (view.name, each.name)
        for view in graph.spec.views
        for each in view.expectations
        if each.on_violation == "drop"
    }
    numbers = {
        "late": status.dropped_by_watermark,
        "malformed": sum(
            source.malformed
            for source in status.sources
            if supervised.occurrences.get(source.name) in dropping
        ),
        "violating": sum(each.violated for each in status.expectations if (each.view, each.name) in expected),
        "expired": status.expired,
    }
    return {kind: number for kind, number in numbers.items() if number}
