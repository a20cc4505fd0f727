"""Files that appear in a folder, as a stream."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from mainstem.language.base import Ddl, Model, Options, PositiveInt, Text, TrueOnly
from mainstem.language.model.connectors.kinds import (
    DeclaredColumns,
    Delivery,
    FieldPath,
    SourceKind,
)
from mainstem.language.model.decode import Decode, OnMalformedRecord


FileFormat = Literal["csv", "json", "orc", "parquet", "text"]
DECODED: Final = ("csv", "json")
"""Formats whose files contain records, which Mainstem decodes like Kafka records."""
LAYOUT: Final = frozenset(
    {"header", "enforceschema", "multiline", "encoding", "charset", "linesep", "comment"}
)
"""Options of Spark's readers, in lower case, that define where a record begins and ends in a file."""

LOSSY: Final = dict.fromkeys(
    (
        "ignorecorruptfiles",
        "ignoreinvalidpartitionpaths",
        "orc.skip.corrupt.data",
        "hive.exec.orc.skip.corrupt.data",
        "mapreduce.input.linerecordreader.line.maxlength",
    ),
    "",
)
"""Options of Spark's readers, in lower case, that pass over what they cannot read, without a word."""

_OWNED_PARSER: Final = {"mode": "onMalformedRecord", "columnnameofcorruptrecord": "onMalformedRecord"}
_OWNED: Final = {
    "path": "path",
    "maxbytespertrigger": "maxBytesPerTrigger",
    "maxfileage": "",
    "filenameonly": "fileNameOnly",
    "cleansource": "cleanSource",
    "sourcearchivedir": "cleanSource.archive",
    "maxfilespertrigger": "maxFilesPerTrigger",
    "latestfirst": "latestFirst",
    "pathglobfilter": "pathGlobFilter",
    "ignoremissingfiles": "failOnDataLoss",
    **LOSSY,
    "mainstemsource": "",
    "mainstemfailondataloss": "failOnDataLoss",
    "mainstemkind": "",
    "mainstemcolumns": "schema",
    "mainstemfolders": "",
    "mainstempath": "",
}
_OWNED_OF_TEXT: Final = _OWNED | {"ignorecorruptfiles": "onMalformedRecord"}
_OWNED_OF_RECORDS: Final = (
    _OWNED_OF_TEXT | _OWNED_PARSER | {"wholetext": "multiLine", "maxcolumns": "", "inferschema": "schema"}
)


class CleanSource(Model):
    """What Spark does with a file after the commit of its batch: one of `archive`, `delete`.

    Spark does not repeat a move or deletion that fails, so a file may stay.
    """

    one_of: ClassVar = ("archive", "delete")

    archive: Text | None = None
    """Folder to which Spark moves the file, with its whole path. The folder must be outside the folder of the
    source."""
    delete: TrueOnly | None = None
    """Spark deletes the file."""


class FilesSource(SourceKind):
    """New files in a folder; the query reads each file once."""

    connection_kind: ClassVar = None
    options_field: ClassVar = "options"
    owned_options: ClassVar = _OWNED
    delivery: ClassVar = Delivery.EXACTLY_ONCE
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_refuses: ClassVar = ()
    not_kept: ClassVar = ""

    path: Text
    """Path of the folder, or a glob for several folders."""
    format: FileFormat = "text"
    """`text` makes one row of each line, in the column `value`, which `decode` can decode. Mainstem decodes the
    records of `csv` and `json` by `schema`, as `decode` does."""
    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL: `carrier STRING, delay INT`. For csv, json, orc and parquet set this field or `schemaFile`."""
    schema_file: Text | None = None
    """File on this machine, or in the driver pod, with the columns as JSON of a Spark StructType."""
    on_malformed_record: OnMalformedRecord | None = None
    """What Mainstem does with a malformed record of csv or json; by default `fail`. `deadLetter` adds it to the
    relation `<source>_dead_letters`."""
    allow_records_without_columns: bool = False
    """A record of json may have none of the columns, and then gives a row of nulls. By default it is malformed: its keys
    are probably others, such as `ID` instead of `id`."""
    max_files_per_trigger: PositiveInt | None = None
    """Maximum number of new files in a batch."""
    max_bytes_per_trigger: PositiveInt | None = None
    """Maximum size of the new files in a batch, in bytes. A single larger file is a batch of its own."""
    latest_first: bool = False
    """Read the newest files first."""
    file_name_only: bool = False
    """Spark identifies a file by its name alone, and does not read a file with the same name in another folder."""
    path_glob_filter: Text | None = None
    """Glob for the names of the files to read."""
    clean_source: CleanSource | None = None
    """What Spark does with files after a query has read them. Only one query may read such a source."""
    fail_on_data_loss: bool = True
    """If a file disappears before its batch reads it, the query fails (`FilesExpired`). With false, the query
    continues without the file and counts it."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's file source, and of Spark's reader of the format: `header`, `multiLine`, `encoding`,
    `sep`."""

    @property
    def decoding(self) -> Decode | None:
        """How records of csv and json become columns; None for the other formats, and without one schema."""
        if self.format not in DECODED or (self.schema_ is None) == (self.schema_file is None):
            return None
        return decoding(
            self.format,
            self.schema_,
            self.schema_file,
            self.options,
            self.on_malformed_record or "fail",
            without_columns=self.allow_records_without_columns,
        )

    def owned(self, *, decoded: bool) -> Mapping[str, str]:
        """The owned options, which depend on the handling of malformed records."""
        if self.format in DECODED:
            return _OWNED_OF_RECORDS
        return _OWNED_OF_TEXT if decoded else _OWNED

    def paths(self) -> Iterator[tuple[FieldPath, str]]:
        """The folder of the source, and the archive for files that have been read."""
        yield ("path",), self.path
        if self.clean_source and self.clean_source.archive:
            yield ("cleanSource", "archive"), self.clean_source.archive

    @property
    def holds_records(self) -> bool:
        """A line of text is a record."""
        return self.format == "text"

    def columns(self) -> DeclaredColumns | None:
        """The columns of the schema. For formats without `decode`, Spark adds a column for each folder like `day=1`."""
        decoded = self.decoding is not None
        if self.format == "text":
            return DeclaredColumns(("value",), complete=False, open=True)
        return DeclaredColumns(ddl=self.schema_, complete=decoded, open=not decoded) if self.schema_ else None


def decoding(
    kind: str,
    schema: str | None,
    schema_file: str | None,
    options: Mapping[str, str],
    on_malformed_record: str,
    *,
    without_columns: bool = False,
) -> Decode:
    """The decoding of files of one format, by the options of the format's reader."""
    parser = {key: value for key, value in options.items() if key.lower() not in LAYOUT}
    given = {"schema": schema, "schemaFile": schema_file}
    named: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if without_columns and kind == "json":
        named["allowRecordsWithoutColumns"] = True
    return Decode.model_validate(
        {kind: named | {"options": parser}, "onMalformedRecord": on_malformed_record}
    )
