"""Puts Spark's streaming events into a queue, and does nothing else: a slow listener slows the queries down."""

import queue
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Progress:
    """One progress event, as Spark's own JSON text."""

    text: str


class Listener:
    """The streaming listener that the JVM calls. PySpark's own listener would fetch each field with a call to the JVM.

    Args:
        events: takes the progress of all queries.
        on_event: takes the name of the method and the event, for every event.
    """

    def __init__(self, events: "queue.Queue[Progress]", on_event: Callable[[str, Any], None]) -> None:
        self._events = events
        self._on_event = on_event

    def attach(self, session: SparkSession) -> None:
        """Listen to the queries of one session: each session has its own `StreamingQueryManager`."""
        context = session.sparkContext
        gateway: Any = context._gateway  # noqa: SLF001
        ensure_callback_server_started(gateway)
        wrapper = gateway.jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper
        session.streams._jsqm.addListener(wrapper(self))  # noqa: SLF001

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Pass the event on, and do no more: Spark waits for this call in start()."""
        self._on_event("onQueryStarted", event)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Enqueue the event's JSON."""
        text = event.progress().json()
        self._events.put(Progress(text))
        self._on_event("onQueryProgress", text)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Pass the event on: the supervisor asks for the query's status itself."""
        self._on_event("onQueryIdle", event)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Pass the event on: the supervisor notices the end of a query itself."""
        self._on_event("onQueryTerminated", event)

    class Java:
        """The Java interface, for py4j."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
