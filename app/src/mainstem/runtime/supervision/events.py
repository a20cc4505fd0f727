"""Updates the statuses of all queries from Spark's events."""

import json
import queue
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from mainstem import logs, reasons
from mainstem.runtime.clock import Clock
from mainstem.runtime.files.expired_files import ExpiredFiles
from mainstem.runtime.progress.listener import Listener, Progress
from mainstem.runtime.progress.spark_progress import Offsets, read_all, updated, waiting, went_back
from mainstem.runtime.query.supervised_query import SupervisedQuery
from mainstem.runtime.supervision.topics import Topics
from mainstem.runtime.supervision.unwritten import log_late


SETTLE_SECONDS: Final = 3.0
_PAUSE: Final = 0.02


class EventQueue:
    """The queue between Spark's listener bus and the supervisor.

    Args:
        topics: has the first offsets at the start of a batch.
        files: has the files that had expired when a batch read them.
        on_event: called with every event, for the user's listeners.
        clock: the time of the run.

    Attributes:
        files: as above; another document has other sources.
    """

    def __init__(
        self, topics: Topics, files: ExpiredFiles, on_event: Callable[[str, Any], None], clock: Clock
    ) -> None:
        self._topics, self._clock = topics, clock
        self.files = files
        self._log = logs.get("mainstem")
        self._queue: queue.Queue[Progress] = queue.Queue()
        self._logged: set[str] = set()
        self.listener = Listener(self._queue, on_event)

    def put(self, progress: Progress) -> None:
        """Add an event, from any thread."""
        self._queue.put(progress)

    def take(self, queries: Sequence[SupervisedQuery]) -> None:
        """Update the statuses from all queued events; does not wait."""
        while True:
            try:
                event = self._queue.get_nowait()
            except queue.Empty:
                return
            progress = json.loads(event.text)
            supervised = next(
                (supervised for supervised in queries if supervised.query.name == progress["name"]), None
            )
            if supervised is None:  # user code started this stream
                continue
            earliest = self._earliest(supervised, progress["timestamp"])
            supervised.resets |= went_back(progress, list(supervised.occurrences))
            late = supervised.status.dropped_by_watermark
            status = updated(supervised.status, progress, list(supervised.occurrences), earliest)
            supervised.show(self.files.count(status, supervised.occurrences))
            self._note_caught_up(supervised, progress)
            log_late(self._log, supervised, late)
            self._log_notice(supervised)
            if rows := progress.get("numInputRows"):
                supervised.busy, supervised.resting = self._clock.seconds(), False
                supervised.meter.add(
                    supervised.busy, int(rows), int(progress.get("batchDuration") or 0) / 1000
                )
            elif supervised.resident:  # a batch without rows; Spark's status reports it as running
                supervised.resting = True
                supervised.show(waiting(supervised.status))

    def _note_caught_up(self, supervised: SupervisedQuery, progress: Mapping[str, Any]) -> None:
        topics = self._topics.polled(supervised.occurrences)
        if topics and not supervised.bounded and read_all(progress, list(supervised.occurrences), topics):
            supervised.caught_up(datetime.fromisoformat(progress["timestamp"]), self._clock.now())

    def _log_notice(self, supervised: SupervisedQuery) -> None:
        """Log what a batch shows about the document, once: the status has it only until the next batch."""
        query, status = supervised.query.name, supervised.status
        if status.reason == reasons.KEYS_DIFFER_IN_CASE and query not in self._logged:
            self._logged.add(query)
            self._log.warning("a column has no key", query=query, reason=status.reason, cause=status.message)

    def _earliest(self, supervised: SupervisedQuery, began: str) -> dict[str, Offsets]:
        """The first offsets of each occurrence's topics when a batch began."""
        when = datetime.fromisoformat(began)
        known = {name: self._topics.before(source, when) for name, source in supervised.occurrences.items()}
        return {name: offsets for name, offsets in known.items() if offsets is not None}

    def settle(self, queries: Sequence[SupervisedQuery], supervised: SupervisedQuery) -> None:
        """Wait for the last progress event of an ended query; Spark delivers it from another thread."""
        awaited = supervised.execution.last_progress if supervised.execution is not None else None
        until = self._clock.seconds() + SETTLE_SECONDS
        self.take(queries)
        while awaited and supervised.status.last_progress_time != awaited and self._clock.seconds() < until:
            self._clock.sleep(_PAUSE)
            self.take(queries)
