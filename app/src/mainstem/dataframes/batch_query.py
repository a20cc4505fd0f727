"""Batch queries: they read only static and bounded sources, and write their rows once, as one batch."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sinks.batches import batch_writer, in_turn
from mainstem.language.model.queries import Query


@dataclass(frozen=True)
class BatchQuery:
    """A built query that does not stream.

    Attributes:
        frame: the query's rows.
        query: the query.
        connections: connections by name.
    """

    frame: DataFrame
    query: Query
    connections: Connections

    def write(self, rows: DataFrame, run: int) -> None:
        """Write the rows of a run to each sink; the number of the run is the number of the batch.

        The output modes `append` and `update` add the rows; `complete` replaces the rows of a Delta table.

        Args:
            rows: the rows of `frame`.
            run: number of the run; every attempt at the run has the same number.
        """
        writers = [
            (sink.name, batch_writer(rows, self.query, sink, self.connections)) for sink in self.query.to
        ]
        in_turn(writers)(rows, run)
