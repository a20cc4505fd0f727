"""The types of the columns in a sink's folder: those of its newest file.

A folder of Parquet or ORC files has no table that gives its types. Spark takes them from one of the files, and then fails on
files with narrower or wider ones. Only one checkpoint writes a folder, so its types change only with the document.
"""

from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from mainstem.dataframes.sinks.spark_sink_log import newest_path, refuse_broken
from mainstem.dataframes.sinks.stored_types import FOLDER
from mainstem.dataframes.sinks.stored_values import Stored, session_time_zone
from mainstem.filesystem import Directory
from mainstem.language.model.connectors.file_sink import FileSink


_TYPED: Final = ("parquet", "orc")
"""Formats whose files have types."""


def in_folder(session: SparkSession, sink: FileSink, kind: str) -> Stored | None:
    """The columns of a sink's folder, without those of its partitions; None if no file has types.

    Raises:
        NotReady: `SinkLogDamaged`.
    """
    path = _newest(session, sink.path) if kind in _TYPED else None
    columns = path and _columns(session, path, kind)
    return Stored(columns, session_time_zone(session), place=FOLDER) if columns else None


def _newest(session: SparkSession, folder: str) -> str | None:
    try:
        return newest_path(session, Directory(session, folder))
    except (PySparkException, Py4JError):
        refuse_broken(session, folder)  # Spark's error does not name the entry
        raise


def _columns(session: SparkSession, path: str, kind: str) -> StructType | None:
    """The columns of a file; None if it has been removed."""
    try:
        return session.read.format(kind).load(path).schema
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return None
        raise
