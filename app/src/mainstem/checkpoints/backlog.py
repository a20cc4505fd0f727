"""Compares the offsets of a checkpoint with the ends of the topics; pure."""

import re
from collections.abc import Mapping
from typing import Any


def ends(offsets: Mapping[str, Any], topics: Mapping[str, tuple[Any, Any]]) -> dict[str, dict[str, Any]]:
    """Occurrence of a Kafka source -> its backlog.

    Args:
        offsets: occurrence -> topic -> partition -> the offset at which the last committed batch ended.
        topics: source -> the first offsets and the ends of its topics.
    """
    known = {name: topics.get(name) or topics.get(re.sub(r"_\d+$", "", name)) for name in offsets}
    return {name: _backlog(offsets[name], *each) for name, each in known.items() if each}


def _backlog(
    read: Mapping[str, Any], earliest: Mapping[str, Any], latest: Mapping[str, Any]
) -> dict[str, Any]:
    """What a source has not read.

    Returns:
        `topics`, the ends; `unread`, the records that are not read yet and still kept; `retained`, the records that are still
        kept, read or not; `expired`, the offsets that are neither read nor kept. All follow from offsets, so transactions
        and compaction make the numbers too large.
    """
    unread = retained = expired = 0
    for topic, partitions in latest.items():
        for partition, end in partitions.items():
            first = int(earliest.get(topic, {}).get(partition, end))
            position = int((read.get(topic) or {}).get(partition, first))
            unread += max(0, int(end) - max(position, first))
            retained += int(end) - first
            expired += max(0, first - position)
    return {"topics": dict(latest), "unread": unread, "retained": retained, "expired": expired}
