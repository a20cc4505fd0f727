"""Side inputs that do not stream: tables in files, in Delta, in databases."""

from typing import Annotated, ClassVar

from pydantic import Field

from mainstem.language.base import Ddl, Duration, Identifier, Model, Options, Sql, Text
from mainstem.language.model.connectors.custom import SparkTable


class CsvTable(Model):
    """A CSV file or folder."""

    path: Text
    """File or folder."""
    header: bool = False
    """The first line of each file names the columns."""
    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL; without it every column is a STRING."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's CSV reader."""


class JsonTable(Model):
    """A file or folder of JSON lines."""

    path: Text
    """File or folder."""
    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL; without it Spark infers them at each start."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's JSON reader."""


class PlainTable(Model):
    """A file or folder that brings its own schema: Parquet, ORC, or text with the one column `value`."""

    path: Text
    """File or folder."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's reader."""


class DeltaTable(Model):
    """A Delta table: its newest version at the time of each batch, or a fixed one by `version` or `timestamp`."""

    path: Text
    """Folder of the table."""
    version: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """This version of the table."""
    timestamp: Text | None = None
    """The version that was the newest at this time: `2026-01-31`, `2026-01-31 12:00:00`."""


class JdbcTable(Model):
    """A table of a database, or what a query of the database's own SQL gives; asked anew in each batch."""

    one_of: ClassVar = ("table", "query")

    connection: Identifier
    """Name of the JDBC connection."""
    table: Text | None = None
    """Name of the table, as the database takes it."""
    query: Sql | None = None
    """A SELECT, run by the database."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's JDBC reader: `fetchsize`, or `partitionColumn` and its bounds."""


class CatalogTable(Model):
    """A table of a catalog of Spark's: of a `catalog` connection, or one that `spark.conf` sets up."""

    name: Text
    """Its name, with its catalog's and schema's: `catalog.schema.table`."""


class StaticSource(Model):
    """A side input that does not stream: one of `csv`, `json`, `orc`, `parquet`, `text`, `delta`, `jdbc`, `table`,
    `spark`.
    """

    one_of: ClassVar = ("csv", "json", "orc", "parquet", "text", "delta", "jdbc", "table", "spark")

    csv: CsvTable | None = None
    """CSV files."""
    json_: Annotated[JsonTable | None, Field(alias="json")] = None
    """JSON lines."""
    orc: PlainTable | None = None
    """ORC files."""
    parquet: PlainTable | None = None
    """Parquet files."""
    text: PlainTable | None = None
    """Lines of text files, in the column `value`."""
    delta: DeltaTable | None = None
    """A Delta table."""
    jdbc: JdbcTable | None = None
    """A table of a database."""
    table: CatalogTable | None = None
    """A table by name."""
    spark: SparkTable | None = None
    """A table of any connector of Spark's."""
    refresh: Duration | None = None
    """How often files are listed, and columns and partitions asked for, anew: each query that reads it is started again
    at a batch's end. Without it that is done whenever a query starts."""

    @property
    def path(self) -> str | None:
        """The file or folder that is read, for the kinds that have one."""
        return getattr(self.member(self.choice()), "path", None)
