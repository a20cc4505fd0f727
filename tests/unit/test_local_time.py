"""The local time of a run is the document's, or the run does not start."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from mainstem.errors import NotReady
from mainstem.runtime.spark.local_time import set_time_zone


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "America/New_York")
        yield
    time.tzset()


@pytest.mark.parametrize(("zone", "hour"), [("UTC", 12), ("Europe/Zurich", 14), ("Asia/Kolkata", 17)])
def test_the_local_time_is_that_of_the_zone(zone: str, hour: int) -> None:
    set_time_zone(zone)
    assert datetime(2026, 7, 1, 12, tzinfo=UTC).astimezone().hour == hour
    assert os.environ["TZ"] == zone


def test_a_zone_that_the_system_does_not_know_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("TZDIR", str(tmp_path))
        with pytest.raises(
            NotReady, match="no time zone Europe/Zurich; install the package tzdata"
        ) as refused:
            set_time_zone("Europe/Zurich")
    assert refused.value.reason == "UnknownTimeZone"
