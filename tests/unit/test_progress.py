"""Spark's progress events as the status of a query. The events are cut down from real ones of Spark 4.2."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.progress.spark_progress import read_all, updated, waiting, with_spark_message
from mainstem.runtime.progress.status_json import as_json


KAFKA: dict[str, Any] = {
    "description": "KafkaV2[Subscribe[orders]]",
    "startOffset": {"orders": {"0": 4, "1": 0}},
    "endOffset": {"orders": {"0": 7, "1": 2}},
    "latestOffset": {"orders": {"0": 10, "1": 102}},
    "numInputRows": 5,
    # Strings, in Spark's own JSON.
    "metrics": {"avgOffsetsBehindLatest": "51.5", "maxOffsetsBehindLatest": "100", "minOffsetsBehindLatest": "3"},
}  # fmt: skip
CURRENT = {**KAFKA, "endOffset": KAFKA["latestOffset"]}
FILES: dict[str, Any] = {
    "description": "FileStreamSource[file:/data/in]",
    "startOffset": None,
    "endOffset": {"logOffset": 3},
    "latestOffset": None,
    "numInputRows": 2,
}


def event(**fields: Any) -> dict[str, Any]:
    return {
        "id": "11111111-1111-1111-1111-111111111111",
        "runId": "22222222-2222-2222-2222-222222222222",
        "name": "copy",
        "timestamp": "2024-03-01T05:00:00.000Z",
        "batchId": 7,
        "batchDuration": 1250,
        "numInputRows": 5,
        "inputRowsPerSecond": 2.0,
        "processedRowsPerSecond": 4.04,
        "durationMs": {"addBatch": 1000, "triggerExecution": 1250},
        "eventTime": {},
        "stateOperators": [],
        "sources": [KAFKA],
        "observedMetrics": {},
    } | fields


IDLE = event(
    batchId=8, numInputRows=0, durationMs={"latestOffset": 2, "triggerExecution": 2}, batchDuration=2
)


def test_a_batch_updates_every_number() -> None:
    status = updated(QueryProgress("copy"), event(), ["orders"])
    assert (status.state, status.batch, status.batches, status.input_rows) == (QueryState.RUNNING, 7, 1, 5)
    assert (status.processed_rows_per_second, status.batch_duration_ms) == (4.0, 1250)
    assert (status.id, status.run_id) == (event()["id"], event()["runId"])
    assert status.last_progress_time == "2024-03-01T05:00:00.000Z"
    assert status.last_commit_time == "2024-03-01T05:00:01Z"


def test_only_a_batch_that_takes_time_is_a_commit() -> None:
    """Neither a trigger without data nor a run that was written before."""
    status = updated(QueryProgress("copy"), event(), ["orders"])
    for later in (IDLE, event(batchDuration=0, durationMs={"addBatch": 0})):
        shown = updated(status, {**later, "timestamp": "2024-03-01T06:00:00.000Z"}, ["orders"])
        assert shown.last_commit_time == status.last_commit_time


@pytest.mark.parametrize(
    ("sources", "complete"),
    [
        ({"a": KAFKA}, False),
        ({"a": CURRENT}, True),
        ({"a": CURRENT, "b": KAFKA}, False),
        ({"files": FILES, "a": CURRENT}, True),
        ({"a": {**CURRENT, "endOffset": {"orders": {"0": 11, "1": 102, "2": 4}}}}, True),  # newer records too
        ({"a": {**CURRENT, "latestOffset": None}}, False),
        ({"a": {**CURRENT, "endOffset": None}}, False),
        ({"a": {**CURRENT, "endOffset": {}}}, False),
        ({}, False),
    ],
)
def test_a_batch_reads_all_if_it_ends_where_all_its_topics_ended(
    sources: dict[str, Any], complete: bool
) -> None:
    names, topics = list(sources), ({"a", *sources} - {"files"})
    assert read_all(event(sources=list(sources.values())), names, topics) is complete
    planned = event(sources=list(sources.values()), durationMs={"latestOffset": 2})
    assert not read_all(planned, names, topics), "a trigger without data"


def test_lag_is_the_distance_to_the_newest_offset_of_each_partition() -> None:
    [source] = updated(QueryProgress("copy"), event(), ["orders"]).sources
    assert (source.partitions, source.lag, source.max_lag) == (2, 103, 100)
    assert source.end_offset == {"orders": {"0": 7, "1": 2}}


@pytest.mark.parametrize(
    ("end", "latest", "lag"),
    [
        ({"t": {"0": "7"}}, {"t": {"0": "10"}}, 3),
        ({"t": {"0": 7}}, {"t": {"0": 7, "1": 4}}, 4),  # a partition that is new since the batch was planned
        ({"t": {"0": 7}}, {"t": {"0": 7}, "u": {"0": 2}}, 2),  # a topic that a pattern has found since
        ({"t": {"0": 7}}, {"t": {"0": 5}}, 0),  # the topic was recreated
        ({"t": {"0": 7}}, None, None),
        (None, {"t": {"0": 7}}, None),
        ({"t": {"0": 7}}, '{"t": {"0": 9}}', None),
        ({}, {}, None),
        ({"logOffset": 3}, {"logOffset": 4}, None),
        (12, 15, None),  # the rate source
        ("7", "9", None),
    ],
)
def test_the_lag_follows_from_offsets_as_spark_writes_them(end: Any, latest: Any, lag: int | None) -> None:
    reported = {"endOffset": end, "latestOffset": latest}
    [source] = updated(QueryProgress("copy"), event(sources=[reported]), ["orders"]).sources
    assert source.lag == lag
    assert source.end_offset == end


def test_the_lag_of_a_query_is_the_sum_over_the_sources_that_report_a_lag() -> None:
    status = updated(QueryProgress("copy"), event(sources=[KAFKA, FILES, KAFKA]), ["a", "b", "a_2"])
    assert [source.lag for source in status.sources] == [103, None, 103]
    assert status.lag == 206
    assert updated(QueryProgress("copy"), event(sources=[FILES]), ["b"]).lag is None


def test_sources_are_named_by_position() -> None:
    status = updated(QueryProgress("copy"), event(sources=[FILES, KAFKA]), ["lines", "orders"])
    assert [(source.name, source.lag) for source in status.sources] == [("lines", None), ("orders", 103)]


def test_sources_without_a_report_are_listed_too() -> None:
    status = updated(QueryProgress("copy"), event(sources=[KAFKA]), ["orders", "lines"])
    assert status.sources[1] == SourceProgress("lines")


def test_records_are_counted_per_occurrence_over_all_batches() -> None:
    counts = {
        "mainstem.orders": {"decoded": 3, "malformed": 1},
        "mainstem.orders_2": {"decoded": 4, "malformed": 0},
        "mine": {"decoded": 9},
    }
    status = QueryProgress("copy")
    for _ in range(3):
        status = updated(
            status, event(observedMetrics=counts, sources=[KAFKA, KAFKA]), ["orders", "orders_2"]
        )
    assert [(s.name, s.decoded, s.malformed) for s in status.sources] == [
        ("orders", 9, 3),
        ("orders_2", 12, 0),
    ]
    assert (status.input_rows, status.batches) == (15, 3)


def test_an_idle_trigger_keeps_the_batch_and_its_time() -> None:
    status = updated(updated(QueryProgress("copy"), event(), ["orders"]), IDLE, ["orders"])
    assert (status.batch, status.batches, status.batch_duration_ms) == (7, 1, 1250)
    assert status.processed_rows_per_second == 4.0


def test_a_batch_without_rows_becomes_the_newest_and_is_not_counted() -> None:
    """Spark runs one to emit what a moved watermark has made final."""
    before = updated(QueryProgress("copy"), event(), ["orders"])
    status = updated(before, event(batchId=8, numInputRows=0), ["orders"])
    assert (status.batch, status.batches) == (8, 1)


@pytest.mark.parametrize("rate", [math.nan, math.inf, None, "NaN"])
def test_rates_that_are_not_numbers_become_zero(rate: Any) -> None:
    status = updated(QueryProgress("copy"), event(processedRowsPerSecond=rate), ["orders"])
    assert status.processed_rows_per_second == 0.0
    assert "NaN" not in json.dumps(as_json(status))


def test_state_is_summed_over_operators_and_late_rows_over_batches() -> None:
    operators = [
        {"numRowsTotal": 10, "memoryUsedBytes": 100, "numRowsDroppedByWatermark": 1},
        {"numRowsTotal": 4, "memoryUsedBytes": 50, "numRowsDroppedByWatermark": 2},
    ]
    status = updated(QueryProgress("copy"), event(stateOperators=operators), [])
    status = updated(status, event(stateOperators=operators[:1]), [])
    assert (status.state_rows, status.state_bytes, status.dropped_by_watermark) == (10, 100, 4)
    assert updated(status, IDLE, []).state_rows == 10


def test_the_watermark_is_unknown_until_it_moves() -> None:
    status = updated(
        QueryProgress("copy"), event(eventTime={"watermark": "1970-01-01T00:00:00.000Z"}), ["orders"]
    )
    assert status.watermark is None
    status = updated(status, event(eventTime={"watermark": "2013-01-05T00:00:00.000Z"}), ["orders"])
    assert updated(status, event(), ["orders"]).watermark == "2013-01-05T00:00:00.000Z"


@pytest.mark.parametrize("state", QueryState)
def test_only_a_starting_query_becomes_running(state: QueryState) -> None:
    after = updated(QueryProgress("copy", state=state), event(), []).state
    assert after is (QueryState.RUNNING if state in (QueryState.STARTING, QueryState.RESTARTING) else state)


def test_an_empty_event_is_no_error() -> None:
    assert updated(QueryProgress("copy"), {}, ["orders"]) == QueryProgress(
        "copy", state=QueryState.RUNNING, sources=(SourceProgress("orders"),)
    )


def test_json_has_camel_case_and_omits_unknown_values() -> None:
    status = updated(QueryProgress("copy", pool="copy", checkpoint="/c/copy/1"), event(), ["orders"])
    plain = as_json(status)
    assert plain == {
        "name": "copy",
        "state": "Running",
        "pool": "copy",
        "checkpoint": "/c/copy/1",
        "id": event()["id"],
        "runId": event()["runId"],
        "batch": 7,
        "batches": 1,
        "inputRows": 5,
        "rowsPerSecond": 0.0,
        "processedRowsPerSecond": 4.0,
        "batchDurationMs": 1250,
        "stateRows": 0,
        "stateBytes": 0,
        "droppedByWatermark": 0,
        "sources": [
            {
                "name": "orders",
                "partitions": 2,
                "lag": 103,
                "maxLag": 100,
                "decoded": 0,
                "malformed": 0,
                "tombstones": 0,
                "expired": 0,
                "passedOver": 0,
                "changed": 0,
            }
        ],
        "lastProgressTime": "2024-03-01T05:00:00.000Z",
        "lastCommitTime": "2024-03-01T05:00:01Z",
        "restarts": 0,
        "lag": 103,
    }
    assert json.loads(json.dumps(plain)) == plain


def test_json_has_offsets_only_on_request() -> None:
    status = updated(QueryProgress("copy"), event(), ["orders"])
    assert "endOffset" not in as_json(status)["sources"][0]
    assert as_json(status, offsets=True)["sources"][0]["endOffset"] == {"orders": {"0": 7, "1": 2}}


def test_json_has_the_reason_and_the_message_of_a_failure() -> None:
    failed = replace(QueryProgress("copy"), state=QueryState.FAILED, reason="MalformedRecord", message="no")
    assert {"state": "Failed", "reason": "MalformedRecord", "message": "no"}.items() <= as_json(
        failed
    ).items()


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans()), max_size=20))
def test_the_sums_match_the_events(batches: list[tuple[int, int, bool]]) -> None:
    status = QueryProgress("copy")
    for number, (good, bad, ran) in enumerate(batches):
        counts = {"mainstem.orders": {"decoded": good, "malformed": bad}}
        durations = {"addBatch": 1} if ran else {}
        status = updated(
            status,
            event(batchId=number, numInputRows=good + bad, durationMs=durations, observedMetrics=counts),
            ["orders"],
        )
    [source] = status.sources or [SourceProgress("orders")]
    assert source.decoded == sum(good for good, _, _ in batches)
    assert source.decoded + source.malformed == status.input_rows
    assert status.batch == max((number for number, (_, _, ran) in enumerate(batches) if ran), default=None)


def test_a_committed_batch_clears_the_failure() -> None:
    failed = replace(
        QueryProgress("copy"), state=QueryState.RESTARTING, reason="StoreUnreachable", message="no answer"
    )
    assert updated(failed, event(durationMs={"latestOffset": 3}), ["orders"]).reason == "StoreUnreachable"
    healed = updated(failed, event(), ["orders"])
    assert (healed.state, healed.reason, healed.message) == (QueryState.RUNNING, None, None)


@pytest.mark.parametrize("state", QueryState)
def test_a_query_that_waits_for_data_is_running(state: QueryState) -> None:
    status = waiting(replace(QueryProgress("copy"), state=state, reason="Before", message="before"))
    if state in (QueryState.STARTING, QueryState.RESTARTING):
        assert (status.state, status.reason) == (QueryState.RUNNING, None)
    else:
        assert (status.state, status.reason) == (state, "Before")


@pytest.mark.parametrize(
    ("message", "state", "batch"),
    [
        ("Initializing sources", QueryState.STARTING, None),
        ("Running", QueryState.RUNNING, None),
        ("Processing new data", QueryState.RUNNING, None),
        ("Committing epoch 12", QueryState.RUNNING, 12),
    ],
)
def test_a_query_without_progress_gets_its_state_from_the_message_of_spark(
    message: str, state: QueryState, batch: int | None
) -> None:
    status = with_spark_message(QueryProgress("continuous"), message)
    assert (status.state, status.batch) == (state, batch)
    assert (
        with_spark_message(QueryProgress("done", state=QueryState.DRAINED), message).state
        is QueryState.DRAINED
    )
