"""Code that returns what a row names, whatever type is declared; and code that keeps times."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


VALUES: dict[str, Any] = {
    "whole": 5,
    "integral": 5.0,
    "half": 2.5,
    "text": "5",
    "large": 2**40,
    "numpy": np.int64(5),
    "decimal": Decimal("1.5"),
    "fine": Decimal("1.234"),
    "day": dt.date(2026, 1, 1),
    "noon": dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC),
    "floats": [5.0, 2],
    "pair": {"a": 5.0, "b": 3},
    "bad list": [2.5, 2],
    "bad pair": {"a": "x", "b": 3},
    "null": None,
}


def value(name: str) -> Any:
    return VALUES[name]


def series(names: pd.Series) -> pd.Series:
    return pd.Series([VALUES[name] for name in names], dtype="object")


def batches(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
    return map(series, parts)


def total(names: pd.Series) -> float:
    return VALUES[names.iloc[0]]  # type: ignore[no-any-return]


class Returns(StatefulProcessor):
    """A row with the value."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        yield Row(n=VALUES[key[0]])


class OtherName(Returns):
    """A row with a field that is not declared."""

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        yield Row(m=5)


class ReturnsFrames(Returns):
    """A DataFrame of pandas with the value."""

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"n": pd.Series([VALUES[key[0]]], dtype="object")})


class Keeps(StatefulProcessor):
    """Keeps the value in a variable of the kind that an argument names."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._value = handle.getValueState("value", "n INT")
        self._list = handle.getListState("list", "n INT")
        self._map = handle.getMapState("map", "k INT", "n INT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        kept = (VALUES[key[0]],)
        if self._kind == "value":
            self._value.update(kept)
        elif self._kind == "list":
            self._list.appendValue(kept)
        elif self._kind == "key":
            self._map.updateValue(kept, (1,))
        else:
            self._map.updateValue((1,), kept)
        yield Row(n=1)


def keeps(key: tuple[str], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    state.update((VALUES[key[0]],))
    yield pd.DataFrame({"n": [1]})


def returns(key: tuple[str], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    yield pd.DataFrame({"n": pd.Series([VALUES[key[0]]], dtype="object")})


class Gaps(StatefulProcessor):
    """The seconds since the last row of a key, by each kind of state, and the last time itself as it was kept."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._value = handle.getValueState("value", "at TIMESTAMP, more STRUCT<at TIMESTAMP>")
        self._list = handle.getListState("list", "at ARRAY<TIMESTAMP>")
        self._map = handle.getMapState("map", "at TIMESTAMP", "at MAP<STRING, TIMESTAMP>")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        for row in rows:
            kept = [*self._last()]
            gaps = sorted({int((row.at - each).total_seconds()) for each in kept})
            yield Row(user=key[0], gaps=gaps, last=kept[0] if kept else None)
            self._value.update((row.at, (row.at,)))
            self._list.put([([row.at],)])
            self._map.clear()
            self._map.updateValue((row.at,), ({"at": row.at},))

    def _last(self) -> Iterator[dt.datetime]:
        if self._value.exists():
            at, (inner,) = self._value.get()
            yield from (at, inner)
            yield from (each for (ats,) in self._list.get() for each in ats)
            for (name,), (times,) in self._map.iterator():
                yield from (name, times["at"])
            yield from (name for (name,) in self._map.keys())  # noqa: SIM118
            assert self._map.containsKey((at,))


def gaps(key: tuple[str], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
    """The same by the state of a function, whose times have no zone, as those of pandas."""
    last = state.getOption
    for frame in frames:
        times = [each.to_pydatetime() for each in frame["at"]]
        gap = [int((times[0] - last[0]).total_seconds())] if last else []
        yield pd.DataFrame({"user": [key[0]], "gaps": [gap], "last": [last[0] if last else None]})
        state.update((times[-1],))


def same(at: dt.datetime) -> dt.datetime:
    return at


def shown(at: dt.datetime) -> str:
    return at.isoformat()


def wall(at: dt.datetime) -> dt.datetime:
    return dt.datetime(2026, 7, 1, 12)  # noqa: DTZ001


class Wall(StatefulProcessor):
    """A time without zone as a row, and as state that is kept again and again."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getValueState("kept", "at TIMESTAMP")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        noon = dt.datetime(2026, 7, 1, 12)  # noqa: DTZ001
        self._kept.update(self._kept.get() if self._kept.exists() else (noon,))
        yield Row(wall=noon, kept=self._kept.get()[0])


def collects(batch: DataFrame, number: int, *, folder: str) -> None:
    """Writes a time of each batch as the driver's own code sees it."""
    lines = [f"{row.at.isoformat()}\n" for row in batch.select("at").collect()]
    with Path(folder, "collected.txt").open("a", encoding="utf-8") as file:
        file.writelines(lines)
