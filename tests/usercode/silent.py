"""Stateful code that takes all and gives nothing, whatever the columns; or each row."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


class Processor(StatefulProcessor):
    """For transformWithState."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        yield from (row for row in rows if row is None)


def function(key: Any, parts: Iterator[Any], state: Any) -> Iterator[Any]:
    """For applyInPandasWithState."""
    yield from (part for part in parts if part is None)


class Echo(StatefulProcessor):
    """Gives each row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        pass

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        yield from (Row(k=key[0], ts=row.ts, n=1) for row in rows)
