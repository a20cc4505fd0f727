"""Queries over streams and a table, each with the output modes that Spark takes, and our reasons for refusing the others.

`a` and `b` are streams with the watermark `ts`, `c` is the same without one, `t` is a table. A row that nobody refuses is
the near neighbour of one that is.
"""

from typing import Any, Final, NamedTuple

from harness.documents import pipeline_head


MODES: Final = ("append", "update", "complete")
RANGE: Final = "BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"


class Row(NamedTuple):
    """A view `v` and the findings of the checks.

    Attributes:
        view: its SQL, or the whole view.
        append, update, complete: our reason in that mode; empty where it runs.
        below: the view `w`, which it may read.
    """

    view: str | dict[str, Any]
    append: str = ""
    update: str = ""
    complete: str = "AggregationNeeded"
    below: str | dict[str, Any] | None = None

    @property
    def id(self) -> str:
        """A name for the test's report."""
        return str(self.view)

    def reason(self, mode: str) -> str:
        """Ours for refusing a mode."""
        return str(getattr(self, mode))

    def document(self, mode: str, folder: str = "/data") -> dict[str, Any]:
        """The row as a document, whose files lie below a folder."""
        schema = "k STRING, v INT, ts TIMESTAMP"
        sources: list[dict[str, Any]] = [
            {
                "name": name,
                "files": {
                    "path": f"{folder}/{name}",
                    "format": "json",
                    "schema": schema,
                    "maxFilesPerTrigger": 1,
                },
            }
            for name in "abc"
        ]
        for source in sources[:2]:
            source["watermark"] = {"column": "ts", "delay": "2 hours"}
        sources.append(
            {"name": "t", "static": {"json": {"path": f"{folder}/t", "schema": "k STRING, n INT"}}}
        )
        views = [("w", self.below), ("v", self.view)]
        query = {"name": "q", "from": "v", "outputMode": mode, "to": [{"name": "out", "console": {}}]}
        return {
            **pipeline_head("plans"),
            "spec": {
                "sources": sources,
                "views": [
                    {"name": name} | (view if isinstance(view, dict) else {"sql": view})
                    for name, view in views
                    if view is not None
                ],
                "queries": [query | {"trigger": {"availableNow": True}, "state": {"partitions": 1}}],
                "checkpoints": {"location": f"{folder}/checkpoints"},
            },
        }


def _all(reason: str) -> dict[str, str]:
    return dict.fromkeys(MODES, reason)


def _outer(reason: str = "") -> dict[str, str]:
    return {"append": reason, "update": "OutputModeNotAllowed"}


_HOURS: Final = "SELECT window(ts, '1 hour') AS w, k, count(*) AS n FROM a GROUP BY 1, 2"
_NO_KEY: Final = {"append": "WatermarkNeeded", "complete": ""}
_RUNS: Final = {"complete": ""}
_END: Final = {"append": "WindowKeyNeeded", "complete": ""}
_WINDOWS: Final = "SELECT *, window(ts, '1 hour') AS w FROM a"
_CHAIN: Final = {"update": "OutputModeNotAllowed", "complete": "OutputModeNotAllowed"}

_STATE: Final = {"from": "a", "keys": ["k"], "schema": "k STRING, ts TIMESTAMP, n BIGINT"}
_PROCESSOR: Final = {"state": _STATE | {"processor": "silent:Processor"}}


def _state(**fields: Any) -> dict[str, Any]:
    return {"state": _STATE | {"function": "silent:function", "stateSchema": "n BIGINT"} | fields}


_FUNCTION: Final = _state()


def _twice(sql: str) -> dict[str, Any]:
    return {"sql": sql, "watermark": {"column": "ts", "delay": "1 hour"}}


def _both(reason: str) -> dict[str, str]:
    return {"append": reason, "update": reason}


