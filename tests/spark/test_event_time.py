"""Event time on real streams: windows, late rows, joins of streams, several stateful operators; every row is checked."""

from pathlib import Path
from typing import Any

import pytest
from harness.eventtime import Streams
from harness.sampling import sampled
from pyspark.sql import SparkSession


WHEN = "date_format({}, 'HH:mm')"
WINDOW = f"{WHEN.format('w.start')} AS start, {WHEN.format('w.end')} AS end"


@pytest.fixture
def streams(spark: SparkSession, tmp_path: Path) -> Streams:
    return Streams(spark, tmp_path)


@pytest.mark.S18
@pytest.mark.S19
@pytest.mark.parametrize(
    "names", sampled([["final", "sat"], ["whole", "changed", "slid"]], every=2), ids=" ".join
)
def test_windows_of_every_kind_work_in_every_mode(streams: Streams, names: list[str]) -> None:
    """Late rows within the delay count, rows beyond are dropped and counted, and the state shrinks."""
    streams.stream("a", "10 minutes", "x 0:01, x 0:05, y 0:06", "x 0:20, x 0:02", "x 0:30", "x 0:03, x 0:31", "x 2:00")  # fmt: skip
    views = {
        "tumbling": "SELECT window(ts, '10 minutes') AS w, k, count(*) AS n FROM a GROUP BY 1, k",
        "sliding": "SELECT window(ts, '20 minutes', '10 minutes') AS w, count(*) AS n FROM a GROUP BY 1",
        "sessions": "SELECT session_window(ts, '5 minutes') AS w, k, count(*) AS n FROM a GROUP BY 1, k",
        "tumbled": f"SELECT {WINDOW}, k, n FROM tumbling",
        "slid": f"SELECT {WINDOW}, n FROM sliding",
        "sat": f"SELECT {WINDOW}, k, n FROM sessions",
    }
    queries = {
        "final": {"from": "tumbled"},
        "changed": {"from": "tumbled", "outputMode": "update"},
        "whole": {"from": "tumbled", "outputMode": "complete"},
        "slid": {"from": "slid"},
        "sat": {"from": "sat"},
    }
    results = streams.run(*({"name": name} | queries[name] for name in names), views=views)
    closed = ["00:00 00:10 x 3", "00:00 00:10 y 1", "00:20 00:30 x 1", "00:30 00:40 x 2"]
    rows = {
        "final": closed,
        # Each row as often as it changed; the late x of the second batch made three of two.
        "changed": sorted([*closed, "00:00 00:10 x 2", "00:30 00:40 x 1", "02:00 02:10 x 1"]),
        # Complete drops nothing: the row at 0:03 is there.
        "whole": sorted(["00:00 00:10 x 4", *closed[1:], "02:00 02:10 x 1"]),
        "slid": ["00:00 00:20 5", "00:10 00:30 1", "00:20 00:40 3", "00:30 00:50 2", "23:50 00:10 4"],
        "sat": ["00:01 00:10 x 3", "00:06 00:11 y 1", "00:20 00:25 x 1", "00:30 00:36 x 2"],
    }
    assert {name: result.rows for name, result in results.items()} == {name: rows[name] for name in names}
    dropped = {name: result.status.dropped_by_watermark for name, result in results.items()}
    assert dropped == {name: 0 if name == "whole" else 1 for name in names}
    kept = {name: result.status.state_rows for name, result in results.items()}
    assert kept == {name: {"whole": 5, "slid": 2}.get(name, 1) for name in names}
    # In complete mode no batch follows to move it on: nothing would become final.
    assert {results[name].status.watermark for name in names if name != "whole"} == {
        "2026-01-01T01:50:00.000Z"
    }


@pytest.mark.full(
    gate="spark/test_watermark_rows.py::test_a_row_outside_the_relation_does_not_move_the_watermark"
)
@pytest.mark.S18
def test_a_view_can_compute_event_time(streams: Streams) -> None:
    """A restart continues with state and watermark, and drops late rows."""
    streams.stream("a", None, "x 0:01, x 0:02")
    views = {
        "timed": {
            "sql": "SELECT k, ts + INTERVAL 1 HOUR AS at FROM a",
            "watermark": {"column": "at", "delay": "10 minutes"},
        },
        "counted": "SELECT window(at, '10 minutes') AS w, count(*) AS n FROM timed GROUP BY 1",
        "hours": f"SELECT {WINDOW}, n FROM counted",
    }
    query = {"name": "hours", "from": "hours"}
    assert streams.run(query, views=views, sink="parquet")["hours"].rows == []
    streams.put("a", "x 0:03, x 1:00")
    assert streams.run(query, views=views, sink="parquet")["hours"].rows == ["01:00 01:10 3"]
    streams.put("a", "x 0:04")
    late = streams.run(query, views=views, sink="parquet")["hours"]
    assert (late.rows, late.status.dropped_by_watermark) == (["01:00 01:10 3"], 1)


