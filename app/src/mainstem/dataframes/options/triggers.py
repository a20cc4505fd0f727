"""Sets the document's triggers on Spark's writers."""

from typing import Final

from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.language.base import interval, seconds
from mainstem.language.model.queries import Query


_ASYNC: Final = "asyncProgressTrackingEnabled"
_ASYNC_INTERVAL: Final = "asyncProgressTrackingCheckpointIntervalMs"


def with_trigger(writer: DataStreamWriter, query: Query) -> DataStreamWriter:
    """The writer with the query's trigger, and with asynchronous progress tracking if the query has it."""
    tracking = query.async_progress_tracking
    if tracking is not None:
        milliseconds = round(seconds(tracking.checkpoint_interval) * 1000)
        writer = writer.option(_ASYNC, value=True).option(_ASYNC_INTERVAL, milliseconds)
    trigger = query.trigger
    if trigger is None:
        return writer
    if trigger.processing_time is not None:
        return writer.trigger(processingTime=interval(trigger.processing_time))
    if trigger.continuous is not None:
        return writer.trigger(continuous=interval(trigger.continuous))
    if trigger.real_time is not None:
        return writer.trigger(realTime=interval(trigger.real_time))
    return writer.trigger(once=True) if trigger.once else writer.trigger(availableNow=True)
