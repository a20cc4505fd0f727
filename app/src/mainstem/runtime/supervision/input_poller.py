"""Polls for the inputs that queries wait for, in its own thread: brokers and stores may answer slowly."""

import threading
from collections.abc import Iterable
from typing import Final

from py4j.protocol import Py4JNetworkError

from mainstem.errors import NotReady
from mainstem.language.model.queries import Query
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight.inputs import Absent, Inputs


LOOK_SECONDS: Final = 3.0


class InputPoller:
    """Polls the inputs of waiting queries every few seconds, as long as a query waits.

    Args:
        inputs: looks for the inputs of a query.
        clock: the time of the run.
    """

    def __init__(self, inputs: Inputs, clock: Clock) -> None:
        self._inputs, self._clock = inputs, clock
        self._waiting: tuple[Query, ...] = ()
        self._result: dict[str, Absent | None] = {}
        self._wake, self._closed = threading.Event(), False
        self._thread: threading.Thread | None = None

    def look_for(self, queries: Iterable[Query]) -> None:
        """Poll for the inputs of exactly these queries from now on, at once if one is new; the first call with a query starts
        the thread.
        """
        before, self._waiting = self._waiting, tuple(queries)
        if not {query.name for query in self._waiting} <= {query.name for query in before}:
            self._wake.set()
        if self._waiting and self._thread is None:
            self._thread = threading.Thread(target=self._run, name="input-poller", daemon=True)
            self._thread.start()

    def take(self) -> dict[str, Absent | None]:
        """The result since the last call: query -> its missing input, None if all inputs exist."""
        result, self._result = self._result, {}
        return result

    def close(self) -> None:
        """Stop polling; does not wait for a running poll."""
        self._closed = True
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._clock.wait(self._wake, LOOK_SECONDS)
            if self._closed:
                return
            self._wake.clear()
            if not self._waiting:
                continue
            known: dict[str, Absent | None] = {}
            try:
                self._result = {query.name: self._absent(query, known) for query in self._waiting}
            except (Py4JNetworkError, ConnectionError):
                return  # no JVM: the supervisor notices that itself

    def _absent(self, query: Query, known: dict[str, Absent | None]) -> Absent | None:
        try:
            return self._inputs.absent(query, known)
        except NotReady as error:
            return Absent(error.reason, error.message)
