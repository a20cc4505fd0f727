"""A folder of files as a sink."""

from typing import Final

from pydantic import Field

from mainstem.language.base import Columns, Model, Options, Text


FILE_FORMATS: Final = ("parquet", "orc", "csv", "json", "text")
"""Sinks that are folders of files, each with the log of Spark's file sink."""


class FileSink(Model):
    """Files in a folder of their own, exactly once."""

    path: Text
    """Folder; it must be empty, or this query's own, when the query first starts."""
    partition_by: Columns | None = None
    """Columns that become folders."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's writer for this format."""
