"""Runs the user's listeners in their own thread: a slow or failing listener loses events and delays no batch."""

import json
import queue
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from pyspark.sql.streaming import listener as spark

from mainstem import logs, reasons
from mainstem.dataframes.user_code import code
from mainstem.errors import NotReady
from mainstem.runtime.clock import Clock


MOST: Final = 10_000
"""Events that wait for slow listeners; further events are dropped."""
GOODBYE: Final = 5.0
"""Seconds that Spark and the listeners have for the remaining events at the end."""
_OPEN: Final = {"onQueryStarted": 1, "onQueryTerminated": -1}
"""How each event changes the number of queries whose end is not delivered yet."""

ListenerEvent = tuple[str, Any]
"""Name of the listener's method, and Spark's event in the JVM."""


class Listeners:
    """Passes Spark's events of all queries to the user's listeners, in Spark's order.

    Args:
        names: `module:class` of each listener.
        clock: the time of the run.

    Raises:
        NotReady: `ListenerNotFound`: a class cannot be imported or created.
    """

    def __init__(self, names: Sequence[str], clock: Clock) -> None:
        self._clock = clock
        self._listeners = [(name, _create(name)) for name in names]
        self._queue: queue.Queue[ListenerEvent | None] = queue.Queue(MOST)
        self._log = logs.get("listeners")
        self._dropped = self._open = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="listeners", daemon=True)
        if self._listeners:
            self._thread.start()

    def pass_on(self, method: str, event: Any) -> None:
        """Pass an event on; waits for nothing."""
        if not self._listeners:
            return
        with self._lock:
            self._open += _OPEN.get(method, 0)
        try:
            self._queue.put_nowait((method, event))
        except queue.Full:
            self._dropped += 1
            if self._dropped == 1:
                self._log.warning("listeners are too slow, events are dropped", waiting=MOST)

    def close(self) -> None:
        """Wait some seconds for the remaining events: Spark reports the end of a query shortly after it."""
        if not self._thread.is_alive():
            return
        until = self._clock.seconds() + GOODBYE
        while (self._open > 0 or not self._queue.empty()) and self._clock.seconds() < until:
            self._clock.sleep(0.02)
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(max(0.0, until - self._clock.seconds()))

    def _run(self) -> None:
        while (event := self._queue.get()) is not None:
            self._deliver(*event)

    def _deliver(self, method: str, event: Any) -> None:
        try:
            delivered = _event(method, event)
        except Exception as error:  # noqa: BLE001 - Spark is ending, or has a new kind of event
            self._log.debug("an event cannot be read", method=method, error=error)
            return
        for name, listener in self._listeners:
            try:
                getattr(listener, method)(delivered)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a listener may raise anything
                self._log.warning(
                    "a listener failed", listener=name, method=method, error=code.error_line(error)
                )


def _event(method: str, event: Any) -> Any:
    """Spark's event as a pyspark event; a progress comes from its JSON, not field by field from the JVM."""
    if method == "onQueryProgress":
        progress = spark.StreamingQueryProgress.fromJson(json.loads(event))
        return spark.QueryProgressEvent(progress)
    kinds: dict[str, Any] = {
        "onQueryStarted": spark.QueryStartedEvent,
        "onQueryIdle": spark.QueryIdleEvent,
        "onQueryTerminated": spark.QueryTerminatedEvent,
    }
    return kinds[method].fromJObject(event)


def look(names: Sequence[str]) -> None:
    """Return if the listeners' modules can be imported and have what creates them; creates none, so a constructor may still fail.

    Raises:
        NotReady: `ListenerNotFound`.
    """
    for name in names:
        with _explained(name):
            maker = _maker(name)
            if not callable(maker):
                raise TypeError("it cannot be called")
        if isinstance(maker, type):
            _require(name, is_listener=issubclass(maker, spark.StreamingQueryListener))


def _create(name: str) -> spark.StreamingQueryListener:
    with _explained(name):
        listener = _maker(name)()
    _require(name, is_listener=isinstance(listener, spark.StreamingQueryListener))
    return listener


def _require(name: str, *, is_listener: bool) -> None:
    if not is_listener:
        message = f"the listener {name!r} is not a pyspark.sql.streaming.StreamingQueryListener"
        raise NotReady(message, reason=reasons.LISTENER_NOT_FOUND)


def _maker(name: str) -> Any:
    """The class of a listener."""
    module, _, kind = name.partition(":")
    return getattr(import_module(module), kind)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """A context in which a listener is imported or created."""
    try:
        yield
    except (Exception, SystemExit) as error:
        message = f"the listener {name!r} cannot be created: {code.error_line(error)}"
        raise NotReady(message, reason=reasons.LISTENER_NOT_FOUND) from error
