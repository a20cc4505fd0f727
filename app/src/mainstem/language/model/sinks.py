"""Where a query's rows go: topics, tables, folders of files, databases, and what is for tests."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from mainstem.language.base import MAX_ITEMS, Column, Columns, Identifier, Model, Options, PythonObject, Text
from mainstem.language.model.connectors.custom import SparkSink
from mainstem.language.model.connectors.delta import DeltaSink


FILE_FORMATS: Final = ("parquet", "orc", "csv", "json", "text")
"""Sinks that are folders of files, each with the log of Spark's file sink."""

Headers = Annotated[dict[Text, Column], Field(max_length=MAX_ITEMS)]


class KafkaSink(Model):
    """Records to a topic, at least once: after a failure the last batch may be written again."""

    one_of: ClassVar = ("topic", "topicColumn")

    connection: Identifier
    """Name of the Kafka connection."""
    topic: Text | None = None
    """Topic that every row goes to."""
    topic_column: Column | None = None
    """Column that names each row's topic."""
    key: Columns | None = None
    """Columns whose JSON object is the record's key; without `key` and `keyColumn` the key is null."""
    key_column: Column | None = None
    """Column that is the record's key as it is: binary, or anything else as a string."""
    value: Columns | None = None
    """Columns whose JSON object is the record's value; without `value` and `valueColumn` all columns."""
    value_column: Column | None = None
    """Column that is the record's value as it is: binary, or anything else as a string. Null is a tombstone."""
    headers: Headers | None = None
    """Headers of each record by name, in the order of their names, each with the column that it is taken from: binary, or
    anything else as a string; a null leaves the header's value out."""
    headers_column: Column | None = None
    """Column that holds the headers: `ARRAY<STRUCT<key: STRING, value: BINARY>>`, as Kafka sources give them, or a
    map of strings."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's Kafka sink."""


class FileSink(Model):
    """Files in a folder of their own, exactly once."""

    path: Text
    """Folder; it must be empty, or this query's own, when the query first starts."""
    partition_by: Columns | None = None
    """Columns that become folders."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's writer for this format."""


class Upsert(Model):
    """Upsert by keys: a row replaces the row of the table that has equal keys."""

    keys: Columns
    """Columns that identify a row; the table has a unique index of just these, and none of them is null."""


class JdbcSink(Model):
    """A table of a database: of PostgreSQL exactly once, each batch in one transaction, which notes its number in
    `mainstem_batches`; of any database at least once.
    """

    connection: Identifier
    """Name of the JDBC connection."""
    table: Text
    """Table, `name` or `schema.name`, taken literally. It must be there, with a column for each of the query's."""
    upsert: Upsert | None = None
    """Upsert in place of insert; the way to write `outputMode: update`."""
    delivery: Literal["exactlyOnce", "atLeastOnce"] = "exactlyOnce"
    """`exactlyOnce` is for PostgreSQL. `atLeastOnce` appends by Spark's own JDBC writer to any database whose driver is there:
    after a failure the last batch, or a part of it, is written again. Spark makes the table where there is none."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's JDBC writer, such as `batchsize`."""


class ConsoleSink(Model):
    """Rows on the standard output, for a first look."""

    num_rows: Annotated[int, Field(ge=1, le=10_000)] = 20
    """At most so many rows a batch."""
    truncate: bool = True
    """Cut long values."""


class PythonSink(Model):
    """Rows or batches to Python code from the image, at least once: after a failure the last batch comes again."""

    one_of: ClassVar = ("foreach", "foreachBatch")

    foreach: PythonObject | None = None
    """Function that is called with each row, and the arguments by name: `module:function`. Or a class with `process(row)` and,
    if wanted, `open(partition, batch)`, which may refuse a partition it has, and `close(error)`: `module:Class`; its object
    is made in the driver, with the arguments, and sent to where the rows are."""
    foreach_batch: PythonObject | None = None
    """Function that is called in the driver with each batch, a DataFrame, its number, and the arguments by name:
    `module:function`. A batch that comes again has the same number."""
    arguments: Options = Field(default_factory=dict)
    """Keyword arguments of the class or function, all strings."""


class MemorySink(Model):
    """The driver's memory, for tests: a temporary view of the query's session, called like the sink. It goes with the driver."""


class NoopSink(Model):
    """Nowhere: every row is computed and none is kept, for measuring."""


class Sink(Model):
    """Where rows go: one of `kafka`, `delta`, `parquet`, `orc`, `csv`, `json`, `text`, `jdbc`, `spark`, `python`, `console`,
    `memory`, `noop`.
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
    """A folder of text files: the one column, a string, is the line."""
    jdbc: JdbcSink | None = None
    """A table of a database."""
    spark: SparkSink | None = None
    """Any connector of Spark's."""
    python: PythonSink | None = None
    """Python code of one's own."""
    console: ConsoleSink | None = None
    """The standard output."""
    memory: MemorySink | None = None
    """The driver's memory."""
    noop: NoopSink | None = None
    """Nowhere."""

    @property
    def files(self) -> FileSink | None:
        """The folder of files, where the sink is one; its format is `choice()`."""
        found: FileSink | None = self.member(self.choice()) if self.choice() in FILE_FORMATS else None
        return found

    @property
    def folder(self) -> DeltaSink | FileSink | None:
        """What is written at a path: a table or a folder of files."""
        return self.delta or self.files

    def columns(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Every column that the sink names: where it stands below the sink, and its name."""
        kind = self.choice()
        for path, value in _named(self):
            if isinstance(value, str):
                yield (kind, *path), value
            else:
                for index, column in enumerate(value or ()):
                    yield (kind, *path, index), column


def _named(sink: Sink) -> Iterator[tuple[tuple[str, ...], tuple[str, ...] | str | None]]:
    if kafka := sink.kafka:
        yield ("topicColumn",), kafka.topic_column
        yield ("key",), kafka.key
        yield ("keyColumn",), kafka.key_column
        yield ("value",), kafka.value
        yield ("valueColumn",), kafka.value_column
        yield ("headersColumn",), kafka.headers_column
        for header, column in (kafka.headers or {}).items():
            yield ("headers", header), column
    if folder := sink.folder:
        yield ("partitionBy",), folder.partition_by
    if sink.delta and sink.delta.merge:
        merge = sink.delta.merge
        yield ("merge", "keys"), merge.keys
        yield ("merge", "sequenceBy"), merge.sequence_by
        yield ("merge", "exceptColumns"), merge.except_columns
    optimize = sink.delta.maintenance.optimize if sink.delta and sink.delta.maintenance else None
    if optimize:
        yield ("maintenance", "optimize", "zOrderBy"), optimize.z_order_by
    if sink.jdbc and sink.jdbc.upsert:
        yield ("upsert", "keys"), sink.jdbc.upsert.keys
