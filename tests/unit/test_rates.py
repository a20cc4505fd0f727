import pytest
from mainstem.runtime.progress.rates import Meter


@pytest.mark.parametrize("interval", [0.1, 0.9, 3.0, 7.0, 11.0, 60.0, 600.0])
def test_a_steady_source_shows_its_rate_for_any_length_of_batches(interval: float) -> None:
    """By Spark's own rate of a batch, a source of 5 rows a second shows 14 to 17."""
    meter = Meter(0.0)
    now = 0.0
    for number in range(max(40, int(30 / interval))):
        now += interval
        meter.add(now, round(5 * interval * (number + 1)) - round(5 * interval * number), interval * 0.3)
        if now > 30 and interval <= 60:
            assert meter.rate(now, idle=False) == pytest.approx(5, rel=0.15)
            assert meter.rate(now + interval * 0.9, idle=True) == pytest.approx(5, rel=0.15)
    if (
        interval > 60
    ):  # batches that far apart: rows count as of the last minute, unless the batch took longer
        meter.add(now + interval, round(5 * interval), interval)
        assert meter.rate(now + interval, idle=False) == pytest.approx(5, rel=0.15)


@pytest.mark.parametrize("interval", [0.5, 20.0, 400.0])
def test_an_idle_query_shows_zero_after_at_most_a_minute(interval: float) -> None:
    meter = Meter(0.0)
    meter.add(interval, 1000, 0.2)
    assert meter.rate(interval, idle=True) > 0
    assert meter.rate(interval + max(10.0, min(interval, 60.0)), idle=True) == 0


def test_the_rate_is_zero_before_rows_and_kept_during_a_long_batch() -> None:
    meter = Meter(0.0)
    assert meter.rate(5.0, idle=False) == 0
    meter.add(300.0, 3000, 299.0)
    assert meter.rate(301.0, idle=False) == 10
    assert meter.rate(590.0, idle=False) == 10  # the next one runs as long
    assert meter.rate(601.0, idle=False) == 0


def test_a_burst_is_spread_over_ten_seconds() -> None:
    meter = Meter(0.0)
    meter.add(0.2, 630, 0.1)
    assert meter.rate(0.3, idle=True) == 63
    assert meter.rate(10.1, idle=True) == 63
    assert meter.rate(10.2, idle=True) == 0
