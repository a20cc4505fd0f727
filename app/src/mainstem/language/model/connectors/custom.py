"""Connectors that Mainstem does not bring: any DataSource of Spark's, from a jar of `packages` or in Python."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from mainstem.language.base import Ddl, Identifier, Model, Options, PythonObject


ConnectorName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.$-]*$", max_length=255)]
"""Spark's name of a connector: its short name, or its class or package."""


class Connector(Model):
    """What names a connector and what it is told."""

    one_of: ClassVar = ("format", "python")

    format: ConnectorName | None = None
    """Name of the connector, as its own documentation has it: `mongodb`, `org.apache.spark.sql.cassandra`. Its jar is in
    `packages`."""
    python: PythonObject | None = None
    """A `pyspark.sql.datasource.DataSource` in Python: `module:Class`."""
    connection: Identifier | None = None
    """Name of the Spark connection whose options the connector gets too, those from secrets among them."""
    options: Options = Field(default_factory=dict)
    """The connector's options, as its own documentation has them; they replace those of the connection."""


class SparkSource(Connector):
    """A stream of any connector: Spark's `readStream.format(...)`. What happens to rows after a failure depends on the
    connector.
    """

    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL, for a connector that does not know them itself."""


class SparkTable(Connector):
    """A table of any connector: Spark's `read.format(...)`."""

    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL, for a connector that does not know them itself."""


class SparkSink(Connector):
    """Rows to any connector. Which rows arrive once, twice or not at all depends on the connector."""

    mode: Literal["stream", "batch"] = "stream"
    """`stream` is Spark's `writeStream.format(...)`, for connectors that write streams. `batch` writes each batch with
    `write.format(...)`: `append` and `update` add rows, `complete` replaces them (`overwrite`). Beside other sinks it has to be
    `batch`; a query that runs once writes in this way, whatever the mode."""
