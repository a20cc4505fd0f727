"""Polls the brokers every few seconds for the first and last offsets and the ids of the streams' topics.

The last offsets give the lag while a batch runs, and while no batch can run. The first offsets show that a batch began
with expired offsets. Each connection has its own thread, because brokers may answer slowly.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.dataframes.options.kafka import connections
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.requirements import running
from mainstem.runtime.clients.kafka_admin import KafkaAdmin, TopicOffsets
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures.classification import Failure, classify
from mainstem.runtime.progress.spark_progress import Offsets
from mainstem.runtime.supervision.outages import Outage, Outages


ASK_SECONDS: Final = 10.0
PATIENCE_MS: Final = 8_000
"""Milliseconds that a broker may take to answer; later the lag would be too old. A connection with longer time-outs of its
own keeps them: otherwise slow brokers would count as an outage and prevent the start of queries. Slow brokers delay
neither the supervisor, which waits for them only when it starts a query, nor the offsets of other connections."""
FRESH_SECONDS: Final = 25.0
"""Seconds after which an answer is too old to count as current."""
_MOST: Final = 256
_Polled: TypeAlias = tuple[str, KafkaSource, KafkaAdmin]
"""A source's name, its settings, and a client of its brokers."""


class History:
    """The first offsets of one source's topics over time; pure."""

    def __init__(self) -> None:
        self._entries: tuple[tuple[datetime, Offsets], ...] = ()

    def add(self, when: datetime, offsets: Offsets) -> None:
        """Record the first offsets at a time."""
        if not self._entries or self._entries[-1][1] != offsets:
            self._entries = (*self._entries[-_MOST:], (when, offsets))

    def before(self, when: datetime) -> Offsets | None:
        """The first offsets as last known at a time."""
        return next((offsets for known, offsets in reversed(self._entries) if known <= when), None)


@dataclass(frozen=True)
class OffsetSnapshot:
    """The offsets that the brokers reported for a source's topics, and when they were asked (monotonic seconds)."""

    offsets: TopicOffsets
    time: float

    def fresh(self, now: float) -> bool:
        """Whether the report is recent enough to count as current (monotonic seconds)."""
        return now - self.time <= FRESH_SECONDS


