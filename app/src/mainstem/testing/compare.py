"""Compares actual rows with expected rows, and shows the differences as a table; pure."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
    owners = _matched(wanted, present)
    matched = set(owners.values())
    missing = [row for number, row in enumerate(wanted) if number not in matched]
    surplus = [row for number, row in enumerate(present) if number not in owners]
    if not missing and not surplus:
        return ""
    lines = [("-", _cells(row, columns)) for row in missing] + [
        ("+", _cells(row, columns)) for row in surplus
    ]
    lines += [(" ", _cells(present[number], columns)) for number in owners]
    return _table(columns, sorted(lines, key=lambda line: (line[1], line[0] != "-")))


@dataclass
class _Equal:
    """The actual rows that equal an expected one, by number; expected rows that are alike share them.

    Attributes:
        rows: all of them.
        free: those that may have no partner yet.
        exhausted: whether no expected row can get a further one of them.
    """

    rows: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    exhausted: bool = False


def _matched(wanted: Sequence[Cells], present: Sequence[Cells]) -> dict[int, int]:
    """Actual row -> its expected row, by number, for as many rows as possible.

    An expected row that names few columns equals several actual rows, and must not take the only one of another: this is a
    maximum matching of a bipartite graph, by augmenting paths (Kuhn's algorithm).
    """
    equal = _equal_rows(wanted, present)
    owners: dict[int, int] = {}
    partners: dict[int, int] = {}
    for number, rows in enumerate(equal):
        rows.exhausted = rows.exhausted or not _augment(number, equal, owners, partners)
    return owners


def _equal_rows(wanted: Sequence[Cells], present: Sequence[Cells]) -> list[_Equal]:
    """For each expected row the actual ones that equal it in the columns that it names."""
    indices: dict[tuple[str, ...], dict[tuple[str, ...], _Equal]] = {}
    equal = []
    for row in wanted:
        columns = tuple(sorted(row))
        if columns not in indices:
            index = indices[columns] = defaultdict(_Equal)
            for number, cells in enumerate(present):
                rows = index[tuple(cells[column] for column in columns)]
                rows.rows.append(number)
                rows.free.append(number)
        equal.append(indices[columns][tuple(row[column] for column in columns)])
    return equal


def _augment(start: int, equal: Sequence[_Equal], owners: dict[int, int], partners: dict[int, int]) -> bool:
    """Give an expected row an actual one, if need be by giving other expected rows another one each."""
    asked_by: dict[int, int] = {}
    asked: set[int] = set()
    waiting = [start]
    for each in waiting:
        rows = equal[each]
        while rows.free and rows.free[-1] in owners:
            rows.free.pop()
        if rows.free:
            free = rows.free.pop()
            asked_by[free] = each
            given: int | None = free
            while given is not None:
                owner, row = asked_by[given], given
                given = partners.get(owner)
                owners[row], partners[owner] = owner, row
            return True
        if id(rows) not in asked:
            asked.add(id(rows))
            for row in rows.rows:
                if row not in asked_by:
                    asked_by[row] = each
                    waiting.append(owners[row])
    return False


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
