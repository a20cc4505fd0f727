"""SQL texts in which a word is a name: of a column, an alias, a relation, a function, a field or an argument."""

import re
from typing import Final


NAMES: Final = [
    "SELECT {k} FROM a",
    "SELECT a.{k} FROM a",
    "SELECT x, {k} FROM a",
    "SELECT {k}, x FROM a",
    "SELECT DISTINCT {k} FROM a",
    "SELECT count({k}) FROM a",
    "SELECT count(DISTINCT {k}) FROM a",
    "SELECT x IN ({k}, 1) FROM a",
    "SELECT {k} + 1 FROM a",
    "SELECT -{k} FROM a",
    "SELECT x - {k} FROM a",
    "SELECT {k} IS NULL FROM a",
    "SELECT {k} BETWEEN 1 AND {k} FROM a",
    "SELECT {k}::int FROM a",
    "SELECT CAST({k} AS INT) FROM a",
    "SELECT {k}[0], x[{k}] FROM a",
    "SELECT CASE {k} WHEN 1 THEN {k} ELSE {k} END FROM a",
    "SELECT CASE WHEN {k} > 1 THEN {k} WHEN (x) THEN 2 END FROM a",
    "SELECT sum(x) OVER (PARTITION BY {k} ORDER BY {k}) FROM a",
    "SELECT transform(x, {k} -> {k} + 1) FROM a",
    "SELECT x FROM a WHERE {k}",
    "SELECT x FROM a WHERE {k} > 1",
    "SELECT x FROM a WHERE x > {k} AND y",
    "SELECT x FROM a HAVING {k} > 1",
    "SELECT x FROM a ORDER BY {k}",
    "SELECT x FROM a ORDER BY {k} DESC LIMIT 3",
    "SELECT x FROM a GROUP BY {k}",
    "SELECT x FROM a GROUP BY x, {k}",
    "SELECT x FROM a GROUP BY {k}, x",
    "SELECT {k} AS y, count(*) FROM a GROUP BY ALL",
    "SELECT * FROM a JOIN b USING ({k})",
    "SELECT * FROM a JOIN b ON a.{k} = b.{k}",
    "SELECT {k}.x FROM a AS {k}",
    "SELECT 1 AS {k} FROM a",
    "SELECT 1 AS {k}, 2 FROM a",
    "SELECT struct(1 AS {k}) FROM a",
    "SELECT x.{k}.y FROM a",
    "SELECT window(x, '1 day').{k} FROM a",
    "SELECT CAST(x AS STRUCT<{k}: INT>) FROM a",
    "SELECT * FROM a LATERAL VIEW explode(x) t AS {k}",
]
"""`{k}` is the name of a column, a field or an alias; each text reads `a`, and those with a join `b`."""
CALLS: Final = [
    "SELECT {k}(x, 1) FROM a",
    "SELECT y FROM a GROUP BY {k}(x, 1)",
    "SELECT y FROM a GROUP BY {k}(x, 1), y",
    "SELECT y FROM a GROUP BY y, {k}(x, 1)",
    "SELECT y FROM a ORDER BY {k}(x, 1), y",
    "SELECT y FROM a WHERE {k}(x, 1) > 1",
    "SELECT f({k} => 1) FROM a",
]
"""`{k}` is the name of a function or of an argument."""
RELATIONS: Final = [
    "SELECT x FROM {k}",
    "SELECT x FROM {k} AS y",
    "SELECT x FROM a JOIN {k} ON true",
    "WITH {k} AS (SELECT 1) SELECT * FROM {k}",
]
"""`{k}` is the name of a relation."""
UNQUALIFIED: Final = [
    "SELECT 1 {k} FROM a",
    "SELECT x FROM a {k}",
    "SELECT x FROM (SELECT 1 AS x) {k}",
    "SELECT * FROM a LATERAL VIEW explode(x) {k} AS y",
]
"""`{k}` is an alias without AS."""
TEXTS: Final = [*NAMES, *CALLS, *RELATIONS, *UNQUALIFIED]
UNREAD: Final = {
    "TABLE(t)": r"(?i)\btable\s*\(",
    "NEAREST BY": r"(?i)\bnearest\b",
    "MAX RECURSION LEVEL": r"(?i)max\s+recursion\s+level",
    "pipe operators": r"\|",
    ">>>": r">>>",
    "X '1F'": r"X '",
    "GEOMETRY(ANY)": r"(?i)geo(?:metry|graphy)\(any\)",
    "PIVOT": r"(?i)\bpivot\b",
    "-INTERVAL": r"(?i)[-+]interval",
    "/*/": re.escape("/*/"),
    "TABLESAMPLE (-1 ROWS)": r"(?i)tablesample \(-",
    "LIMIT": r"(?i)limit key > 3",
}
"""What Mainstem does not read: name in docs/sql.md -> pattern of the texts of Spark's tests that have it."""
UNREAD_WORDS: Final = frozenset(
    {
        "select",
        "not",
        "distinct",
        "case",
        "any",
        "all",
        "as",
        "if",
        "cube",
        "rollup",
        "describe",
        "null",
        "from",
        "with",
        "when",
    }
)
"""Words that are not read as a name in each place, though Spark takes them for one."""
SPECIAL_CALLS: Final = frozenset(
    {
        "cast",
        "try_cast",
        "div",
        "extract",
        "like",
        "ilike",
        "lateral",
        "map",
        "stream",
        "table",
        "values",
        "when",
        "recursive",
        "overlay",
        "position",
    }
)
"""Words that begin a form of their own before a bracket; a call of a function of the name is not read."""
