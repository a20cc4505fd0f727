"""Compares actual rows with expected rows, and shows the differences as a table; pure."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final


TableRows = Sequence[dict[str, Any]]
Cells = dict[str, str]

_ANY: Final = "*"
"""In place of a column that an expected row does not name."""


def difference(expected: TableRows, actual: TableRows) -> str:
    """An aligned table of missing rows (`-`) and unexpected rows (`+`); empty if the rows are equal.

    The order of rows does not matter; repeated rows count. Of each expected row only the columns that it names are compared.
    """
    columns = _columns(expected) or _columns(actual)
    wanted = [{column: _text(value) for column, value in row.items()} for row in expected]
    present = [{column: _text(row.get(column)) for column in columns} for row in actual]
    partners = _matched(wanted, present)
    missing = [row for number, row in enumerate(wanted) if number not in partners]
    surplus = [row for number, row in enumerate(present) if number not in partners.values()]
    if not missing and not surplus:
        return ""
    lines = [("-", _cells(row, columns)) for row in missing] + [
        ("+", _cells(row, columns)) for row in surplus
    ]
    lines += [(" ", _cells(present[number], columns)) for number in partners.values()]
    return _table(columns, sorted(lines, key=lambda line: (line[1], line[0] != "-")))


def _matched(wanted: Sequence[Cells], present: Sequence[Cells]) -> dict[int, int]:
    """Expected row -> its actual row, by number, for as many rows as possible.

    An expected row that names few columns equals several actual rows, and must not take the only one of another: this is a
    maximum matching of a bipartite graph, by augmenting paths (Kuhn's algorithm).
    """
    equal = [[number for number, row in enumerate(present) if each.items() <= row.items()] for each in wanted]
    partners: dict[int, int] = {}
    for number in range(len(wanted)):
        _augment(number, equal, partners)
    return partners


def _augment(start: int, equal: Sequence[Sequence[int]], partners: dict[int, int]) -> None:
    """Give an expected row an actual one, if need be by giving other expected rows another one each."""
    owners = {row: owner for owner, row in partners.items()}
    asked_by: dict[int, int] = {}
    waiting = [start]
    for each in waiting:
        if (free := next((row for row in equal[each] if row not in owners), None)) is not None:
            asked_by[free] = each
            given: int | None = free
            while given is not None:
                owner, row = asked_by[given], given
                given = partners.get(owner)
                partners[owner] = row
            return
        for row in equal[each]:
            if row not in asked_by:
                asked_by[row] = each
                waiting.append(owners[row])


def _columns(rows: TableRows) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _cells(row: Cells, columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(row.get(column, _ANY) for column in columns)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _table(columns: list[str], lines: list[tuple[str, tuple[str, ...]]]) -> str:
    cells = [columns, *(list(row) for _, row in lines)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    marks = [" ", *(mark for mark, _ in lines)]
    rows = zip(marks, cells, strict=True)
    return "\n".join(
        f"{mark} {'  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))}".rstrip()
        for mark, row in rows
    )
