"""Views that are no SQL: one step over other relations."""

from pyspark.sql import DataFrame

from mainstem.spec.views import Deduplicate


def deduplicated(frame: DataFrame, step: Deduplicate) -> DataFrame:
    """Each row once, by its columns."""
    columns = list(step.columns) if step.columns else None
    return (
        frame.dropDuplicatesWithinWatermark(columns)
        if step.within_watermark
        else frame.dropDuplicates(columns)
    )
