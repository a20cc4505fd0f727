"""One line on a terminal that shows what a command waits for, and for how long, until there is something else to show."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from mainstem.runtime.clock import Clock


if TYPE_CHECKING:
    from rich.text import Text


@contextmanager
def shown(name: str, step: str, clock: Clock | None = None, stream: TextIO | None = None) -> Iterator[None]:
    """A context whose step is shown on standard error if this is a terminal; the line leaves no trace.

    Args:
        name: the pipeline.
        step: what it does, such as `starts Spark`.
        clock: the time of the run.
        stream: another stream than standard error.
    """
    stream = stream or sys.stderr
    if not stream.isatty():
        yield
        return
    from rich.console import Console
    from rich.live import Live

    # Log lines on the same terminal are printed above the line, and other streams are left alone.
    line = _Line(name, step, clock or Clock())
    with Live(
        line, console=Console(file=stream), refresh_per_second=1, transient=True, redirect_stdout=False
    ):
        yield


class _Line:
    """The line, which is drawn again each second."""

    def __init__(self, name: str, step: str, clock: Clock) -> None:
        self._name, self._step, self._clock = name, step, clock
        self._since = clock.seconds()

    def __rich__(self) -> "Text":
        from rich.text import Text

        return Text(f"{self._name} {self._step} ({self._clock.seconds() - self._since:.0f} s)")