ROWS: Final = [
    # Without state.
    Row("SELECT k, k LIKE ANY ('a%', 'b') AS matches FROM a"),
    Row("SELECT k FROM a"),
    Row("SELECT k FROM a DISTRIBUTE BY k"),
    Row("SELECT window(ts, '1 hour') AS w, k FROM a"),
    Row("SELECT k FROM a ORDER BY k", **_all("SortNotAllowed")),
    Row("SELECT k FROM a SORT BY k", **_all("SortNotAllowed")),
    Row("SELECT k FROM a CLUSTER BY k", **_all("SortNotAllowed")),
    Row("SELECT k FROM (SELECT k FROM a ORDER BY k)", **_all("SortNotAllowed")),
    Row("SELECT a.k FROM a JOIN (SELECT k FROM t ORDER BY n) u ON a.k = u.k"),
    Row("SELECT k FROM a LIMIT 2", update="LimitNotAllowed"),
    Row("SELECT a.k FROM a JOIN (SELECT k FROM t LIMIT 2) u ON a.k = u.k"),
    Row("SELECT k FROM a LIMIT 2 OFFSET 1", **_all("LimitNotAllowed")),
    Row("SELECT k FROM a TABLESAMPLE (10 PERCENT)", **_all("SampleNotAllowed")),
    Row("SELECT k, row_number() OVER (PARTITION BY k ORDER BY ts) AS r FROM a", **_all("WindowFunctionNotAllowed")),
    Row("SELECT a.k FROM a JOIN (SELECT k, row_number() OVER (ORDER BY n) AS r FROM t) u ON a.k = u.k"),
    Row("SELECT monotonically_increasing_id() AS i FROM a", **_all("FunctionNotAllowed")),
    Row("SELECT uuid() AS i FROM a"),
    Row("SELECT k FROM a WHERE k IN (SELECT k FROM t)"),
    Row("SELECT k FROM a WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = a.k)"),
    Row("SELECT k FROM a WHERE k IN (SELECT k FROM b)", **_all("SubqueryNotAllowed")),
    Row("SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)", **_all("SubqueryNotAllowed")),
    Row("SELECT k FROM a WHERE v = (SELECT max(v) FROM b)", **_all("SubqueryNotAllowed")),
    # Sets.
    Row("SELECT k FROM a UNION ALL SELECT k FROM b"),
    Row("SELECT k FROM a UNION ALL SELECT k FROM t", **_all("SetOperationNotAllowed")),
    Row("SELECT k FROM a INTERSECT SELECT k FROM t", **_all("SetOperationNotAllowed")),
    Row("SELECT k FROM t EXCEPT SELECT k FROM a", **_all("SetOperationNotAllowed")),
    Row("SELECT k FROM a EXCEPT SELECT k FROM b", **_all("SetOperationNotAllowed")),
    # Aggregations.
    Row("SELECT k, count(*) AS n FROM c GROUP BY k", **_NO_KEY),
    Row("SELECT count(*) AS n FROM a", **_NO_KEY),
    Row("SELECT k, count(*) AS n FROM a GROUP BY k", **_NO_KEY),
    Row("SELECT to_date(ts) AS d, count(*) AS n FROM a GROUP BY 1", **_NO_KEY),
    Row("SELECT date_trunc('hour', ts) AS h, count(*) AS n FROM a GROUP BY ALL", **_NO_KEY),
    Row("SELECT e, count(*) AS n FROM (SELECT CAST(ts AS TIMESTAMP) AS e FROM a) GROUP BY e", **_NO_KEY),
    Row("SELECT k, min(ts) AS ts FROM a GROUP BY k", **_NO_KEY),
    Row("SELECT window(e, '1 hour') AS w, count(*) AS n FROM (SELECT to_timestamp(v) AS e FROM a) GROUP BY 1", **_NO_KEY),
    Row("SELECT window(ts, '1 hour') AS w, count(*) AS n FROM c GROUP BY 1", **_NO_KEY),
    Row("SELECT k, approx_count_distinct(v) AS n FROM a GROUP BY k", **_NO_KEY),
    Row("SELECT ts, count(*) AS n FROM a GROUP BY ts", **_RUNS),
    Row("SELECT ts, count(*) AS n FROM a GROUP BY ALL", **_RUNS),
    Row("SELECT x.ts AS e, count(*) AS n FROM a AS x GROUP BY x.ts", **_RUNS),
    Row(_HOURS, **_RUNS),
    Row("SELECT window(ts, '1 hour', '10 minutes') AS w, count(*) AS n FROM a GROUP BY w", **_RUNS),
    Row("SELECT w, count(*) AS n FROM (SELECT window(ts, '1 hour') AS w FROM a) GROUP BY w", **_RUNS),
    Row("SELECT window(ts, '1 hour') AS w, k, count(*) AS n FROM a GROUP BY ROLLUP(window(ts, '1 hour'), k)", **_RUNS),
    Row("SELECT w.start, count(*) AS n FROM (SELECT window(ts, '1 hour') AS w FROM a) GROUP BY w.start", **_END),
    Row("SELECT w.`end` AS e, k, count(*) AS n FROM (SELECT window(ts, '1 hour') AS w, k FROM a) GROUP BY e, k", **_END),
    Row("SELECT x.w.start AS s, count(*) AS n FROM w AS x GROUP BY 1", below=_WINDOWS, **_END),
    Row("SELECT s, count(*) AS n FROM w GROUP BY s", below="SELECT window(ts, '1 hour').start AS s FROM a", **_END),
    Row("SELECT window(ts, '1 hour').start AS s, count(*) AS n FROM a GROUP BY 1", **_END),
    Row("SELECT w['start'] AS s, count(*) AS n FROM w GROUP BY ALL", below=_WINDOWS, **_END),
    Row("SELECT DISTINCT w.start FROM w", below=_WINDOWS, **_END),
    Row("SELECT DISTINCT w.start AS s, w FROM w", below=_WINDOWS, **_RUNS),
    Row("SELECT w.start AS s, n FROM w", below=_HOURS, **_RUNS),
    Row("SELECT start, count(*) AS n FROM w GROUP BY start", below="SELECT ts AS start FROM a", **_RUNS),
    Row("SELECT w.start, count(*) AS n FROM w GROUP BY w.start", below="SELECT ts AS start FROM a", **_RUNS),
    Row("SELECT window(ts + INTERVAL 1 HOUR, '1 hour') AS w, count(*) AS n FROM a GROUP BY 1", **_NO_KEY),
    Row("SELECT window(w.start, '1 day') AS d, count(*) AS n FROM w GROUP BY 1", below=_WINDOWS, **_NO_KEY),
    Row("SELECT session_window(ts, '5 minutes') AS s, k, count(*) AS n FROM a GROUP BY 1, k", update="OutputModeNotAllowed", complete=""),
    Row("SELECT k, count(DISTINCT v) AS n FROM a GROUP BY k", "WatermarkNeeded", "DistinctNotAllowed", "DistinctNotAllowed"),
    Row("SELECT ts, sum(DISTINCT v) AS n FROM a GROUP BY ts", **_all("DistinctNotAllowed")),
    Row("SELECT a.k FROM a JOIN (SELECT k, count(DISTINCT n) AS n FROM t GROUP BY k) u ON a.k = u.k"),
    Row("SELECT k, count(*) AS n FROM a GROUP BY k ORDER BY n", "WatermarkNeeded", "SortNotAllowed", ""),
    Row("SELECT k, count(*) AS n FROM (SELECT k FROM a ORDER BY k) GROUP BY k", "WatermarkNeeded", "SortNotAllowed", "SortNotAllowed"),
    Row("SELECT k, count(*) AS n FROM a GROUP BY k LIMIT 2", "WatermarkNeeded", "LimitNotAllowed", ""),
    Row("SELECT k, count(*) AS n FROM c GROUP BY k UNION ALL SELECT k, v FROM c", **_NO_KEY),
    Row("SELECT k, count(*) AS n FROM a GROUP BY k UNION ALL SELECT k, n FROM t", "WatermarkNeeded", "SetOperationNotAllowed", "SetOperationNotAllowed"),
    Row("SELECT DISTINCT k FROM a", **_NO_KEY),
    Row("SELECT DISTINCT k, ts FROM a", **_RUNS),
    Row("SELECT k FROM a UNION SELECT k FROM b", **_NO_KEY),
    Row("SELECT k, ts FROM a UNION SELECT k, ts FROM b", **_RUNS),
    Row("SELECT k FROM a GROUP BY k ORDER BY k", "WatermarkNeeded", "SortNotAllowed", ""),
    Row("SELECT DISTINCT k FROM a ORDER BY k", "WatermarkNeeded", "SortNotAllowed", "SortNotAllowed"),
    Row("SELECT k FROM a UNION SELECT k FROM b ORDER BY k", "WatermarkNeeded", "SortNotAllowed", "SortNotAllowed"),
    Row("SELECT e, count(*) AS n FROM w GROUP BY e", below={"sql": "SELECT to_timestamp(v) AS e FROM c", "watermark": {"column": "e", "delay": "1 hour"}}, **_RUNS),
    # A stream and a table.
    Row("SELECT a.k FROM a JOIN t ON a.k = t.k"),
    Row("SELECT a.k FROM a CROSS JOIN t"),
    Row("SELECT a.k FROM a LEFT JOIN t ON a.k = t.k"),
    Row("SELECT a.k FROM t LEFT JOIN a ON a.k = t.k", **_all("JoinNotAllowed")),
    Row("SELECT a.k FROM t RIGHT JOIN a ON a.k = t.k"),
    Row("SELECT a.k FROM a RIGHT JOIN t ON a.k = t.k", **_all("JoinNotAllowed")),
    Row("SELECT a.k FROM a FULL JOIN t ON a.k = t.k", **_all("JoinNotAllowed")),
    Row("SELECT a.k FROM a LEFT SEMI JOIN t ON a.k = t.k"),
    Row("SELECT t.k FROM t LEFT SEMI JOIN a ON a.k = t.k", **_all("JoinNotAllowed")),
    Row("SELECT a.k FROM a LEFT ANTI JOIN t ON a.k = t.k"),
    Row("SELECT t.k FROM t LEFT ANTI JOIN a ON a.k = t.k", **_all("JoinNotAllowed")),
    Row("SELECT x.k FROM w AS x JOIN t ON x.k = t.k", below="SELECT k, count(*) AS n FROM a GROUP BY k", **_NO_KEY),
    # Two streams.
    Row("SELECT a.k FROM a JOIN b ON a.k = b.k"),
    Row("SELECT a.k FROM a JOIN c ON a.k = c.k"),
    Row(f"SELECT a.k FROM a JOIN b ON a.k = b.k AND b.ts {RANGE}"),
    Row("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k", **_outer("WatermarkNeeded")),
    Row("SELECT a.k FROM a LEFT JOIN b USING (k)", **_outer("WatermarkNeeded")),
    Row(f"SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts {RANGE}", **_outer()),
    Row("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts >= a.ts", **_outer("WatermarkNeeded")),
    Row("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts <= a.ts", **_outer()),
    Row("SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts - a.ts <= INTERVAL 1 HOUR", **_outer("WatermarkNeeded")),
    Row("SELECT a.k FROM a LEFT JOIN (SELECT *, window(ts, '1 hour') AS w FROM b) y ON a.k = y.k AND y.w.end <= a.ts", **_outer("WatermarkNeeded")),
    Row("SELECT a.k FROM a LEFT JOIN b USING (k, ts)", **_outer()),
    Row("SELECT a.k FROM a LEFT JOIN c ON a.k = c.k AND a.ts = c.ts", **_outer()),
    Row("SELECT a.k FROM a LEFT JOIN (SELECT k, v FROM c) d ON a.k = d.k AND d.v > a.v", **_outer("WatermarkNeeded")),
    Row(f"SELECT a.k FROM a LEFT JOIN (SELECT k, ts AS e FROM c) d ON a.k = d.k AND d.e {RANGE}", **_outer("WatermarkNeeded")),
    Row(f"SELECT d.k FROM a RIGHT JOIN (SELECT k, ts AS e FROM c) d ON a.k = d.k AND d.e {RANGE}", **_outer()),
    Row(f"SELECT a.k FROM (SELECT k, ts AS e FROM c) d RIGHT JOIN a ON a.k = d.k AND d.e {RANGE}", **_outer("WatermarkNeeded")),
    Row("SELECT a.k FROM a FULL JOIN b ON a.k = b.k", **_outer("WatermarkNeeded")),
    Row(f"SELECT a.k FROM a FULL JOIN b ON a.k = b.k AND b.ts {RANGE}", **_outer()),
    Row("SELECT a.k FROM a LEFT SEMI JOIN b ON a.k = b.k", "WatermarkNeeded", "WatermarkNeeded"),
    Row(f"SELECT a.k FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.ts {RANGE}"),
    Row(f"SELECT a.k FROM a LEFT ANTI JOIN b ON a.k = b.k AND b.ts {RANGE}", **_all("JoinNotAllowed")),
    Row("SELECT x.k FROM (SELECT *, window(ts, '1 hour') AS w FROM a) x LEFT JOIN (SELECT *, window(ts, '1 hour') AS w FROM b) y ON x.k = y.k AND x.w = y.w", **_outer()),
    # Several stateful operators.
    Row("SELECT k, sum(n) AS n FROM w GROUP BY k", "WatermarkNeeded", "OutputModeNotAllowed", "OutputModeNotAllowed", _HOURS),
    Row("SELECT window(window_time(w), '1 day') AS d, sum(n) AS n FROM w GROUP BY 1", below=_HOURS, **_CHAIN),
    Row("SELECT window(w.w, '1 day') AS d, sum(n) AS n FROM w GROUP BY 1", below=_HOURS, **_CHAIN),
    Row("SELECT x.k FROM w x JOIN w y ON x.k = y.k AND x.w = y.w", below=_HOURS, **_CHAIN),
    Row("SELECT window(e, '1 hour') AS h, count(*) AS n FROM w GROUP BY 1", complete="OutputModeNotAllowed", below=f"SELECT a.k, b.ts AS e FROM a JOIN b ON a.k = b.k AND b.ts {RANGE}"),
    Row("SELECT window(ts, '1 hour') AS h, count(*) AS n FROM w GROUP BY 1", below={"deduplicate": {"from": "a", "columns": ["k", "ts"]}}, **_RUNS),
    # Steps.
    Row({"deduplicate": {"from": "a", "columns": ["k"]}}),
    Row({"deduplicate": {"from": "c", "columns": ["k"]}}),
    Row({"deduplicate": {"from": "a", "columns": ["k"], "withinWatermark": True}}),
    Row({"deduplicate": {"from": "c", "columns": ["k"], "withinWatermark": True}}, **_all("WatermarkNeeded")),
    Row({"deduplicate": {"from": "w", "columns": ["k"]}}, below=_HOURS, **_RUNS),
    Row({"sql": "SELECT k, ts FROM c", "watermark": {"column": "ts", "delay": "1 hour"}}),
    # Code that keeps state.
    Row(_FUNCTION),
    Row(_state(outputMode="update"), append="StateNotAllowed", complete="StateNotAllowed"),
    Row(_state(outputMode="append"), update="StateNotAllowed"),
    Row(_state(**{"from": "w"}), **_all("StateNotAllowed"), below=_HOURS),
    Row(_state(**{"from": "w"}), **_all("StateNotAllowed"), below=_FUNCTION),
    Row(_PROCESSOR | {"state": _PROCESSOR["state"] | {"from": "w"}}, below=_FUNCTION),
    Row("SELECT n, count(*) AS m FROM w GROUP BY n", "WatermarkNeeded", "StateNotAllowed", "", _FUNCTION),
    Row("SELECT n, count(*) AS m FROM w GROUP BY n", "WatermarkNeeded", "", "", _state(outputMode="append")),
    Row("SELECT n, count(*) AS m FROM w GROUP BY n", "WatermarkNeeded", "", "", _PROCESSOR),
    Row("SELECT x.k FROM w x JOIN b ON x.k = b.k", below=_FUNCTION),
    Row("SELECT x.k FROM w x JOIN b ON x.k = b.k", "StateNotAllowed", "StateNotAllowed", below=_state(timeout="EventTimeTimeout")),
    Row("SELECT b.k FROM b LEFT JOIN w x ON x.k = b.k AND x.ts > b.ts", **_outer("WatermarkNeeded"), below=_PROCESSOR),
    Row({"deduplicate": {"from": "w", "columns": ["k"]}}, below=_state(timeout="EventTimeTimeout")),
    Row({"deduplicate": {"from": "w", "columns": ["k"], "withinWatermark": True}}, **_all("WatermarkNeeded"), below=_PROCESSOR),
]  # fmt: skip

