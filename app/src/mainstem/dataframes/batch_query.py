"""Batch queries: a query over static and bounded sources alone, whose rows are written once, as one batch of the same
writers.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sinks.batches import batch_writer, in_turn
from mainstem.language.model.queries import Query


@dataclass(frozen=True)
class BatchQuery:
    """A built query that does not stream.

    Attributes:
        frame: its relation.
        query: the query.
        connections: connections by name.
    """

    frame: DataFrame
    query: Query
    connections: Connections

    def write(self, rows: DataFrame, run: int) -> None:
        """Write the rows of a run to each sink, as the batch of that number.

        `append` and `update` add them, `complete` puts them in place of what a Delta table holds.

        Args:
            rows: those of `frame`.
            run: number of the run; the same for every attempt at it.
        """
        writers = [
            (sink.name, batch_writer(rows, self.query, sink, self.connections)) for sink in self.query.to
        ]
        in_turn(writers)(rows, run)
