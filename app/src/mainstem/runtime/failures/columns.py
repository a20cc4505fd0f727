"""Compares the columns of a rejected batch with the table's columns, from Delta's message; pure."""

import re
from typing import Final


_SCHEMAS: Final = re.compile(
    r"Table schema:\s*root\n(?P<table>(?: \|[^\n]*\n)*)\s*Data schema:\s*root\n(?P<data>(?: \|[^\n]*(?:\n|\Z))*)"
)
_COLUMN: Final = re.compile(r"^ \|-- (?P<name>.+): (?P<kind>\S+) \(nullable = \w+\)", re.MULTILINE)


def difference(text: str) -> str | None:
    """The columns that are new, of another type, or missing; None where the text does not show two different schemas."""
    match = _SCHEMAS.search(text)
    if match is None:
        return None
    table, data = _columns(match["table"]), _columns(match["data"])
    new = [name for name in data if name.lower() not in {known.lower() for known in table}]
    missing = [name for name in table if name.lower() not in {known.lower() for known in data}]
    parts = [
        f"{name} is {table[name]} in the table and {data[name]} in the query"
        for name in data
        if table.get(name, data[name]) != data[name]
    ]
    parts += [f"the table has no {', '.join(new)}"] if new else []
    parts += [f"the query has no {', '.join(missing)}"] if missing else []
    return "; ".join(parts) or None


def _columns(tree: str) -> dict[str, str]:
    """Name -> type of the top-level columns of a printed schema."""
    return {match["name"]: match["kind"] for match in _COLUMN.finditer(tree)}
