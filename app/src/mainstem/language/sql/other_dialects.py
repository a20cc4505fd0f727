"""What people bring from the SQL of Flink, ksqlDB and databases, and what to write here in its place.

Spark has none of it: its parser refuses the phrases, and its analysis does not know the functions. The table is that of
docs/other-dialects.md, and a test asks Spark about each row.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from sqlglot import exp

from mainstem.language.sql.text import code


_WINDOW: Final = "GROUP BY window(<event time>, '10 minutes')"
_HOPPING: Final = "GROUP BY window(<event time>, '1 hour', '10 minutes')"
_SESSION: Final = "GROUP BY session_window(<event time>, '10 minutes')"
_EXPLODE: Final = "write LATERAL explode(<array>) AS t(x)"
_ENDS: Final = "window.start and window.end"


class Phrase(NamedTuple):
    """A construct that Spark does not have.

    Attributes:
        offset: of its first character in the text.
        name: its words.
        advice: what to write in its place.
    """

    offset: int
    name: str
    advice: str


PHRASES: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"match_recognize\s*\(",
        "MATCH_RECOGNIZE",
        "keep what has matched so far in a `state` step, whose code sees the rows of each key",
    ),
    (
        r"emit\s+(?:changes|final)\b",
        "EMIT",
        "leave it out; the query's `outputMode: update` writes every change, `append` only final rows",
    ),
    (r"window\s+tumbling\s*\(", "WINDOW TUMBLING", f"write {_WINDOW}, and select {_ENDS}"),
    (r"window\s+hopping\s*\(", "WINDOW HOPPING", f"write {_HOPPING}, and select {_ENDS}"),
    (r"window\s+session\s*\(", "WINDOW SESSION", f"write {_SESSION}, and another key"),
    (r"(?:table\s*\(\s*)?tumble\s*\(\s*table\b", "TUMBLE(TABLE ...)", f"write {_WINDOW}, and select {_ENDS}"),
    (r"(?:table\s*\(\s*)?hop\s*\(\s*table\b", "HOP(TABLE ...)", f"write {_HOPPING}, and select {_ENDS}"),
    (
        r"(?:table\s*\(\s*)?cumulate\s*\(\s*table\b",
        "CUMULATE(TABLE ...)",
        "GROUP BY window(<event time>, '1 day') with `outputMode: update` writes the day so far in each batch",
    ),
    (r"(?:table\s*\(\s*)?session\s*\(\s*table\b", "SESSION(TABLE ...)", f"write {_SESSION}, and another key"),
    (
        r"asof\s+join\b",
        "ASOF JOIN",
        (
            "a `state` step over both streams keeps the row that is valid, and a `static` source is joined as it is now; "
            "Spark reads ASOF as an alias at best"
        ),
    ),
    (r"unnest\s*\(", "UNNEST", _EXPLODE),
    (
        r"within\s+(?:\(|\d)",
        "WITHIN",
        "bound the event times in ON: b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR",
    ),
    (
        r"lateral\s+table\s*\(",
        "LATERAL TABLE",
        f"{_EXPLODE}, with a function that returns an array",
    ),
    (r"select\s+top\s+\d", "TOP", "write LIMIT; the best rows of each window are a recipe (docs/recipes.md)"),
)
_COMPILED: Final = tuple(
    (re.compile(rf"(?<![\w.]){pattern}", re.IGNORECASE), name, advice) for pattern, name, advice in PHRASES
)
FUNCTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tumble", "tumble_rowtime"), f"write {_WINDOW}"),
    **dict.fromkeys(("tumble_start", "tumble_end"), f"write {_WINDOW}, and select {_ENDS}"),
    **dict.fromkeys(("hop", "hop_rowtime"), f"write {_HOPPING}"),
    **dict.fromkeys(("hop_start", "hop_end"), f"write {_HOPPING}, and select {_ENDS}"),
    **dict.fromkeys(("session", "session_rowtime"), f"write {_SESSION}"),
    **dict.fromkeys(
        ("session_start", "session_end"), f"write {_SESSION}, and select session_window.start and .end"
    ),
    "proctime": "write current_timestamp()",
    "latest_by_offset": "write max_by(<column>, <event time>)",
    "earliest_by_offset": "write min_by(<column>, <event time>)",
    "collect": "write collect_list(<column>)",
    "extractjsonfield": "write get_json_object(<text>, '$.a')",
    "json_value": "write get_json_object(<text>, '$.a')",
    "stringtotimestamp": "write to_timestamp(<text>, <pattern>)",
    "timestamptostring": "write date_format(<time>, <pattern>)",
    "unnest": _EXPLODE,
}
"""Function of another dialect -> what to write in its place."""

OVER: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("lag", "lead"), "keep the row before in a `state` step (docs/recipes.md, From one row to the next)"
    ),
    "row_number": (
        "a `deduplicate` step keeps the first row of each key, and max_by(<column>, <event time>) of a group its newest"
    ),
    **dict.fromkeys(
        ("rank", "dense_rank", "percent_rank", "cume_dist", "ntile"),
        "collect the rows of each window and take the best (docs/recipes.md, Top N of a window)",
    ),
    **dict.fromkeys(("first_value", "first"), "write min_by(<column>, <event time>) of a group"),
    **dict.fromkeys(("last_value", "last"), "write max_by(<column>, <event time>) of a group"),
}
"""Function OVER a window -> what to write in its place over a stream."""
GROUPED: Final = "group by window(<event time>, '1 hour') instead"
"""In place of the others."""


def is_foreign(tree: exp.Expr) -> bool:
    """Whether sqlglot has read a construct that Spark does not have: UNNEST as a relation, or ASOF JOIN."""
    joins = (join.method for join in tree.find_all(exp.Join))
    return tree.find(exp.Unnest) is not None or any(method == "ASOF" for method in joins)


def phrase(sql: str) -> Phrase | None:
    """The first construct of another dialect in a text that Spark cannot read; None without one."""
    text = code(sql)
    matches = ((pattern.search(text), name, advice) for pattern, name, advice in _COMPILED)
    return min(
        (Phrase(match.start(), name, advice) for match, name, advice in matches if match), default=None
    )
