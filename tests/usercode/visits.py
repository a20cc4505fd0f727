"""Stateful code of a user's: processors for transformWithState, functions for applyInPandasWithState."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


class Counter(StatefulProcessor):
    """How often each user came, from an initial count on."""

    def __init__(self, step: str = "1") -> None:
        self._step = int(step)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = self._count.get()[0] if self._count.exists() else 0
        count += self._step * sum(1 for _ in rows)
        self._count.update((count,))
        yield Row(user=key[0], n=count)

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:
        self._count.update((initialState.n,))


class PandasCounter(StatefulProcessor):
    """The same with DataFrames of pandas."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n BIGINT")

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        count = self._count.get()[0] if self._count.exists() else 0
        count += sum(len(part) for part in rows)
        self._count.update((count,))
        yield pd.DataFrame({"user": [key[0]], "n": [count]})


class Sessions(StatefulProcessor):
    """Pages of a session as a list, how often each as a map; both are given out, a row a page, when the clock of the
    event time has passed the end of the session.
    """

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._pages = handle.getListState("pages", "page STRING")
        self._counts = handle.getMapState("counts", "page STRING", "n INT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in rows:
            if not self._counts.containsKey((row.page,)):
                self._pages.appendValue((row.page,))
            before = self._counts.getValue((row.page,))
            self._counts.updateValue((row.page,), ((before[0] if before else 0) + 1,))
            for timer in list(self._handle.listTimers()):
                self._handle.deleteTimer(timer)
            self._handle.registerTimer(int(row.at.timestamp() * 1000) + 60_000)
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        pages = [page for (page,) in self._pages.get()]
        rows = [Row(user=key[0], page=page, n=self._counts.getValue((page,))[0]) for page in pages]
        self._pages.clear()
        self._counts.clear()
        return iter(rows)


class Status(StatefulProcessor):
    """`online` when a user comes, `offline` after they were silent for long enough by the machine's clock."""

    def __init__(self, silence: str) -> None:
        self._silence = int(silence)

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._seen = handle.getValueState("seen", "ms BIGINT", ttlDurationMs=3_600_000)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        now = timerValues.getCurrentProcessingTimeInMs()
        known = self._seen.exists()
        self._seen.update((now,))
        self._handle.registerTimer(now + self._silence)
        if not known:
            yield Row(user=key[0], status="online")

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        self._seen.clear()
        yield Row(user=key[0], status="offline")


class Fleeting(StatefulProcessor):
    """A count that lives for a millisecond."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "n BIGINT", ttlDurationMs=1)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        count = (self._count.get()[0] if self._count.exists() else 0) + sum(1 for _ in rows)
        self._count.update((count,))
        yield Row(user=key[0], n=count)


class Failing(StatefulProcessor):
    """Fails in the middle of a batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        raise ValueError(f"no such user: {key[0]}")


def counted(
    key: tuple[Any], frames: Iterator[pd.DataFrame], state: Any, *, timeout: str = ""
) -> Iterator[pd.DataFrame]:
    """How often a user came; -1 when they timed out, by the clock whose milliseconds are given."""
    if state.hasTimedOut:
        state.remove()
        yield pd.DataFrame({"user": [key[0]], "n": [-1]})
        return
    rows = pd.concat(frames)
    count = (state.get[0] if state.exists else 0) + len(rows)
    state.update((count,))
    if timeout == "event":
        state.setTimeoutTimestamp(int(rows["at"].max().timestamp() * 1000) + 60_000)
    elif timeout:
        state.setTimeoutDuration(int(timeout))
    yield pd.DataFrame({"user": [key[0]], "n": [count]})