@pytest.mark.full(gate="spark/test_event_time.py::test_each_row_joins_its_airport")
@pytest.mark.S20
def test_a_stream_joins_a_table(streams: Streams) -> None:
    """Every join that is allowed; a changed table is seen by the next start."""
    streams.stream("a", None, "x 0:01 1, y 0:02 2, z 0:03 3")
    streams.table("t", {"k": "x", "name": "X"}, {"k": "y", "name": "Y"}, {"k": "u", "name": "U"}, schema="k STRING, name STRING")  # fmt: skip
    joins = {
        "inner": "SELECT a.v, t.name FROM a JOIN t ON a.k = t.k",
        "left": "SELECT a.v, t.name FROM a LEFT JOIN t ON a.k = t.k",
        "right": "SELECT a.v, t.name FROM t RIGHT JOIN a ON a.k = t.k",
        "semi": "SELECT a.v FROM a LEFT SEMI JOIN t ON a.k = t.k",
        "anti": "SELECT a.v FROM a LEFT ANTI JOIN t ON a.k = t.k",
    }
    views = {f"v_{name}": sql for name, sql in joins.items()}
    queries = [{"name": name, "from": f"v_{name}"} for name in joins]
    rows = {"inner": ["1 X", "2 Y"], "left": ["1 X", "2 Y", "3 -"], "right": ["1 X", "2 Y", "3 -"], "semi": ["1", "2"], "anti": ["3"]}  # fmt: skip
    results = streams.run(*queries, views=views)
    assert {name: result.rows for name, result in results.items()} == rows
    assert {result.status.state_rows for result in results.values()} == {0}


@pytest.mark.full(
    gate="services/test_side_inputs.py::test_a_running_query_reads_changed_tables_by_their_kind"
)
@pytest.mark.S20
def test_a_changed_table_is_read_by_the_next_start(streams: Streams) -> None:
    streams.stream("a", None, "x 0:01 1")
    streams.table("t", {"k": "x", "name": "X"}, schema="k STRING, name STRING")
    views = {"v": "SELECT a.v, t.name FROM a JOIN t ON a.k = t.k"}
    assert streams.run({"name": "q", "from": "v"}, views=views, sink="parquet")["q"].rows == ["1 X"]
    streams.table("t", {"k": "x", "name": "another"}, schema="k STRING, name STRING")
    streams.put("a", "x 0:02 2")
    assert streams.run({"name": "q", "from": "v"}, views=views, sink="parquet")["q"].rows == ["1 X", "2 another"]  # fmt: skip


@pytest.mark.full(gate="spark/test_event_time.py::test_several_stateful_operators_run_in_a_row")
@pytest.mark.S21
def test_impressions_join_clicks(streams: Streams) -> None:
    """A click counts within an hour; an impression without a click is emitted with nulls behind the watermark."""
    streams.stream("impressions", "2 hours", "x 12:00 1, y 12:00 2, z 12:30 3", "f 26:00 9")
    streams.stream("clicks", "3 hours", "x 12:30 10, z 14:00 30, u 12:00 40", "g 26:00 90")
    within = "c.ts BETWEEN i.ts AND i.ts + INTERVAL 1 HOUR"
    joins = {
        "plain": "SELECT i.v, c.v AS click FROM impressions i JOIN clicks c ON i.k = c.k",
        "ranged": f"SELECT i.v, c.v AS click FROM impressions i JOIN clicks c ON i.k = c.k AND {within}",
        "left": f"SELECT i.v, c.v AS click FROM impressions i LEFT JOIN clicks c ON i.k = c.k AND {within}",
        "right": f"SELECT i.v, c.v AS click FROM impressions i RIGHT JOIN clicks c ON i.k = c.k AND {within}",
        "full": f"SELECT i.v, c.v AS click FROM impressions i FULL JOIN clicks c ON i.k = c.k AND {within}",
        "semi": f"SELECT i.v FROM impressions i LEFT SEMI JOIN clicks c ON i.k = c.k AND {within}",
        "windows": "SELECT i.v, c.v AS click FROM i_hours i JOIN c_hours c ON i.k = c.k AND i.w = c.w",
    }
    views: dict[str, Any] = {
        "i_hours": "SELECT *, window(ts, '1 hour') AS w FROM impressions",
        "c_hours": "SELECT *, window(ts, '1 hour') AS w FROM clicks",
    }
    views |= {f"v_{name}": sql for name, sql in joins.items()}
    results = streams.run(*({"name": name, "from": f"v_{name}"} for name in joins), views=views)
    assert {name: result.rows for name, result in results.items()} == {
        "plain": ["1 10", "3 30"],
        "ranged": ["1 10"],
        "left": ["1 10", "2 -", "3 -"],
        "right": ["- 30", "- 40", "1 10"],
        "full": ["- 30", "- 40", "1 10", "2 -", "3 -"],
        "semi": ["1"],
        "windows": ["1 10"],
    }
    # Behind the watermark the state is gone, but for the join that nothing bounds.
    kept = {name: result.status.state_rows for name, result in results.items()}
    assert kept == {"plain": 8, **dict.fromkeys(("ranged", "left", "right", "full", "semi", "windows"), 2)}
    # The slower of the two sets the pace: 26:00 less three hours.
    assert {results[name].status.watermark for name in joins if name != "plain"} == {
        "2026-01-01T23:00:00.000Z"
    }


