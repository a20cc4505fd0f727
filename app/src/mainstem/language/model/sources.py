"""Sources: streams and static side inputs, with their decoding and their event time."""

from typing import ClassVar, Final

from mainstem.language.base import Duration, EventTimeColumn, Identifier, Model
from mainstem.language.model.connectors.custom import SparkSource
from mainstem.language.model.connectors.delta import DeltaSource
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.generated_sources import (
    RateMicroBatchSource,
    RateSource,
    SocketSource,
)
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.connectors.kinds import FieldPath, SourceKind, TableKind, kinds
from mainstem.language.model.connectors.static_sources import StaticSource
from mainstem.language.model.decode import Decode


class Watermark(Model):
    """How late a row may be, by its event time."""

    column: EventTimeColumn
    """Event-time column, of type TIMESTAMP."""
    delay: Duration
    """Stateful operators may drop rows that are older than the newest event time minus this delay."""
    max_future: Duration | None = None
    """A record whose event time is further ahead of the clock than this is malformed: `onMalformedRecord` applies, and the
    watermark does not move. For sources with `decode`, or with files of csv or json. Without this field, one record
    of the year 2099 makes Spark drop all later rows."""


class Source(Model):
    """A named relation from outside the pipeline: one of `kafka`, `files`, `delta`, `rate`, `rateMicroBatch`,
    `socket`, `spark`, `static`.
    """

    one_of: ClassVar = ("kafka", "files", "delta", "rate", "rateMicroBatch", "socket", "spark", "static")

    name: Identifier
    """Name of the relation in SQL."""
    kafka: KafkaSource | None = None
    """Records of Kafka topics: a stream, unless the document sets an end."""
    files: FilesSource | None = None
    """New files in a folder, as a stream."""
    delta: DeltaSource | None = None
    """The rows and new commits of a Delta table, as a stream."""
    rate: RateSource | None = None
    """Generated rows at a steady rate, as a stream."""
    rate_micro_batch: RateMicroBatchSource | None = None
    """Generated rows, the same number in each batch, as a stream."""
    socket: SocketSource | None = None
    """Lines of a socket, as a stream."""
    spark: SparkSource | None = None
    """Any Spark connector, as a stream."""
    static: StaticSource | None = None
    """A table that does not stream."""
    decode: Decode | None = None
    """How the bytes of a record become columns; without it the relation has the source's own columns."""
    watermark: Watermark | None = None
    """Event time and how late a row may be."""

    @property
    def streaming(self) -> bool:
        """True unless the source is a static table, or has an end."""
        return self.stream is not None and not self.stream.bounded

    @property
    def stream(self) -> SourceKind | None:
        """The settings of a streaming source; None for a table."""
        source: SourceKind | None = self.member(self.choice()) if self.static is None else None
        return source

    @property
    def connector(self) -> SourceKind | TableKind:
        """The settings of the source's kind; for a static source, those of the table."""
        if self.static:
            return self.static.connector
        source: SourceKind = self.member(self.choice())
        return source

    @property
    def connector_path(self) -> FieldPath:
        """Path of these settings below the source."""
        return ("static", self.static.choice()) if self.static else (self.choice(),)

    @property
    def holds_records(self) -> bool:
        """True where rows are records that `decode` can read."""
        return self.stream is not None and self.stream.holds_records

    @property
    def decoding(self) -> Decode | None:
        """How records become columns: `decode`, or the schema of csv and json files; None for a source without records."""
        return self.decode or (self.files.decoding if self.files else None)

    @property
    def dead_letters(self) -> str | None:
        """Name of the relation of malformed records; None for a source without one."""
        if self.decoding is None or self.decoding.on_malformed_record != "deadLetter":
            return None
        return f"{self.name}_dead_letters"


SOURCES: Final[dict[str, type[SourceKind]]] = {
    key: kind for key, kind in kinds(Source).items() if kind is not StaticSource
}
"""Key of a streaming source -> its kind."""
