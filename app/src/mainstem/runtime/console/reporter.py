"""Shows the progress of a run on one machine: a live table on a terminal, JSON lines elsewhere."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TextIO

from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.clock import Clock
from mainstem.runtime.progress.status_json import as_json


LINE_SECONDS: Final = 10.0


class Reporter(Protocol):
    """Shows the statuses of queries, as often as the reporter decides."""

    def changed(self, statuses: Sequence[QueryProgress]) -> None:
        """Take the statuses after a tick of the supervisor; they are often unchanged."""

    def output(self, line: str) -> None:
        """Write a line of a console sink."""

    def close(self) -> None:
        """Show the last statuses and release the terminal."""


def for_stream(stream: TextIO, pipeline: str, clock: Clock) -> Reporter:
    """A live table if the stream is a terminal, JSON lines otherwise."""
    return _Quiet(Table(pipeline) if stream.isatty() else Lines(stream, pipeline, clock))


class _Quiet:
    """Stops writing when nobody reads any more: a closed terminal, or a `head` that has ended, does not end the run."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter: Reporter | None = reporter

    def changed(self, statuses: Sequence[QueryProgress]) -> None:
        """Pass the statuses on."""
        self._call(lambda reporter: reporter.changed(statuses))

    def output(self, line: str) -> None:
        """Pass the line on."""
        self._call(lambda reporter: reporter.output(line))

    def close(self) -> None:
        """Close the reporter."""
        self._call(lambda reporter: reporter.close())

    def _call(self, call: Callable[[Reporter], None]) -> None:
        # Rows of a console sink come from another thread, which may also be the first one to fail.
        reporter = self._reporter
        if reporter is None:
            return
        try:
            call(reporter)
        except (OSError, SystemExit):  # rich exits if a pipe is closed
            self._reporter = None


class Lines:
    """Writes one JSON object per line and query: at each change of state, and every ten seconds while rows move."""

    def __init__(self, stream: TextIO, pipeline: str, clock: Clock) -> None:
        self._stream, self._clock = stream, clock
        self._pipeline = pipeline
        self._last_lines: dict[str, tuple[QueryState, int, float]] = {}
        self._last: Sequence[QueryProgress] = ()

    def changed(self, statuses: Sequence[QueryProgress]) -> None:
        """Write the lines that are due."""
        now = self._clock.seconds()
        self._last = statuses
        for status in statuses:
            state, rows, when = self._last_lines.get(status.name, (QueryState.STARTING, 0, 0.0))
            if status.state is not state or (status.input_rows != rows and now - when >= LINE_SECONDS):
                self._write(status, now)

    def output(self, line: str) -> None:
        """Pass a console sink's line through as it is."""
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def close(self) -> None:
        """Write the last status of each query whose rows have changed since its last line."""
        for status in self._last:
            _, rows, _ = self._last_lines.get(status.name, (None, -1, 0.0))
            if rows != status.input_rows:
                self._write(status, self._clock.seconds())

    def _write(self, status: QueryProgress, now: float) -> None:
        self._last_lines[status.name] = (status.state, status.input_rows, now)
        self.output(json.dumps({"event": "progress", "pipeline": self._pipeline, **as_json(status)}))


class Table:
    """A live table in a terminal."""

    def __init__(self, pipeline: str) -> None:
        from rich.console import Console
        from rich.live import Live

        self._pipeline = pipeline
        self._console = Console(file=sys.stdout)
        # Log lines on the same terminal are printed above the table; log lines in a file or pipe stay there.
        self._live = Live(console=self._console, auto_refresh=False, redirect_stderr=sys.stderr.isatty())
        self._last: Sequence[QueryProgress] = ()

    def changed(self, statuses: Sequence[QueryProgress]) -> None:
        """Draw the table if a status has changed."""
        if list(statuses) != list(self._last):
            self._last = list(statuses)
            self._live.start()
            self._live.update(_table(self._pipeline, statuses), refresh=True)

    def output(self, line: str) -> None:
        """Print a console sink's line above the table."""
        from rich.text import Text

        self._console.print(Text(line), soft_wrap=True)

    def close(self) -> None:
        """Stop the updates; the last table stays on the terminal."""
        self._live.stop()


_COLOURS: Final = {
    QueryState.RUNNING: "green",
    QueryState.COMPLETED: "green",
    QueryState.DRAINED: "green",
    QueryState.WAITING: "yellow",
    QueryState.RESTARTING: "yellow",
    QueryState.INTERRUPTED: "yellow",
    QueryState.FAILED: "red",
}


_OPTIONAL_COLUMNS: Final[tuple[tuple[str, Callable[[QueryProgress], int]], ...]] = (
    ("MALFORMED", lambda status: status.malformed),
    ("TOMBSTONES", lambda status: status.tombstones),
    ("EXPIRED", lambda status: status.expired),
    ("VIOLATED", lambda status: status.violated),
)
"""Columns that the table has only if a query counts something in them."""


def _table(pipeline: str, statuses: Sequence[QueryProgress]) -> Any:
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    table = RichTable(title=pipeline, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("QUERY", no_wrap=True)
    table.add_column("STATE", no_wrap=True)
    for name in ("BATCH", "ROWS/S", "LAG", "BATCH TIME", "STATE ROWS", "DROPPED"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("WATERMARK", no_wrap=True)
    counts = [(name, value) for name, value in _OPTIONAL_COLUMNS if any(map(value, statuses))]
    for name, _ in counts:
        table.add_column(name, justify="right", no_wrap=True)
    for status in statuses:
        table.add_row(
            status.name,
            Text(status.state, style=_COLOURS.get(status.state, "")),
            *cells(status),
            status.watermark or "-",
            *(f"{value(status):,}" for _, value in counts),
        )
    troubles = [
        Text(f"{status.name}: {status.reason}: {status.message}", style=_COLOURS.get(status.state, ""))
        for status in statuses
        if status.message
    ]
    return Group(table, *troubles)


def cells(status: QueryProgress) -> list[str]:
    """The numbers of one row; `-` for an unknown number."""
    return [
        "-" if status.batch is None else str(status.batch),
        f"{status.rows_per_second:,.0f}",
        "-" if status.lag is None else f"{status.lag:,}",
        "-" if status.batch_duration_ms is None else f"{status.batch_duration_ms / 1000:.1f} s",
        f"{status.state_rows:,}",
        f"{status.dropped_by_watermark:,}",
    ]
