"""Names of columns as Spark resolves them: without backticks, Spark takes `ev.time` for a field of a column `ev`."""

from pyspark.sql import DataFrame


def quote(name: str) -> str:
    """The name as Spark's parser takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def resolved(frame: DataFrame, name: str) -> str:
    """The name of a column of the frame, in backticks; any other name, such as `address.city`, as Spark reads it."""
    return quote(name) if name.lower() in {column.lower() for column in frame.columns} else name