class Topics:
    """Polls the offsets of the Kafka sources that running queries read.

    Args:
        session: the application's session.
        graph: the document's sources and connections.
        outages: the servers that do not answer; `Topics` does not ask them.
        clock: the time of the run.
    """

    def __init__(self, session: SparkSession, graph: Graph, outages: Outages, clock: Clock) -> None:
        self._session, self._outages, self._clock = session, outages, clock
        self._sources: list[_Polled] = []
        self._histories: dict[str, History] = {}
        self._connections: dict[str, str] = {}
        self._unanswered: dict[str, Outage] = {}
        self._ends: dict[tuple[str, str, str], Mapping[str, int]] = {}
        self._answers: dict[str, OffsetSnapshot] = {}
        self._polled: dict[str, threading.Event] = {}
        self._end = threading.Event()
        self._log = logs.get("mainstem")
        self.adopt(graph)

    def adopt(self, graph: Graph) -> None:
        """Poll for the sources of another document from now on; what is known of a source that stays the same is kept."""
        kafkas = connections(graph)
        read = {source.name for query in running(graph) for source in graph.sources_of(query.from_)}
        same = {name: source for name, source, _ in self._sources}
        sources = [
            (
                source.name,
                source.kafka,
                KafkaAdmin(self._session._jvm, kafkas[source.kafka.connection], PATIENCE_MS),  # noqa: SLF001
            )
            for source in graph.spec.sources
            if source.kafka and source.streaming and source.name in read
        ]
        for name in {name for name, source, _ in sources if same.get(name) != source}:
            self._histories[name] = History()
            self._answers.pop(name, None)
        self._connections = {name: source.connection for name, source, _ in sources}
        self._sources = sources
        for name in self._answers.keys() - self._connections.keys():
            self._answers.pop(name, None)  # the source is read no more, or no longer from Kafka

    def start(self) -> None:
        """Start to poll what is not polled yet. Waits for the offsets of sources that may skip expired records."""
        for connection in {source.connection for _, source, _ in self._sources} - self._polled.keys():
            name = f"topics-{connection}"
            self._polled[connection] = threading.Event()
            threading.Thread(target=self._run, args=(connection,), name=name, daemon=True).start()
        until = self._clock.seconds() + PATIENCE_MS / 1000
        for connection in {
            source.connection for _, source, _ in self._sources if not source.fail_on_data_loss
        }:
            self._clock.wait(self._polled[connection], max(0.0, until - self._clock.seconds()))

    def close(self) -> None:
        """Stop polling."""
        self._end.set()

    def before(self, source: str, when: datetime) -> Offsets | None:
        """The first offsets that the source's topics had at a time; None if they are unknown."""
        history = self._histories.get(source)
        return history.before(when) if history else None

    def answer(self, source: str) -> OffsetSnapshot | None:
        """The newest report of a source; None before the first."""
        return self._answers.get(source)

    def polled(self, occurrences: Mapping[str, str]) -> set[str]:
        """The occurrences whose offsets it asks for: streams of Kafka that a query reads.

        Args:
            occurrences: occurrence -> source.
        """
        return {name for name, source in occurrences.items() if source in self._connections}

    def now(self, source: str) -> TopicOffsets | None:
        """The offsets of a source's topics at this moment; None for a source that is not a Kafka stream.

        Raises:
            Py4JError: the brokers do not answer.
        """
        for name, kafka, admin in self._sources:
            if name == source:
                asked = self._clock.seconds()
                offsets = admin.offsets(kafka)
                self._take(name, offsets, asked)
                return offsets
        return None

    def client(self, source: str) -> Any:
        """The Java client properties for the brokers of a source; None for a source that is not a Kafka stream."""
        return next((admin.properties() for name, _, admin in self._sources if name == source), None)

    def end(self, source: str, topic: str, id_: str) -> Mapping[str, int]:
        """Partition -> the offset behind the last known record of the topic with this id."""
        return self._ends.get((source, topic, id_), {})

    def strict(self, source: str) -> bool:
        """Whether the source may lose no records (`failOnDataLoss`)."""
        return any(name == source and kafka.fail_on_data_loss for name, kafka, _ in self._sources)

    def outage(self, source: str) -> Outage | None:
        """The outage of a source's brokers; None while they answer, and for a source other than Kafka."""
        connection = self._connections.get(source)
        known = self._outages.connection(connection) if connection else None
        return known or self._unanswered.get(source)

    def _run(self, connection: str) -> None:
        while not self._end.is_set():
            try:
                self._ask(connection)
            except (Py4JNetworkError, ConnectionError):
                return  # no JVM: the supervisor notices that itself
            finally:
                self._polled[connection].set()
            self._clock.wait(self._end, ASK_SECONDS)

    def _ask(self, connection: str) -> None:
        for name, source, admin in self._sources:
            if source.connection != connection or self._outages.connection(connection):
                continue
            asked = self._clock.seconds()
            try:
                offsets = admin.offsets(source)
            except Py4JNetworkError:
                raise
            except (PySparkException, Py4JError) as error:
                self._failed(name, classify(error))
                continue
            self._unanswered.pop(name, None)
            self._take(name, offsets, asked)

    def _take(self, source: str, offsets: TopicOffsets, asked: float) -> None:
        self._answers[source] = OffsetSnapshot(offsets, asked)
        self._histories[source].add(self._clock.now(), offsets.earliest)  # known since now, not before
        for topic, id_ in offsets.ids.items():
            self._ends[source, topic, id_] = offsets.latest.get(topic, {})

    def _failed(self, source: str, failure: Failure) -> None:
        """Record an outage: a broker may answer the greeting while the leaders of partitions are unreachable."""
        self._log.debug("offsets of topics unknown", source=source, error=failure.message)
        if not failure.outage:
            self._unanswered.pop(source, None)  # a broker that refuses the request answers
        elif source not in self._unanswered:
            connection = self._connections[source]
            message = f"source {source!r} of connection {connection!r}: {failure.message}"
            self._unanswered[source] = Outage(failure.reason, message, self._clock.now())
