"""What a command shows on a terminal while it waits for Spark."""

import io

import pytest
from harness.clock import OwnClock
from mainstem.runtime import start_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_step_is_shown_at_once_and_leaves_no_line() -> None:
    terminal = Terminal()
    with start_line.shown("flights", "starts Spark", OwnClock(), terminal):
        assert "flights starts Spark (0 s)" in terminal.getvalue()
        shown = terminal.getvalue()
    assert not terminal.getvalue().removeprefix(shown).endswith("\n")


def test_the_step_has_its_time() -> None:
    clock = OwnClock()
    line = start_line._Line("flights", "starts Spark", clock)
    clock.advance(7.2)
    assert line.__rich__().plain == "flights starts Spark (7 s)"


def test_a_file_or_pipe_gets_nothing() -> None:
    stream = io.StringIO()
    with start_line.shown("flights", "starts Spark", OwnClock(), stream):
        pass
    assert stream.getvalue() == ""


def test_an_error_ends_the_line() -> None:
    terminal = Terminal()
    with (
        pytest.raises(ValueError, match="no Java"),
        start_line.shown("flights", "starts Spark", OwnClock(), terminal),
    ):
        raise ValueError("no Java")
    assert terminal.getvalue().count("starts Spark") >= 1
