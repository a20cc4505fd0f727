"""A folder of files as a sink."""

from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import Field

from mainstem.language.base import Columns, Options, Text
from mainstem.language.model.connectors.kinds import (
    Delivery,
    FieldPath,
    Guarantee,
    ModeRefusal,
    SinkKind,
    column_paths,
)


FILE_FORMATS: Final = ("parquet", "orc", "csv", "json", "text")
"""Sinks that are folders of files, each with the log of Spark's file sink."""


OWNED_WRITER: Final = {
    "path": "path",
    "checkpointlocation": "checkpoints",
    "txnappid": "",
    "txnversion": "",
    "partitionby": "partitionBy",
}
"""Owned options of every writer of a folder."""


class FileSink(SinkKind):
    """Files in their own folder, exactly once."""

    connection_kind: ClassVar = None
    options_field: ClassVar = "options"
    # The removal of orphan files recognizes files by their extensions.
    owned_options: ClassVar = OWNED_WRITER | {"extension": ""}
    refusals: ClassVar = (
        ModeRefusal(
            ("update", "complete"),
            "a folder of {kind} files can only be appended to, not written in {mode} mode; use delta",
            "a file sink supports only append mode; use outputMode: append or a delta sink",
        ),
    )
    continuous: ClassVar = False
    real_time: ClassVar = False
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = False
    by_number: ClassVar = True

    path: Text
    """Path of the folder. If the query's checkpoint is empty, the folder must not have data."""
    partition_by: Columns | None = None
    """Columns that become folders."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's writer for this format."""

    def guarantee(self) -> Guarantee:
        """The sink's log lists each file once; a reader that ignores the log may see files of an unfinished batch."""
        text = "exactly once; for readers of the bare folder once the query has started again"
        return Guarantee(Delivery.EXACTLY_ONCE, text)

    def repeated(self, mode: str) -> str:  # noqa: ARG002 - Delta and JDBC use it
        """The folder's log knows batches by their number alone."""
        return "needs a new path: its folder has these batches, and Mainstem refuses to start on it (SinkFolderTaken)"

    def columns(self) -> Iterator[tuple[FieldPath, str]]:
        """The columns of partitions."""
        yield from column_paths("partitionBy", self.partition_by)
