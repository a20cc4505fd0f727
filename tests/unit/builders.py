"""A query in the midst of its work, and well: with all that it can tell."""

from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState


OFFSETS = {"orders": {"0": 7, "1": 2}}
BUSY = QueryProgress(
    "copy",
    state=QueryState.RUNNING,
    pool="copy",
    checkpoint="s3a://c/flights/copy/1",
    id="11111111-1111-1111-1111-111111111111",
    run_id="22222222-2222-2222-2222-222222222222",
    batch=7,
    batches=8,
    input_rows=120,
    rows_per_second=1234.5,
    processed_rows_per_second=4321.0,
    batch_duration_ms=1250,
    watermark="2013-01-01T10:00:00.000Z",
    state_rows=12,
    state_bytes=4096,
    dropped_by_watermark=2,
    sources=(
        SourceProgress(
            "orders", partitions=2, lag=103, max_lag=100, decoded=119, malformed=1, end_offset=OFFSETS
        ),
    ),
    last_progress_time="2026-01-01T00:00:00.000Z",
    last_commit_time="2026-01-01T00:00:01Z",
    behind_since="2025-12-31T23:59:50Z",
)
