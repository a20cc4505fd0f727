"""Shows where a query that starts continues or begins, so that its lag is known before its first batch ends."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem import logs
from mainstem.dataframes import query as build
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.checkpoint.continuation import continuation
from mainstem.runtime.clock import Clock, stamp
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.progress.positions import document_begins
from mainstem.runtime.query.supervised_query import SupervisedQuery


def with_start_positions(supervised: SupervisedQuery, graph: Graph, clock: Clock) -> QueryProgress:
    """The status of a stream that starts, with the offsets from which it reads each topic, and the time of its last commit; as
    it was if the checkpoint cannot be read now.

    Args:
        supervised: the query.
        graph: the graph of the document.
        clock: the time of the run.
    """
    checkpoint, status = build.checkpoint(graph, supervised.query), supervised.status
    kafkas = {source.name: source.kafka for source in graph.spec.sources if source.kafka and source.streaming}
    topics = {name: kafkas[source] for name, source in supervised.occurrences.items() if source in kafkas}
    if not topics and status.last_commit_time:
        return status
    try:
        known = continuation(supervised.session, checkpoint, topics.keys())
        begins = {
            name: document_begins(topics[name], offsets.earliest, offsets.latest)
            for name, offsets in supervised.offered.items()
            if name in topics and name not in known.positions
        }
    except (PySparkException, Py4JError, ValueError, TypeError, LookupError) as error:
        cause = classify(error).message if isinstance(error, PySparkException | Py4JError) else str(error)
        logs.get("mainstem").warning(
            "the lag is not known before the next batch ends", query=supervised.query.name, error=cause
        )
        return _positioned(
            supervised, dict.fromkeys(name for name, _topic in supervised.awaited_resets if name in topics)
        )
    status = _positioned(supervised, dict.fromkeys(topics) | begins | dict(known.positions))
    if known.committed_at is None:
        return status
    committed = stamp(min(known.committed_at, clock.now()))  # the store may have another clock
    return replace(status, last_commit_time=max(status.last_commit_time or committed, committed))


def without_positions(supervised: SupervisedQuery) -> QueryProgress:
    """The status of a query that never reports its offsets: positions from before would only get older."""
    return _positioned(supervised, dict.fromkeys(supervised.occurrences))


def _positioned(supervised: SupervisedQuery, positions: Mapping[str, Any]) -> QueryProgress:
    known = {source.name: source for source in supervised.status.sources}
    sources = [known.get(name, SourceProgress(name)) for name in supervised.occurrences]
    return replace(
        supervised.status,
        sources=tuple(
            replace(source, end_offset=positions[source.name], lag=None, max_lag=None)
            if source.name in positions
            else source
            for source in sources
        ),
    )
