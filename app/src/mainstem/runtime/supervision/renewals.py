"""Handles topics that are deleted and recreated under a query: when it starts, and while it runs."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs, reasons
from mainstem.dataframes import query as build
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.runtime.clients.kafka_admin import TopicOffsets
from mainstem.runtime.failures.classification import Failure, classify
from mainstem.runtime.progress.spark_progress import offset
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.recreated_topics import (
    NO_ID,
    Read,
    TopicIds,
    exceeds,
    forget,
    recreated,
    renewed,
    watch,
)
from mainstem.runtime.supervision.topics import Topics


class Renewals:
    """Compares the ids of topics with the ids that a query has read.

    Args:
        graph: the document's.
        topics: the offsets and ids of topics.
    """

    def __init__(self, graph: Graph, topics: Topics) -> None:
        self._graph, self._topics = graph, topics
        self._watched: dict[str, SparkSession] = {}
        self._log = logs.get("mainstem")

    def begin(self, supervised: SupervisedQuery) -> Failure | None:
        """Let a stream's checkpoint continue from the beginning of recreated topics, before the stream starts.

        Returns:
            why the query must not start; None if it may.

        Raises:
            Py4JError: the brokers or the checkpoint's store do not answer.
        """
        supervised.notice, supervised.awaited_resets = None, set()
        supervised.offered = current = {
            occurrence: offsets
            for occurrence, source in supervised.occurrences.items()
            if (offsets := self._topics.now(source)) is not None
        }
        if not current:
            return None
        ids = {occurrence: offsets.ids for occurrence, offsets in current.items()}
        stored = TopicIds(supervised.session, build.checkpoint(self._graph, supervised.query))
        known = stored.known()
        if topics := recreated(known, ids):
            try:
                plan = stored.plan(topics, {name: offsets.earliest for name, offsets in current.items()})
            except ValueError as error:
                return self._refusal([topic for _, topic in topics], str(error))
            if refusal := self._refused(supervised, [read.occurrence for read in plan.read], plan.read):
                return refusal
            stored.write(plan)
            self._renewed(supervised, plan.read, known)
        stored.keep(ids)
        supervised.topic_ids = ids
        self._watch(supervised, ids)
        return None

    def close(self) -> None:
        """Stop watching topics."""
        for checkpoint in list(self._watched):
            self._forget(checkpoint)

    def ended(self, supervised: SupervisedQuery) -> None:
        """Stop watching the topics of a query that has stopped for good, or for another plan."""
        self._forget(build.checkpoint(self._graph, supervised.query))

    def _forget(self, checkpoint: str) -> None:
        if session := self._watched.pop(checkpoint, None):
            with suppress(PySparkException, Py4JError, ConnectionError):
                forget(session, checkpoint)

    def tick(self, supervised: SupervisedQuery) -> Failure | None:
        """Check the topics of a running stream; returns the failure that ends it if it may not lose records."""
        for occurrence, known in supervised.topic_ids.items():
            source = supervised.occurrences.get(occurrence, "")
            answer = self._topics.answer(source)
            if answer is None or supervised.execution is None:
                continue
            ids = {topic: id_ for topic, id_ in answer.offsets.ids.items() if id_ != NO_ID}
            topics = renewed(known, ids)
            if topics and self._topics.strict(source):
                return self._refusal(topics, "")
            for topic in topics:
                lost = self._passed_over(supervised, occurrence, topic, answer.offsets)
                self._count(
                    supervised, occurrence, topic, lost, "the query reads it from the offset of the old topic"
                )
            if ids.items() - known.items():
                self._keep(supervised, {**supervised.topic_ids, occurrence: {**known, **ids}})
        supervised.resets -= (done := supervised.resets & supervised.awaited_resets)
        supervised.awaited_resets -= done
        return None

    def _keep(self, supervised: SupervisedQuery, ids: Mapping[str, Mapping[str, str]]) -> None:
        """Write the ids to the checkpoint; if its store does not answer, the next tick tries again."""
        try:
            stored = TopicIds(supervised.session, build.checkpoint(self._graph, supervised.query))
            # Beside an old id, a new id counts as read only once another batch is planned. A query that cannot return
            # to the beginning continues from its position, whether it read the new topic or not.
            (stored.keep if supervised.resident else stored.add)(ids)
            self._watch(supervised, ids)
        except (PySparkException, Py4JError) as error:
            message = classify(error).message
            self._log.warning(
                "the ids of topics could not be stored; the next tick tries again",
                query=supervised.query.name,
                error=message,
            )
        else:
            supervised.topic_ids = ids

    def _watch(self, supervised: SupervisedQuery, ids: Mapping[str, Mapping[str, str]]) -> None:
        """Store new ids before a batch may read their topics, if the query may continue with these topics."""
        lenient = {
            name: known
            for name, known in ids.items()
            if not self._topics.strict(supervised.occurrences[name])
        }
        if lenient and not supervised.resident:
            clients = {name: self._topics.client(supervised.occurrences[name]) for name in lenient}
            checkpoint = build.checkpoint(self._graph, supervised.query)
            watch(supervised.session, checkpoint, clients, lenient)
            self._watched[checkpoint] = supervised.session

    def _refused(
        self, supervised: SupervisedQuery, occurrences: list[str], read: list[Read]
    ) -> Failure | None:
        topics = [each.topic for each in read]
        if any(self._topics.strict(supervised.occurrences[name]) for name in occurrences):
            return self._refusal(topics, "")
        if read and supervised.resident:
            return self._refusal(
                topics, "a continuous or real-time query cannot return to the beginning of a topic"
            )
        return None

    @staticmethod
    def _refusal(topics: list[str], why: str) -> Failure:
        names = ", ".join(map(repr, dict.fromkeys(topics)))
        remedy = "start a new generation of the checkpoint"
        remedy = remedy if why else f"set failOnDataLoss: false to read it from its beginning, or {remedy}"
        lost = "its unread records are lost, and Spark would continue in the middle of the new topic"
        because = why or lost
        message = f"the topic {names} was deleted and recreated: {because}; {remedy}"
        return Failure(reasons.TOPIC_RECREATED, message, permanent=True)

    def _renewed(
        self, supervised: SupervisedQuery, read: list[Read], known: set[tuple[str, str, str]]
    ) -> None:
        for each in read:
            source = supervised.occurrences[each.occurrence]
            ends = [
                self._topics.end(source, each.topic, id_)
                for occurrence, topic, id_ in known
                if (occurrence, topic) == (each.occurrence, each.topic)
            ]
            unread = [
                sum(max(0, end.get(partition, 0) - int(at)) for partition, at in each.position.items())
                for end in ends
            ]
            self._count(
                supervised,
                each.occurrence,
                each.topic,
                max(unread, default=0),
                "the query reads it from its beginning",
            )
            supervised.awaited_resets.add((each.occurrence, each.topic))

    def _passed_over(
        self, supervised: SupervisedQuery, occurrence: str, topic: str, offsets: TopicOffsets
    ) -> int:
        """The number of records of the new topic that Spark skips and has not reported."""
        key = (occurrence, topic)
        if key in supervised.resets:  # the offsets went back to the new topic's end, which was counted
            supervised.resets.discard(key)
            return 0
        read = next((each.end_offset for each in supervised.status.sources if each.name == occurrence), None)
        position: Mapping[str, int] = (read or {}).get(topic) or {}
        latest = {partition: offset(offsets.latest, topic, partition, 0) for partition in position}
        if exceeds(read, topic, offsets.latest):
            supervised.awaited_resets.add(key)
        return sum(
            max(0, int(at) - offset(offsets.earliest, topic, partition, 0))
            for partition, at in position.items()
            if int(at) <= latest[partition]
        )

    def _count(self, supervised: SupervisedQuery, occurrence: str, topic: str, lost: int, then: str) -> None:
        message = f"the topic {topic!r} was deleted and recreated, at least {lost} records are lost; {then}"
        supervised.notice = (reasons.TOPIC_RECREATED, message)
        self._log.warning("a topic was recreated", query=supervised.query.name, topic=topic, expired=lost)
        sources = {source.name: source for source in supervised.status.sources}
        source = sources.get(occurrence, SourceProgress(occurrence))
        sources[occurrence] = replace(source, expired=source.expired + lost)
        supervised.show(replace(supervised.status, sources=tuple(sources.values())))