LATE: Final = [
    Row("SELECT x.w, y.n FROM w x JOIN (SELECT k, count(*) AS n FROM b GROUP BY k) y ON x.k = y.k", "WatermarkNeeded", **_CHAIN, below=_HOURS),
    Row(_twice("SELECT k, ts FROM a"), **_both("WatermarkTwice")),
    Row(_twice("SELECT a.k, a.ts FROM a JOIN t ON a.k = t.k"), **_both("WatermarkTwice")),
    Row(_twice("SELECT k, ts FROM a UNION ALL SELECT k, ts FROM c"), **_both("WatermarkTwice")),
    Row(_twice("SELECT k, ts FROM w"), **_both("WatermarkTwice"), below={"deduplicate": {"from": "a", "columns": ["k", "ts"]}}),
    Row(_twice("SELECT k, ts FROM w"), **_both("WatermarkTwice"), below={"state": _STATE | {"processor": "silent:Echo"}}),
    Row(_twice("SELECT k, ts FROM w"), below=_FUNCTION),
    Row("SELECT k FROM a EXCEPT SELECT k FROM t", append="WatermarkNeeded"),
    Row("SELECT k, ts FROM a EXCEPT SELECT k, current_timestamp() FROM t"),
    Row("SELECT a.k FROM a CROSS JOIN b", **_both("EqualityNeeded")),
    Row(f"SELECT a.k FROM a JOIN b ON b.ts {RANGE}", **_both("EqualityNeeded")),
    Row(f"SELECT a.k FROM a LEFT JOIN b ON b.ts {RANGE}", **_outer("EqualityNeeded")),
    Row("SELECT a.k FROM a, b WHERE a.v < b.v AND a.k > 'a'", **_both("EqualityNeeded")),
    Row("SELECT k FROM w WHERE k = l", below="SELECT a.k, b.k AS l FROM a, b"),
    Row("SELECT session_window(ts, '5 minutes') AS s, count(*) AS n FROM a GROUP BY 1, 'x'", **_all("KeyNeeded")),
    Row("SELECT session_window(ts, '5 minutes') AS s, one, count(*) AS n FROM (SELECT *, 1 AS one FROM a) GROUP BY 1, 2", update="OutputModeNotAllowed", complete=""),
]  # fmt: skip
"""Rows that Spark's checker lets pass, and that fail in a batch, with the watermark's first move at the latest."""
GROUPS: Final = "SELECT ts, count(*) AS n FROM a GROUP BY ts"
SILENT: Final = Row(_twice(GROUPS), **_all("WatermarkTwice"))
"""A row that Spark runs in append mode, and writes nothing of."""
