"""What is read: streams of Kafka, files and rate, and static side inputs; and how bytes become columns."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mainstem.spec.base import (
    Column,
    Ddl,
    Duration,
    Identifier,
    Model,
    Options,
    PositiveInt,
    Text,
)
from mainstem.spec.decode import Decode
from mainstem.spec.delta import DeltaSource
from mainstem.spec.kafkasource import KafkaSource
from mainstem.spec.static import StaticSource


FileFormat = Literal["csv", "json", "orc", "parquet", "text"]


class FilesSource(Model):
    """Files that appear in a folder, each read once."""

    path: Text
    """Folder, or a glob of folders."""
    format: FileFormat = "text"
    """`text` gives one row a line, in the column `value`, ready for `decode`."""
    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL: `carrier STRING, delay INT`. Needed for csv, json, orc and parquet."""
    max_files_per_trigger: PositiveInt | None = None
    """At most so many new files in one batch."""
    latest_first: bool = False
    """Read the newest files first."""
    path_glob_filter: Text | None = None
    """Only files whose name matches this glob."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's file source."""


class RateSource(Model):
    """Made-up rows (`timestamp`, `value`) at a steady rate; for demos and tests, not fault-tolerant."""

    rows_per_second: PositiveInt = 1
    """Rows made each second."""


class Watermark(Model):
    """How late a row may be, by its event time."""

    column: Column
    """Event-time column, of type TIMESTAMP."""
    delay: Duration
    """Rows older than the newest event time less this delay may be dropped by stateful operators."""


class Source(Model):
    """A named relation that is read: one of `kafka`, `files`, `delta`, `rate`, `static`."""

    one_of: ClassVar = ("kafka", "files", "delta", "rate", "static")

    name: Identifier
    """Name under which SQL reads it."""
    kafka: KafkaSource | None = None
    """Records of Kafka topics: a stream, unless an end is given."""
    files: FilesSource | None = None
    """Files as they appear, as a stream."""
    delta: DeltaSource | None = None
    """A Delta table and what is written to it, as a stream."""
    rate: RateSource | None = None
    """Made-up rows, as a stream."""
    static: StaticSource | None = None
    """A table that does not stream."""
    decode: Decode | None = None
    """How the record's bytes become columns; without it the source's own columns are the relation."""
    watermark: Watermark | None = None
    """Event time and how late a row may be."""

    @property
    def streaming(self) -> bool:
        """True unless the source is a static table, or a topic that is read up to an end."""
        return self.static is None and not (self.kafka and self.kafka.bounded)

    @property
    def dead_letters(self) -> str | None:
        """Name of the relation of records that did not parse, where the source offers one."""
        if self.decode is None or self.decode.on_bad_record != "deadLetter":
            return None
        return f"{self.name}_dead_letters"
