import io
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from harness.clock import OwnClock
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.console import reporter
from mainstem.runtime.console.reporter import LINE_SECONDS, Lines, Table, cells, for_stream
from rich.console import Console


COPY = QueryProgress("copy")
RUNNING = replace(
    COPY,
    state=QueryState.RUNNING,
    batch=12,
    input_rows=500,
    rows_per_second=12_345.6,
    batch_duration_ms=1_460,
    watermark="2013-01-05T00:00:00.000Z",
    state_rows=1_234_567,
    dropped_by_watermark=3,
    sources=(SourceProgress("orders", 2, 1_200, 700), SourceProgress("lines")),
)
FAILED = replace(
    RUNNING, state=QueryState.FAILED, reason="MalformedRecord", message="a record does not parse"
)


class Run:
    """Lines, and what they wrote."""

    def __init__(self) -> None:
        self.stream = io.StringIO()
        self.clock = OwnClock()
        self.lines = Lines(self.stream, "flights", self.clock)

    def report(self, *statuses: QueryProgress) -> list[dict[str, Any]]:
        """What is written on this change."""
        before = len(self.stream.getvalue())
        self.lines.changed(statuses)
        return self.since(before)

    def since(self, before: int) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue()[before:].splitlines()]


def test_a_change_of_state_is_one_json_line() -> None:
    run = Run()
    assert run.report(COPY) == []
    [line] = run.report(RUNNING)
    assert {"event": "progress", "pipeline": "flights", "name": "copy", "state": "Running", "batch": 12, "lag": 1_200}.items() <= line.items()  # fmt: skip
    assert run.report(RUNNING) == []
    [line] = run.report(FAILED)
    assert (line["state"], line["reason"], line["message"]) == (
        "Failed",
        "MalformedRecord",
        "a record does not parse",
    )


def test_progress_is_reported_every_ten_seconds() -> None:
    run = Run()
    assert len(run.report(RUNNING)) == 1
    run.clock.advance(LINE_SECONDS - 0.1)
    assert run.report(replace(RUNNING, input_rows=600)) == []
    run.clock.advance(0.1)
    assert [line["inputRows"] for line in run.report(replace(RUNNING, input_rows=700))] == [700]
    run.clock.advance(10 * LINE_SECONDS)
    assert run.report(replace(RUNNING, input_rows=700, last_progress_time="later")) == []


def test_each_query_has_its_own_line() -> None:
    run = Run()
    lines = run.report(RUNNING, replace(RUNNING, name="other"), replace(COPY, name="third"))
    assert [line["name"] for line in lines] == ["copy", "other"]
    assert [line["name"] for line in run.report(RUNNING, replace(FAILED, name="other"))] == ["other"]


def test_the_end_reports_withheld_progress() -> None:
    run = Run()
    run.report(RUNNING)
    run.report(replace(RUNNING, input_rows=900))
    before = len(run.stream.getvalue())
    run.lines.close()
    assert [line["inputRows"] for line in run.since(before)] == [900]
    before = len(run.stream.getvalue())
    run.lines.close()
    assert run.since(before) == []


def test_rows_of_a_console_sink_are_printed_unchanged() -> None:
    run = Run()
    run.lines.output("|[bold]é|  1|")
    assert run.stream.getvalue() == "|[bold]é|  1|\n"


def test_a_stream_that_is_not_a_terminal_gets_lines() -> None:
    stream = io.StringIO()
    for_stream(stream, "flights", OwnClock()).changed([RUNNING])
    assert json.loads(stream.getvalue())["pipeline"] == "flights"


def test_a_closed_pipe_is_ignored() -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w", encoding="utf-8") as stream:
        reporter = for_stream(stream, "flights", OwnClock())
        reporter.changed([RUNNING])
        reporter.output("a row")
        reporter.close()
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)


def test_a_wide_row_of_a_console_sink_is_not_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    monkeypatch.setattr("sys.stdout", screen)
    table = reporter.Table("flights")
    wide = "|" + "é :warning: [bold]x[/bold] " * 20 + "|"
    table.output(wide)
    table.close()
    assert wide in screen.getvalue().splitlines()


def drawn(statuses: Sequence[QueryProgress], width: int = 160) -> list[str]:
    console = Console(record=True, width=width, file=io.StringIO())
    console.print(reporter._table("flights", statuses))
    return [line.rstrip() for line in console.export_text().splitlines()]


def columns(header: str, row: str) -> dict[str, str]:
    """The cells of a drawn row, by what stands above them: columns are two blanks apart."""
    import re

    names, values = re.split(r" {2,}", header.strip()), re.split(r" {2,}", row.strip())
    return dict(zip(names, values, strict=True))


def test_the_table_shows_every_number() -> None:
    title, header, row, *rest = drawn([RUNNING])
    assert title == "flights"
    assert rest == []
    assert columns(header, row) == {
        "QUERY": "copy",
        "STATE": "Running",
        "BATCH": "12",
        "ROWS/S": "12,346",
        "LAG": "1,200",
        "BATCH TIME": "1.5 s",
        "STATE ROWS": "1,234,567",
        "DROPPED": "3",
        "WATERMARK": "2013-01-05T00:00:00.000Z",
    }


def test_an_unknown_value_is_a_dash() -> None:
    assert cells(COPY) == ["-", "0", "-", "-", "0", "0"]
    _, header, row = drawn([COPY])
    assert columns(header, row)["WATERMARK"] == "-"


def test_a_failure_is_shown_below_its_query() -> None:
    rows = drawn([FAILED, COPY])
    assert "MalformedRecord: a record does not parse" in " ".join(rows)
    assert rows[-1].startswith("copy")


def test_a_failure_with_brackets_is_text_and_not_markup() -> None:
    message = "[UNRESOLVED_COLUMN] no [/bold] column"
    assert message in " ".join(drawn([replace(FAILED, message=message)]))


def test_the_table_is_drawn_only_after_a_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("flights")
    draws = []
    monkeypatch.setattr(table._live, "update", lambda drawing, *, refresh: draws.append(refresh))
    for statuses in ([COPY], [COPY], [RUNNING], [RUNNING, COPY]):
        table.changed(statuses)
    assert draws == [True, True, True]
    table.output("| [red]1 |")
    table.close()
    assert "| [red]1 |" in capsys.readouterr().out
