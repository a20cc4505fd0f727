"""A view of a user's, for tests of documents."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def total(rows: DataFrame, named: str) -> DataFrame:
    """The sum of all rows."""
    return rows.agg(F.sum("n").alias(named))
