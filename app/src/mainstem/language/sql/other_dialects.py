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
_LIMIT: Final = "write LIMIT; the best rows of each window are a recipe (docs/recipes.md)"
_VERSIONS: Final = (
    "`static: {delta: {version: 3}}` reads a fixed version of a table, a `static` source is otherwise joined as it is now, and a "
    "`state` step over two streams finds the row that was valid at the time of an event"
)
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


def _table_function(name: str) -> str:
    """The pattern of a function over windows of a table, as in `TABLE(TUMBLE(DATA => TABLE orders, ...))`."""
    return rf"(?:table\s*\(\s*)?{name}\s*\(\s*(?:data\s*=>\s*)?table\b"


_PHRASES: Final = (
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
    (
        _table_function("tumble"),
        "TUMBLE(TABLE ...)",
        f"write {_WINDOW}, and select {_ENDS}",
    ),
    (
        _table_function("hop"),
        "HOP(TABLE ...)",
        f"write {_HOPPING}, and select {_ENDS}",
    ),
    (
        _table_function("cumulate"),
        "CUMULATE(TABLE ...)",
        "GROUP BY window(<event time>, '1 day') with `outputMode: update` writes the day so far in each batch",
    ),
    (
        _table_function("session"),
        "SESSION(TABLE ...)",
        f"write {_SESSION}, and another key",
    ),
    (
        r"(?<!\bas )asof\s+(?:(?:inner|left|outer)\s+)*join\b",
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
        "bound the event times in ON: b.ts BETWEEN a.ts - INTERVAL 1 HOUR AND a.ts + INTERVAL 1 HOUR",
    ),
    (
        r"lateral\s+table\s*\(",
        "LATERAL TABLE",
        f"{_EXPLODE}, with a function that returns an array",
    ),
    (r"select\s+top\s+\d", "TOP", _LIMIT),
    (r"for\s+system_version\s+as\s+of\b", "FOR SYSTEM_VERSION", _VERSIONS),
)
PHRASES: Final = tuple(
    (re.compile(rf"(?<![\w.]){pattern}", re.IGNORECASE), name, advice) for pattern, name, advice in _PHRASES
)
"""Pattern of a construct -> its words, and what to write in its place."""

FUNCTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("tumble", "tumble_rowtime"), f"write {_WINDOW}"),
    **dict.fromkeys(("tumble_start", "tumble_end"), f"write {_WINDOW}, and select {_ENDS}"),
    **dict.fromkeys(("hop", "hop_rowtime"), f"write {_HOPPING}"),
    **dict.fromkeys(("hop_start", "hop_end"), f"write {_HOPPING}, and select {_ENDS}"),
    **dict.fromkeys(("session", "session_rowtime"), f"write {_SESSION}, and another key"),
    **dict.fromkeys(
        ("session_start", "session_end"),
        f"write {_SESSION}, and another key; select session_window.start and .end",
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
    "top": _LIMIT,
}
"""Function of another dialect -> what to write in its place."""

OVER: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("lag", "lead"), "keep the row before in a `state` step (docs/recipes.md, From one row to the next)"
    ),
    "row_number": (
        "a `deduplicate` step keeps the row of each key that arrives first, and max_by(<column>, <event time>) of a group its newest"
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


def time_travel(relation: str) -> str:
    """The message about a relation of which a text reads an earlier version."""
    return f"no earlier version of {relation!r} can be read in SQL; {_VERSIONS}"


def is_foreign(tree: exp.Expr) -> bool:
    """Whether sqlglot has read a construct that Spark does not have: UNNEST as a relation, or ASOF JOIN.

    For Spark ASOF can only be an alias, which is certain if the text has a column `asof.c`.
    """
    as_of = any(join.method == "ASOF" for join in tree.find_all(exp.Join))
    is_alias = as_of and any(column.table.lower() == "asof" for column in tree.find_all(exp.Column))
    return tree.find(exp.Unnest) is not None or (as_of and not is_alias)


def phrase(sql: str, at: int | None = None) -> Phrase | None:
    """The first construct of another dialect in a text that Spark cannot read; None without one.

    Args:
        sql: the text.
        at: the construct must have this offset in it.
    """
    text = code(sql)
    matches = ((pattern.search(text), name, advice) for pattern, name, advice in PHRASES)
    phrases = (
        Phrase(match.start(), name, advice)
        for match, name, advice in matches
        if match and (at is None or match.start() <= at < match.end())
    )
    return min(phrases, default=None)
