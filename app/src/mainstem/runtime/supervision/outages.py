"""Detects servers that do not answer: a thread for each connection greets its server every few seconds.

A query alone does not show an outage: Spark's sources and sinks retry for minutes within one batch.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from mainstem import logs, reasons
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connections import Connection
from mainstem.language.model.queries import Query
from mainstem.language.requirements import running, stores_used, used
from mainstem.runtime.clients.reachability import connection_error
from mainstem.runtime.clock import Clock, stamp


GREET_SECONDS: Final = 8.0
"""Seconds between two greetings of a server that answers."""
AGAIN_SECONDS: Final = 1.0
"""Seconds between two greetings of a server that does not answer."""
TRIES: Final = 2
"""Greetings in a row without an answer that count as an outage: a single one may be a lost packet."""


@dataclass(frozen=True)
class Outage:
    """A server that does not answer.

    Attributes:
        reason: `BrokerUnreachable`, `StoreUnreachable` or `DatabaseUnreachable`.
        message: which server, and the error instead of an answer.
        since: when the first greeting failed.
    """

    reason: reasons.Reason
    message: str
    since: datetime

    def described(self) -> str:
        """The message, with the time since which the server does not answer."""
        return f"{self.message}, since {stamp(self.since)}"


class Outages:
    """Greets the servers that the queries use, and keeps which of them do not answer.

    Args:
        graph: the document's.
        clock: the time of the run.
        greet: asks a connection's server; returns the error if it does not answer.
    """

    def __init__(
        self, graph: Graph, clock: Clock, greet: Callable[[Connection], NotReady | None] = connection_error
    ) -> None:
        self._clock, self._greet = clock, greet
        self._uses = _uses(graph)
        names = {name for names in self._uses.values() for name in names}
        self._connections = [each for each in graph.spec.connections if each.name in names]
        self._outages: dict[str, Outage] = {}
        self._end = threading.Event()
        self._log = logs.get("mainstem")

    def start(self) -> None:
        """Start to greet."""
        for connection in self._connections:
            name = f"greet-{connection.name}"
            threading.Thread(target=self._run, args=(connection,), name=name, daemon=True).start()

    def adopt(self, graph: Graph) -> None:
        """Take another document, which uses no other connections."""
        self._uses = _uses(graph)

    def close(self) -> None:
        """Stop greeting; does not wait for a pending answer."""
        self._end.set()

    def connection(self, name: str) -> Outage | None:
        """The current outage of a connection; None while its server answers."""
        return self._outages.get(name)

    def query(self, query: Query) -> Outage | None:
        """The longest outage of a server that the query uses; None while all answer."""
        outages = dict(self._outages)
        used_outages = [outages[name] for name in self._uses.get(query.name, ()) if name in outages]
        return min(used_outages, key=lambda outage: outage.since, default=None)

    def _run(self, connection: Connection) -> None:
        failures, since, pause = 0, self._clock.now(), GREET_SECONDS
        while not self._clock.wait(self._end, pause):
            began = self._clock.now()
            error = self._greet(connection)
            if error is None:
                self._over(connection.name)
                failures, pause = 0, GREET_SECONDS
                continue
            failures, pause = failures + 1, AGAIN_SECONDS
            since = began if failures == 1 else since
            if failures >= TRIES:
                self._begun(connection.name, Outage(error.reason, error.message, since))

    def _begun(self, name: str, outage: Outage) -> None:
        if name not in self._outages:
            self._log.warning("a connection does not answer", reason=outage.reason, error=outage.message)
        self._outages[name] = outage

    def _over(self, name: str) -> None:
        outage = self._outages.pop(name, None)
        if outage is not None:
            seconds = round((self._clock.now() - outage.since).total_seconds())
            self._log.info("a connection answers again", connection=name, seconds=seconds)


def _uses(graph: Graph) -> dict[str, set[str]]:
    """Query -> the names of the connections that it uses."""
    return {query.name: used(graph, [query]) | stores_used(graph, query) for query in running(graph)}
