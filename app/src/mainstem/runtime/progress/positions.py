"""Where a query continues or begins to read its sources, before its first batch reports it; pure."""

import json
from collections.abc import Mapping
from typing import Any, Final

from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.runtime.progress.spark_progress import Offsets, offset, per_partition


_NEWEST: Final = -1
_OLDEST: Final = -2
"""Spark's numbers for the end and the beginning of a partition, in `startingOffsets`."""


def next_begins(ends: Mapping[str, Any], planned: Mapping[str, Any]) -> dict[str, Any]:
    """Occurrence -> the offset from which the next batch reads.

    Args:
        ends: occurrence -> the end of the last committed batch, or the beginning of the first.
        planned: occurrence -> the end of the newest planned batch. It is before the committed one where a topic was recreated:
            then the query reads the new topic from its beginning.
    """
    return {name: _earlier(end, planned.get(name)) for name, end in ends.items()}


def spark_begins(text: str) -> Offsets | None:
    """Where the first batch of a Kafka stream begins, from the file in which Spark keeps that; None for another file.

    The file of Spark's `KafkaSourceInitialOffsetWriter` has a zero byte, a version, and the offsets as JSON.
    """
    version, _, offsets = text.lstrip("\0").partition("\n")
    try:
        read = json.loads(offsets)
    except ValueError:
        return None
    return read if version == "v1" and per_partition(read) else None


def document_begins(source: KafkaSource, earliest: Offsets, latest: Offsets) -> Offsets | None:
    """Where a query without a planned batch begins to read; None if that depends on the times of records.

    Args:
        source: the source, which streams.
        earliest: the first offsets of its topics, asked right before the query starts.
        latest: the offsets behind their last records, asked at the same time.
    """
    if source.starting_timestamp or source.starting_offsets_by_timestamp:
        return None
    text = (source.starting_offsets or "latest").strip()
    if text.lower() in ("earliest", "latest"):
        return earliest if text.lower() == "earliest" else latest
    ends = {_NEWEST: latest, _OLDEST: earliest}
    return {
        topic: {
            partition: offset(ends.get(int(at), {}), topic, partition, max(0, int(at)))
            for partition, at in partitions.items()
        }
        for topic, partitions in json.loads(text).items()
    }


def _earlier(end: Any, other: Any) -> Any:
    """The end, or of Kafka's offsets the smaller one of each partition."""
    if not per_partition(end) or not per_partition(other):
        return end
    return {
        topic: {
            partition: min(int(at), offset(other, topic, partition, at))
            for partition, at in partitions.items()
        }
        for topic, partitions in end.items()
    }