@pytest.mark.S24
@pytest.mark.parametrize("beside", sampled([False, True], every=2), ids=["days", "hours beside"])
def test_several_stateful_operators_run_in_a_row(streams: Streams, *, beside: bool) -> None:
    """Duplicates go, joined rows are counted by the hour, hours by the day: each passes on what is final."""
    streams.stream("a", "1 hour", "x 0:01 1, x 0:01 1, y 0:30 1", "x 1:10 1, x 0:02 1", "x 30:00 1")
    streams.stream("b", "1 hour", "x 0:05 5, y 0:31 6", "x 1:11 7", "x 30:01 8")
    views = {
        "once": {"deduplicate": {"from": "a", "columns": ["k", "ts"]}},
        "pairs": "SELECT once.k, b.ts FROM once JOIN b ON once.k = b.k AND b.ts BETWEEN once.ts AND once.ts + INTERVAL 10 MINUTES",
        "hours": "SELECT window(ts, '1 hour') AS w, k, count(*) AS n FROM pairs GROUP BY 1, k",
        "days": "SELECT window(window_time(w), '1 day') AS w, count(*) AS hours, sum(n) AS n FROM hours GROUP BY 1",
        "dated": "SELECT date_format(w.start, 'yyyy-MM-dd') AS day, hours, n FROM days",
        "hourly": f"SELECT {WINDOW}, k, n FROM hours",
    }
    hours = [{"name": "hours", "from": "hourly"}] if beside else []
    results = streams.run({"name": "days", "from": "dated"}, *hours, views=views)
    if beside:
        assert results["hours"].rows == ["00:00 01:00 x 2", "00:00 01:00 y 1", "01:00 02:00 x 1"]
    assert results["days"].rows == ["2026-01-01 3 4"]
    assert results["days"].status.dropped_by_watermark == 0


@pytest.mark.S25
def test_each_row_joins_its_airport(streams: Streams) -> None:
    """By a given identifier, by a random one where there is none, and the nearest."""
    streams.stream("a", None, "ZRH 0:01 1, - 0:02 2, JFK 0:03 3, - 0:04 4", "- 0:05 46")
    airports = [("ZRH", 47), ("JFK", 40), ("SIN", 1)]
    streams.table("airports", *({"ident": ident, "lat": lat} for ident, lat in airports), schema="ident STRING, lat INT")  # fmt: skip
    views = {
        "idents": "SELECT v, CASE WHEN k = '-' THEN element_at(array('ZRH', 'JFK', 'SIN'), 1 + CAST(floor(rand() * 3) AS INT)) ELSE k END AS ident FROM a",
        "enriched": "SELECT n.v, n.ident, p.lat FROM idents n LEFT JOIN airports p ON n.ident = p.ident",
        "known": "SELECT collect_list(struct(lat, ident)) AS places FROM airports",
        "nearest": "SELECT v, array_min(transform(places, x -> struct(abs(x.lat - v), x.ident))).ident AS ident FROM a CROSS JOIN known",
    }
    results = streams.run({"name": "named", "from": "enriched"}, {"name": "nearest", "from": "nearest"}, views=views)  # fmt: skip
    rows = [row.split() for row in results["named"].rows]
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "46"]
    assert all((ident, int(lat)) in airports for _, ident, lat in rows)
    assert {row[0]: row[1] for row in rows if row[0] in "13"} == {"1": "ZRH", "3": "JFK"}
    assert results["nearest"].rows == ["1 SIN", "2 SIN", "3 SIN", "4 SIN", "46 ZRH"]
