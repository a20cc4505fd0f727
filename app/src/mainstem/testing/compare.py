"""Compares actual rows with expected rows, and shows the differences as a table; pure."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any


TableRows = Sequence[dict[str, Any]]


def difference(expected: TableRows, actual: TableRows) -> str:
    """An aligned table of missing rows (`-`) and unexpected rows (`+`); empty if the rows are equal.

    The order of rows does not matter; repeated rows count. Only columns that an expected row names are compared.
    """
    columns = list(dict.fromkeys(column for row in expected for column in row)) or _columns(actual)
    wanted, present = _counted(expected, columns), _counted(actual, columns)
    missing, surplus, same = wanted - present, present - wanted, wanted & present
    if not missing and not surplus:
        return ""
    lines = [("-", row) for row in _sorted(missing)] + [("+", row) for row in _sorted(surplus)]
    lines += [(" ", row) for row in _sorted(same)]
    return _table(columns, sorted(lines, key=lambda line: (line[1], line[0] != "-")))


def _columns(rows: TableRows) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _counted(rows: TableRows, columns: list[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(_text(row.get(column)) for column in columns) for row in rows)


def _sorted(rows: Counter[tuple[str, ...]]) -> Iterable[tuple[str, ...]]:
    return sorted(rows.elements())


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
