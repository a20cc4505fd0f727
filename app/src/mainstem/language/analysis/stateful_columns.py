"""Columns that PySpark cannot pass to code that keeps state: it takes a name with a dot for a path to a field."""

import re
from collections.abc import Iterable


def unsupported(names: Iterable[str]) -> str | None:
    """What to do about columns with a dot in their names; None if there are none."""
    dotted = [name for name in names if "." in name]
    if not dotted:
        return None
    other = re.sub(r"\W+", "_", dotted[0])
    shown = ", ".join(map(repr, dotted))
    return (
        f"PySpark passes no column with a dot in its name to code that keeps state: {shown}; give it another name in a view, "
        f"such as {other}"
    )
