"""Signals to a run: the first requests a drain, the second forces the end."""

import signal
from collections.abc import Iterator

import pytest
from mainstem.runtime.stop import Stop


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@pytest.fixture
def stop() -> Iterator[Stop]:
    """One that listens; what the signals did before is put back."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # these tests too may run under nohup
    stop = Stop()
    stop.listen()
    yield stop
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("first", SIGNALS)
def test_the_first_signal_requests_a_drain(stop: Stop, first: signal.Signals) -> None:
    assert (stop.requested, stop.force) == (False, False)
    signal.raise_signal(first)
    assert (stop.requested, stop.force) == (True, False)


@pytest.mark.parametrize("first", SIGNALS)
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_the_second_signal_forces_the_end(stop: Stop, first: signal.Signals, second: signal.Signals) -> None:
    signal.raise_signal(first)
    signal.raise_signal(second)
    assert (stop.requested, stop.force) == (True, True)


@pytest.mark.parametrize("first", SIGNALS)
def test_a_closed_terminal_never_forces_the_end(stop: Stop, first: signal.Signals) -> None:
    signal.raise_signal(first)
    signal.raise_signal(signal.SIGHUP)
    assert (stop.requested, stop.force) == (True, False)


def test_a_forced_end_stays_requested(stop: Stop) -> None:
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGHUP):
        signal.raise_signal(number)
    assert (stop.requested, stop.force) == (True, True)


def test_under_nohup_a_closed_terminal_requests_nothing(stop: Stop) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop.listen()
    signal.raise_signal(signal.SIGHUP)
    assert not stop.requested
