"""Joins of two streams, and the sides whose rows Spark keeps for ever.

`a` and `b` are streams with the watermark `ts` and one more time, `ex`; `c` is the same without a watermark.
"""

from typing import Any, Final, NamedTuple


NONE: Final = (False, False)
LEFT: Final = (True, False)
RIGHT: Final = (False, True)
BOTH: Final = (True, True)
_HOUR: Final = "INTERVAL 1 HOUR"
_WINDOWS: Final = "(SELECT *, window(ts, '1 hour') AS w FROM a) x JOIN (SELECT *, window(ts, '1 hour') AS w FROM b) y ON x.k = y.k"


class Shape(NamedTuple):
    """A join.

    Attributes:
        sql: of the view `v`.
        kept: whether Spark keeps all rows of the left and of the right side.
        certain: the sides for which the text alone proves it.
        views: further views, which the text may read.
    """

    sql: str
    kept: tuple[bool, bool]
    certain: tuple[bool, bool] | None = None
    views: tuple[dict[str, Any], ...] = ()

    @property
    def reported(self) -> tuple[bool, bool]:
        """The sides of which the checks warn."""
        return self.kept if self.certain is None else self.certain

    def document(self, folder: str = "/data") -> dict[str, Any]:
        """The join as a document, whose files lie below a folder."""
        schema = "k STRING, ts TIMESTAMP, ex TIMESTAMP"
        files = {"format": "json", "schema": schema, "maxFilesPerTrigger": 1}
        sources: list[dict[str, Any]] = [
            {"name": name, "files": files | {"path": f"{folder}/{name}"}} for name in "abc"
        ]
        for source in sources[:2]:
            source["watermark"] = {"column": "ts", "delay": "10 minutes"}
        query = {"name": "q", "from": "v", "to": [{"name": "out", "noop": {}}], "state": {"partitions": 1}}
        spec = {
            "sources": sources,
            "views": [*self.views, {"name": "v", "sql": self.sql}],
            "queries": [query | {"trigger": {"availableNow": True}}],
            "checkpoints": {"location": f"{folder}/checkpoints"},
        }
        head = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline"}
        return head | {"metadata": {"name": "joins"}, "spec": spec}


def _on(condition: str, kept: tuple[bool, bool], certain: tuple[bool, bool] | None = None) -> Shape:
    return Shape(f"SELECT a.k FROM a JOIN b ON a.k = b.k AND {condition}", kept, certain)


FEW: Final = [
    Shape("SELECT a.k FROM a JOIN b ON a.k = b.k", BOTH),
    _on(f"b.ts BETWEEN a.ts AND a.ts + {_HOUR}", NONE),
    _on("b.ts >= a.ts", LEFT),
    _on(f"a.ts + {_HOUR} > b.ts", RIGHT),
    # Without a.ts above, Spark has no event time to drop rows by.
    _on("b.ts <= a.ex", BOTH, RIGHT),
    Shape("SELECT a.k, a.ts FROM a JOIN b ON a.k = b.k AND b.ts <= a.ex", RIGHT),
    Shape(
        f"SELECT x.k FROM {_WINDOWS} AND x.ts BETWEEN y.w.end - INTERVAL 10 SECONDS AND y.w.end", BOTH, LEFT
    ),
    Shape(f"SELECT x.k FROM {_WINDOWS} AND x.w = y.w", NONE),
    Shape(f"SELECT a.k FROM a, b WHERE a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + {_HOUR}", NONE),
]
"""Joins whose state is looked at in every run of the tests."""

MORE: Final = [
    _on("b.ts <= a.ex AND b.ts >= a.ts", NONE),
    _on("a.ts = b.ts", NONE),
    _on(f"NOT (b.ts > a.ts + {_HOUR})", RIGHT, NONE),
    _on("CAST(b.ts AS DOUBLE) <= CAST(a.ts AS DOUBLE) + 3600", RIGHT),
    _on("b.ts > date_trunc('hour', a.ts)", BOTH, LEFT),
    _on("b.ts > a.ts + INTERVAL 1 MONTH", BOTH, LEFT),
    _on("unix_timestamp(b.ts) >= unix_timestamp(a.ts)", BOTH, LEFT),
    _on(f"b.ts - a.ts <= {_HOUR}", BOTH),
    _on("to_date(a.ts) = to_date(b.ts)", BOTH),
    _on("(b.ts <= a.ts OR b.ts <= a.ex)", BOTH, NONE),
    _on("b.ts < greatest(a.ts, a.ex)", BOTH),
    _on("b.ex <= a.ts", BOTH),
    _on(f"ts BETWEEN ex AND ex + {_HOUR}".replace("ts", "b.ts", 1).replace("ex", "a.ts"), NONE),
    Shape(f"SELECT x.k FROM {_WINDOWS} AND x.w.start = y.w.start", BOTH),
    Shape(f"SELECT a.k FROM a JOIN c ON a.k = c.k AND c.ts BETWEEN a.ts AND a.ts + {_HOUR}", BOTH),
    Shape("SELECT a.k FROM a JOIN c ON a.k = c.k AND a.ts = c.ts", NONE),
    Shape("SELECT k FROM a JOIN b USING (k, ts)", NONE),
    Shape("SELECT k FROM a JOIN b USING (k)", BOTH),
    Shape(f"SELECT a.k FROM a LEFT JOIN b ON a.k = b.k AND b.ts <= a.ts + {_HOUR}", RIGHT),
    Shape(f"SELECT a.k FROM a LEFT SEMI JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + {_HOUR}", NONE),
    Shape(
        f"SELECT k FROM j WHERE t BETWEEN s AND s + {_HOUR}",
        NONE,
        views=({"name": "j", "sql": "SELECT a.k, a.ts AS s, b.ts AS t FROM a JOIN b ON a.k = b.k"},),
    ),
    Shape("SELECT k FROM j", BOTH, views=({"name": "j", "sql": "SELECT a.k FROM a JOIN b ON a.k = b.k"},)),
]
"""Further joins, whose state is looked at by `make test-full`."""
