"""Fails a batch from within its own plan."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def failing(prefix: str, why: str) -> Column:
    """A column that fails the batch as soon as Spark computes it for a row.

    Args:
        prefix: the text by which the driver recognizes the failure.
        why: the message; it names no value.
    """
    # Two texts, so that a plan in the message of another failure is not taken for this one.
    return F.raise_error(F.concat(F.lit(prefix), F.lit(f" {why}")))
