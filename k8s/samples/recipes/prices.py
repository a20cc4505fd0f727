"""Compares each price of a product with the price before it."""

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor


class Changes(StatefulProcessor):
    """Keeps the last price of each product, and yields a row for each price that differs from it."""

    def init(self, handle):
        self._last = handle.getValueState("last", "price INT")

    def handleInputRows(self, key, rows, timerValues):
        last = self._last.get()[0] if self._last.exists() else None
        for row in sorted(rows, key=lambda row: row.at):
            if last is not None and row.price != last:
                yield Row(product=key[0], at=row.at, before=last, after=row.price)
            last = row.price
        self._last.update((last,))
