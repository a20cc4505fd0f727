"""Connectors that Mainstem does not contain: any Spark DataSource, from a jar of `packages` or in Python."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from mainstem.language.base import Ddl, Identifier, Options, PythonObject
from mainstem.language.model.connectors.kinds import (
    ConnectorKind,
    DeclaredColumns,
    Delivery,
    Guarantee,
    SinkKind,
    SourceKind,
    TableKind,
)


ConnectorName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.$-]*$", max_length=255)]
"""Spark's name of a connector: its short name, or its class or package."""


class CustomConnector(ConnectorKind):
    """The name of a connector, and its options."""

    one_of: ClassVar = ("format", "python")
    connection_kind: ClassVar = "spark"
    options_field: ClassVar = "options"
    owned_options: ClassVar = {}

    format: ConnectorName | None = None
    """Name of the connector in its documentation: `mongodb`, `org.apache.spark.sql.cassandra`. Its jar is in
    `packages`."""
    python: PythonObject | None = None
    """A `pyspark.sql.datasource.DataSource` in Python: `module:Class`."""
    connection: Identifier | None = None
    """Name of the Spark connection whose options the connector also gets, including those from Secrets."""
    options: Options = Field(default_factory=dict)
    """Options from the connector's documentation. They replace the connection's options with the same names."""


class SparkSource(CustomConnector, SourceKind):
    """A stream of any connector: Spark's `readStream.format(...)`. What happens to rows after a failure depends on the
    connector.
    """

    delivery: ClassVar = Delivery.UNKNOWN
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_refuses: ClassVar = ()
    not_kept: ClassVar = ""

    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL, for a connector that cannot report them itself."""

    def columns(self) -> DeclaredColumns | None:
        """The columns of the schema. The connector can interpret the schema differently."""
        return DeclaredColumns(ddl=self.schema_, open=True, flat=False) if self.schema_ else None


class SparkTable(CustomConnector, TableKind):
    """A table of any connector: Spark's `read.format(...)`."""

    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL, for a connector that cannot report them itself."""

    def columns(self) -> DeclaredColumns | None:
        """Only the connector knows how it reads the schema."""
        return None


class SparkSink(CustomConnector, SinkKind):
    """Rows to any connector. The connector decides which rows arrive once, twice or not at all."""

    owned_options: ClassVar = {"checkpointlocation": "checkpoints"}
    refusals: ClassVar = ()
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = False
    by_number: ClassVar = True

    mode: Literal["stream", "batch"] = "stream"
    """`stream` is Spark's `writeStream.format(...)`, for connectors that write streams. `batch` writes each batch
    with `write.format(...)`: `append` and `update` add rows, `complete` replaces them (`overwrite`). A query with
    several sinks needs `batch`. A query that runs once always writes like `batch`."""

    def guarantee(self) -> Guarantee:
        """Mainstem does not know what the connector does with a repeated batch."""
        text = (
            "delivery: not known: depends on the connector, which gets the last batch again after a failure"
        )
        return Guarantee(Delivery.UNKNOWN, text)

    def repeated(self, mode: str) -> str:  # noqa: ARG002 - Delta and JDBC use it
        """Mainstem does not know what the connector does."""
        return "may get their rows again, or skip them by their numbers: this depends on the connector"
