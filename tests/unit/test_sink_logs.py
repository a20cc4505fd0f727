"""Which entries the log of a new folder of files needs, so that Spark can compact it."""

import pytest
from mainstem.runtime.checkpoint.new_sink_logs import entries_before


@pytest.mark.parametrize(
    ("committed", "first", "batches"),
    [
        (0, None, [0]),
        (2, None, [0, 1, 2]),
        (8, None, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
        (9, 9, []),
        (10, 9, [10]),
        (21, 19, [20, 21]),
    ],
)
def test_a_new_log_has_an_entry_for_each_batch_since_the_last_compaction(
    committed: int, first: int | None, batches: list[int]
) -> None:
    assert entries_before(committed, 10) == (first, batches)
