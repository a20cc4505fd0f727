"""Recreated topics, from ids and entries of Spark's offset log; no broker and no Spark is there."""

import json
from typing import Any

import pytest
from mainstem.runtime.progress.spark_progress import expired_offsets, went_back
from mainstem.runtime.supervision.recreated_topics import NO_ID, Read, read_ids, recreated, rewound


ENTRY = "\n".join(
    [
        "v2",
        json.dumps({"batchWatermarkMs": 7, "batchTimestampMs": 1, "conf": {"a:b": "c"}}),
        'orders:{"old":{"0":10,"1":4},"steady":{"0":3}}',
        'rows:{"logOffset":5}',
        "late:-",
    ]
)
BEGINNINGS = {"orders": {"old": {"0": 0, "1": 2, "2": 0}, "steady": {"0": 0}}, "late": {"old": {"0": 0}}}


def test_a_topic_with_a_new_id_is_recreated() -> None:
    known = {("orders", "old", "A"), ("orders", "steady", "B"), ("again", "steady", "B")}
    ids = {"orders": {"old": "C", "steady": "B", "new": "D"}, "again": {"steady": NO_ID}}
    assert recreated(known, ids) == [("orders", "old")]
    # A crash between the two steps of keeping ids leaves both: the topic was gone on with already.
    assert recreated(known | {("orders", "old", "C")}, ids) == []
    assert recreated(set(), ids) == []


def test_a_new_id_counts_once_a_batch_was_planned_after_it() -> None:
    first, second, other = ("orders", "old", "A"), ("orders", "old", "B"), ("orders", "steady", "C")
    kept = {first: 10, second: 20, other: 30}
    assert read_ids(kept, 19) == {first, other}
    assert read_ids(kept, 20) == read_ids(kept, 21) == {first, second, other}
    # Without a batch, or kept by a driver that knew no older one, nothing tells them apart.
    assert read_ids({second: 20, other: 30}, -1) == {second, other}
    assert read_ids({first: 20, second: 20}, 5) == {first, second}


def test_a_batch_rewinds_only_the_recreated_topic() -> None:
    read, entry = rewound(ENTRY, [("orders", "old")], BEGINNINGS)
    assert read == [Read("orders", "old", {"0": 10, "1": 4})]
    before, after = ENTRY.splitlines(), entry.splitlines()
    assert after[2] == 'orders:{"old":{"0":0,"1":2,"2":0},"steady":{"0":3}}'
    assert [line for line in after if not line.startswith("orders:")] == [*before[:2], *before[3:]]


@pytest.mark.parametrize("topic", [("late", "old"), ("orders", "other"), ("unknown", "old")])
def test_a_topic_without_offsets_in_the_checkpoint_needs_no_batch(topic: tuple[str, str]) -> None:
    assert rewound(ENTRY, [topic], BEGINNINGS) == ([], ENTRY)


def test_an_offset_log_of_an_older_version_is_not_changed() -> None:
    with pytest.raises(ValueError, match="version 'v1'"):
        rewound('v1\n{}\n{"old":{"0":10}}', [("orders", "old")], BEGINNINGS)


def test_records_that_spark_skips_in_a_recreated_topic_are_counted() -> None:
    start, end = {"old": {"0": 10, "1": 4}}, {"old": {"0": 3, "1": 6}}
    assert expired_offsets(start, end, {"old": {"0": 0, "1": 0}}) == 3
    assert expired_offsets(start, {"old": {"0": 0, "1": 4}}, {"old": {"0": 0, "1": 0}}) == 0


def test_offsets_that_go_back_indicate_a_recreated_topic() -> None:
    def reported(start: Any, end: Any) -> dict[str, Any]:
        return {"startOffset": start, "endOffset": end}

    progress = {
        "sources": [
            reported({"old": {"0": 10, "1": 4}, "steady": {"0": 3}}, {"old": {"0": 3}, "steady": {"0": 3}}),
            reported({"logOffset": 4}, {"logOffset": 2}),
            reported(None, {"old": {"0": 3}}),
        ]
    }
    assert went_back(progress, ["orders", "rows", "fresh"]) == {("orders", "old")}
    assert went_back({}, ["orders"]) == set()
