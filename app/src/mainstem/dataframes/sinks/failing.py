"""Fails a batch from within its own plan."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit


def failing(prefix: str, why: str) -> Column:
    """A column that fails the batch as soon as Spark computes it for a row.

    Args:
        prefix: the text by which the driver recognizes the failure.
        why: the message; it names no value.
    """
    return F.expr(failing_sql(prefix, why))


def failing_sql(prefix: str, why: str) -> str:
    """The same as Spark's SQL."""
    # Two texts, so that a plan in the message of another failure is not taken for this one.
    return f"raise_error(concat({_literal(prefix)}, {_literal(f' {why}')}))"


def _literal(text: str) -> str:
    """Spark's SQL for a text, which no setting of its parser reads in another way."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"
