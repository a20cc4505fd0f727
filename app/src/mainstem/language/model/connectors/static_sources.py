"""Static side inputs: tables in files, in Delta, in databases and in catalogs."""

from typing import Annotated, ClassVar, Final

from pydantic import Field

from mainstem.language.base import Ddl, Duration, Identifier, Model, Options, Sql, Text
from mainstem.language.model.connectors.custom import SparkTable
from mainstem.language.model.connectors.file_source import LOSSY
from mainstem.language.model.connectors.kinds import DeclaredColumns, TableKind, kinds


_OWNED: Final = {"path": "path", "ignoremissingfiles": "", **LOSSY}
# A malformed line ends the query: queries look up rows of a side input, and nobody notices a missing row.
_OWNED_OF_RECORDS: Final = _OWNED | dict.fromkeys(
    ("mode", "columnnameofcorruptrecord", "wholetext", "maxcolumns"), ""
)
_UNDECLARED: Final = DeclaredColumns(complete=False, open=True, flat=False)
_FLAT: Final = DeclaredColumns(complete=False, open=True)
"""The columns of a file or database without structs."""


class CsvTable(TableKind):
    """A CSV file or folder."""

    connection_kind: ClassVar = None
    options_field: ClassVar = "options"
    owned_options: ClassVar = _OWNED_OF_RECORDS | {"header": "header"}

    path: Text
    """File or folder."""
    header: bool = False
    """The first line of each file names the columns."""
    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL; without it every column is a STRING."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's CSV reader."""

    def columns(self) -> DeclaredColumns | None:
        """The columns of the schema; folders like `day=1` add further ones."""
        return _FLAT._replace(ddl=self.schema_)


class JsonTable(TableKind):
    """A file or folder of JSON lines."""

    connection_kind: ClassVar = None
    options_field: ClassVar = "options"
    owned_options: ClassVar = _OWNED_OF_RECORDS

    path: Text
    """File or folder."""
    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL; without it Spark infers them at each start."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's JSON reader."""
    allow_records_without_columns: bool = False
    """A line may have none of the columns, and then gives a row of nulls. By default it is malformed: its keys
    are probably others, such as `ID` instead of `id`."""

    def columns(self) -> DeclaredColumns | None:
        """The columns of the schema; folders like `day=1` add further ones."""
        return _FLAT._replace(ddl=self.schema_) if self.schema_ else _UNDECLARED


class SchemalessTable(TableKind):
    """A file or folder whose columns the document does not declare."""

    connection_kind: ClassVar = None
    options_field: ClassVar = "options"
    owned_options: ClassVar = _OWNED

    path: Text
    """File or folder."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's reader."""


class PlainTable(SchemalessTable):
    """A file or folder of Parquet or ORC, which contain their own schema."""

    def columns(self) -> DeclaredColumns | None:
        """Only the files know their columns."""
        return _UNDECLARED


class TextTable(SchemalessTable):
    """A text file or folder, with the one column `value`."""

    def columns(self) -> DeclaredColumns | None:
        """The column `value`; folders like `day=1` add further ones."""
        return _FLAT


class DeltaTable(TableKind):
    """A Delta table: in each batch the newest version, or always the version that `version` or `timestamp` sets."""

    connection_kind: ClassVar = None
    options_field: ClassVar = ""
    owned_options: ClassVar = _OWNED

    path: Text
    """Folder of the table."""
    version: Annotated[int, Field(ge=0, le=2**53)] | None = None
    """Number of the version to read."""
    timestamp: Text | None = None
    """The version that was the newest at this time: `2026-01-31`, `2026-01-31 12:00:00`."""

    def columns(self) -> DeclaredColumns | None:
        """Only the table knows its columns."""
        return _UNDECLARED


class JdbcTable(TableKind):
    """A table of a database, or the result of a query in the database's own SQL. Each batch reads it again."""

    one_of: ClassVar = ("table", "query")
    connection_kind: ClassVar = "jdbc"
    options_field: ClassVar = "options"
    owned_options: ClassVar = {
        "url": "the connection's url",
        "dbtable": "table",
        "query": "query",
        "user": "the connection's secretRef",
    }

    connection: Identifier
    """Name of the JDBC connection."""
    table: Text | None = None
    """Name of the table in the database."""
    query: Sql | None = None
    """A SELECT that the database runs."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's JDBC reader: `fetchsize`, or `partitionColumn` and its bounds."""

    def columns(self) -> DeclaredColumns | None:
        """Only the database knows the columns."""
        return _FLAT


class CatalogTable(TableKind):
    """A table of a Spark catalog, which a `catalog` connection or `spark.conf` configures."""

    connection_kind: ClassVar = None
    options_field: ClassVar = ""
    owned_options: ClassVar = _OWNED

    name: Text
    """Name of the table with its catalog and schema: `catalog.schema.table`."""

    def columns(self) -> DeclaredColumns | None:
        """Only the catalog knows the columns."""
        return _UNDECLARED


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
    text: TextTable | None = None
    """Lines of text files, in the column `value`."""
    delta: DeltaTable | None = None
    """A Delta table."""
    jdbc: JdbcTable | None = None
    """A table of a database."""
    table: CatalogTable | None = None
    """A table by name."""
    spark: SparkTable | None = None
    """A table of any Spark connector."""
    refresh: Duration | None = None
    """Interval at which Mainstem lists files, columns and partitions again. For this, each query that reads the table
    restarts at the end of a batch. By default this happens only when a query starts."""

    @property
    def connector(self) -> TableKind:
        """The table, whatever its kind."""
        table: TableKind = self.member(self.choice())
        return table

    @property
    def path(self) -> str | None:
        """The file or folder that is read, for the kinds that have one."""
        return self.connector.main_path


TABLES: Final = kinds(StaticSource)
"""Key of `static` -> its kind."""
