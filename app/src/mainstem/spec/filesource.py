"""Files that appear in a folder, as a stream."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mainstem.spec.base import Ddl, Duration, Model, Options, PositiveInt, Text, TrueOnly


FileFormat = Literal["csv", "json", "orc", "parquet", "text"]


class CleanSource(Model):
    """What becomes of a file once its batch is committed: one of `archive`, `delete`.

    Spark does it as it goes, and forgets what it could not do: a file may stay.
    """

    one_of: ClassVar = ("archive", "delete")

    archive: Text | None = None
    """Folder to which it is moved, below its own path; outside the folder that is read."""
    delete: TrueOnly | None = None
    """It is removed."""


class FilesSource(Model):
    """Files that appear in a folder, each read once."""

    path: Text
    """Folder, or a glob of folders."""
    format: FileFormat = "text"
    """`text` gives one row a line, in the column `value`, ready for `decode`."""
    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL: `carrier STRING, delay INT`. Here or in `schemaFile`, for csv, json, orc and parquet."""
    schema_file: Text | None = None
    """File of this machine, or of the driver's pod, with the columns as JSON of a Spark StructType."""
    max_files_per_trigger: PositiveInt | None = None
    """At most so many new files in one batch."""
    max_bytes_per_trigger: PositiveInt | None = None
    """At most so many bytes of new files in one batch, but for one that is larger by itself."""
    latest_first: bool = False
    """Read the newest files first."""
    max_file_age: Duration | None = None
    """Files so much older than the newest one are passed over; without it a week. The first batch reads all."""
    file_name_only: bool = False
    """A file is known by its name alone, so that one of the same name in another folder is not read."""
    path_glob_filter: Text | None = None
    """Only files whose name matches this glob."""
    clean_source: CleanSource | None = None
    """What becomes of files that have been read; one query alone may read the source then."""
    fail_on_data_loss: bool = True
    """A file that is gone before its batch reads it ends the query (`FilesExpired`). With false the query goes on without
    it, and counts it."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's file source."""
