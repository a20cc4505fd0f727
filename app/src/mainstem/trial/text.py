"""The report of a trial for people; pure."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainstem.checkpoints.copying import ranges
from mainstem.trial.outcome import COMPARED, Difference, Outcome, QueryTrial, SideResult


_HEAD: Final = (
    "QUERY",
    "OUTCOME",
    "BATCHES",
    "OLD ROWS",
    "NEW ROWS",
    "SAME",
    "ONLY OLD",
    "ONLY NEW",
    "CHANGED",
)
_OUTCOMES: Final = {
    Outcome.EQUAL: "writes the same rows",
    Outcome.DIFFERS: "writes the rows of the new document from its next batch on; rows that are written stay",
    Outcome.FAILED: "fails in its next batch",
    Outcome.REFUSED: "does not start: the running driver refuses the new document",
    Outcome.NOT_READY: "is unknown, because something is missing here",
    Outcome.NOT_COMPARED: "was not compared",
}
_LONGEST: Final = 300
"""Characters of an example."""


def report(trials: Sequence[QueryTrial], width: int) -> str:
    """The table, the details of each query, and what the promotion of the new document means."""
    lines = [*_table(trials)]
    for trial in trials:
        lines += _details(trial, width)
    lines += ["", "With the new document:"]
    names = max(len(trial.query) for trial in trials)
    lines += [f"  {trial.query:{names}}  {_OUTCOMES[trial.outcome]}" for trial in trials]
    return "\n".join(lines)


def _table(trials: Sequence[QueryTrial]) -> Iterator[str]:
    rows = [_HEAD, *(_row(trial) for trial in trials)]
    widths = [max(len(row[index]) for row in rows) for index in range(len(_HEAD))]
    for row in rows:
        cells = [
            f"{cell:{width}}" if index < 3 else f"{cell:>{width}}"
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _row(trial: QueryTrial) -> tuple[str, ...]:
    rows = trial.difference
    counts = (rows.same, rows.only_old, rows.only_new, rows.changed) if rows else ("-",) * 4
    return (
        trial.query,
        str(trial.outcome),
        ranges(trial.batches) or "-",
        str(trial.old.rows) if trial.old else "-",
        str(trial.new.rows) if trial.new else "-",
        *map(str, counts),
    )


def _details(trial: QueryTrial, width: int) -> Iterator[str]:
    lines: list[str] = []
    if trial.message:
        reason = f" [{trial.reason}]" if trial.reason else ""
        lines += textwrap.wrap(f"{trial.message}{reason}", max(40, width - 2))
    if trial.difference is not None:
        lines += _difference(trial.difference)
    if trial.outcome in COMPARED:
        lines += _sides(trial.old, trial.new)
    for note in trial.notes:
        lines += textwrap.wrap(f"note: {note}", max(40, width - 2), subsequent_indent="  ")
    if lines:
        yield from ("", f"{trial.query}:", *(f"  {line}" for line in lines))


def _difference(rows: Difference) -> Iterator[str]:
    if rows.keys:
        yield f"rows are compared by {', '.join(rows.keys)}"
    yield from rows.columns
    for kind, title in (("onlyOld", "only old"), ("onlyNew", "only new")):
        for row in rows.examples.get(kind, ()):
            yield f"{title}  {_example(row)}"
    for pair in rows.examples.get("changed", ()):
        yield f"changed   {_example(pair['old'])}"
        yield f"      to  {_example(pair['new'])}"


def _example(row: Any) -> str:
    return textwrap.shorten(json.dumps(row, ensure_ascii=False), _LONGEST, placeholder=" ...")


def _sides(old: SideResult | None, new: SideResult | None) -> Iterator[str]:
    sides = [side for side in (old, new) if side is not None]
    yield f"batch time, median  {_both(f'{side.median_ms} ms' for side in sides)}"
    if any(side.state_rows for side in sides):
        state = (f"{side.state_rows} rows, {side.state_bytes} bytes" for side in sides)
        yield f"state               {_both(state)}"
    if any(side.dropped for side in sides):
        yield f"late rows dropped   {_both(str(side.dropped) for side in sides)}"
    for title, counts in (
        ("malformed", [side.malformed for side in sides]),
        ("tombstones", [side.tombstones for side in sides]),
        ("violated", [side.violated for side in sides]),
    ):
        yield from _counts(title, counts)


def _counts(title: str, counts: Sequence[Mapping[str, int]]) -> Iterator[str]:
    for name in sorted({name for each in counts for name in each}):
        yield f"{title} {name}: {_both(str(each.get(name, 0)) for each in counts)}"


def _both(values: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(("old", "new"), values, strict=False))
