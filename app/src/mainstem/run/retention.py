"""What topics still had, and when: by it a batch is known to have begun with offsets that were gone.

Only for sources with `failOnDataLoss: false`; with true Spark ends the query. Asked in a thread of its own, for brokers
take their time to answer.
"""

import threading
from datetime import UTC, datetime
from typing import Final

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.build.kafka import connections
from mainstem.run.brokers import Brokers
from mainstem.run.progress import Offsets
from mainstem.spec.graph import Graph


ASK_SECONDS: Final = 10.0
_MOST: Final = 256


class History:
    """The first offsets of one source's topics, each with the time when they were known; pure."""

    def __init__(self) -> None:
        self._entries: tuple[tuple[datetime, Offsets], ...] = ()

    def add(self, when: datetime, offsets: Offsets) -> None:
        """They were so at that time."""
        if not self._entries or self._entries[-1][1] != offsets:
            self._entries = (*self._entries[-_MOST:], (when, offsets))

    def before(self, when: datetime) -> Offsets | None:
        """The latest that was known at that time."""
        return next((offsets for known, offsets in reversed(self._entries) if known <= when), None)


class Retention:
    """Asks every few seconds; nobody, where no source goes on behind a gap.

    Args:
        session: the application's session.
        graph: the document's sources and connections.
    """

    def __init__(self, session: SparkSession, graph: Graph) -> None:
        kafkas = connections(graph, session)
        self._sources = [
            (source.name, source.kafka, Brokers(session, kafkas[source.kafka.connection]))
            for source in graph.spec.sources
            if source.kafka and source.streaming and not source.kafka.fail_on_data_loss
        ]
        self._histories = {name: History() for name, _, _ in self._sources}
        self._end = threading.Event()
        self._log = logs.get("mainstem")

    def start(self) -> None:
        """Ask once, before any query starts, and from then on beside them."""
        if self._sources:
            self._ask()
            threading.Thread(target=self._run, name="retention", daemon=True).start()

    def close(self) -> None:
        """Ask no more."""
        self._end.set()

    def before(self, source: str, when: datetime) -> Offsets | None:
        """The first offsets that the source's topics had at a time; None where nobody knows."""
        history = self._histories.get(source)
        return history.before(when) if history else None

    def _run(self) -> None:
        while not self._end.wait(ASK_SECONDS):
            try:
                self._ask()
            except (Py4JNetworkError, ConnectionError):
                return  # no JVM: the supervisor finds out by itself

    def _ask(self) -> None:
        for name, kafka, brokers in self._sources:
            try:
                offsets = brokers.earliest(kafka)
                self._histories[name].add(datetime.now(UTC), offsets)  # known since now, not before
            except Py4JNetworkError:
                raise
            except (PySparkException, Py4JError) as error:
                self._log.debug("first offsets unknown", source=name, error=str(error))
