"""Sinks: topics, tables, folders of files, databases, and sinks for tests."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

from pydantic import Field

from mainstem.language.base import Identifier, Model
from mainstem.language.model.connectors.custom import SparkSink
from mainstem.language.model.connectors.delta import DeltaSink
from mainstem.language.model.connectors.file_sink import FILE_FORMATS, FileSink
from mainstem.language.model.connectors.inspection_sinks import ConsoleSink, MemorySink, NoopSink
from mainstem.language.model.connectors.jdbc_sink import JdbcSink
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from mainstem.language.model.connectors.kinds import FieldPath, SinkKind, kinds
from mainstem.language.model.connectors.python_sink import PythonSink


class Sink(Model):
    """A target of rows: one of `kafka`, `delta`, `parquet`, `orc`, `csv`, `json`, `text`, `jdbc`, `spark`, `python`,
    `console`, `memory`, `noop`.
    """

    one_of: ClassVar = (
        "kafka",
        "delta",
        *FILE_FORMATS,
        "jdbc",
        "spark",
        "python",
        "console",
        "memory",
        "noop",
    )

    name: Identifier
    """Name of the sink within its query."""
    kafka: KafkaSink | None = None
    """A Kafka topic."""
    delta: DeltaSink | None = None
    """A Delta table."""
    parquet: FileSink | None = None
    """A folder of Parquet files."""
    orc: FileSink | None = None
    """A folder of ORC files."""
    csv: FileSink | None = None
    """A folder of CSV files."""
    json_: Annotated[FileSink | None, Field(alias="json")] = None
    """A folder of files with a JSON object on each line."""
    text: FileSink | None = None
    """A folder of text files. The only column, a string, is the line."""
    jdbc: JdbcSink | None = None
    """A table of a database."""
    spark: SparkSink | None = None
    """Any Spark connector."""
    python: PythonSink | None = None
    """Your own Python code."""
    console: ConsoleSink | None = None
    """The standard output."""
    memory: MemorySink | None = None
    """The driver's memory."""
    noop: NoopSink | None = None
    """No target: Spark computes the rows and discards them."""

    @property
    def connector(self) -> SinkKind:
        """The settings of the sink's kind."""
        sink: SinkKind = self.member(self.choice())
        return sink

    @property
    def files(self) -> FileSink | None:
        """The settings of a file sink, whose format is `choice()`; None for other sinks."""
        return self.connector if isinstance(self.connector, FileSink) else None

    @property
    def stores_names(self) -> bool:
        """Whether the sink stores the columns of a row by their names, so that a name can be there only once."""
        if self.kafka:
            return self.kafka.value_column is None and self.kafka.value in (None, ("*",))
        return bool(self.folder or self.jdbc) and not self.text

    @property
    def folder(self) -> DeltaSink | FileSink | None:
        """The settings of a sink with a path, which is a Delta table or a folder of files; None for other sinks."""
        return self.delta or self.files

    def columns(self) -> Iterator[tuple[FieldPath, str]]:
        """Every column that the sink names: its path below the sink, and its name."""
        for path, column in self.connector.columns():
            yield (self.choice(), *path), column


SINKS: Final[dict[str, type[SinkKind]]] = kinds(Sink)
"""Key of a sink -> its kind."""
