"""Random documents and rows: a stream gives the rows of one batch over all rows, for any arrival.

Rows come in any number of files; runs read them in batches of any size, by any trigger that ends; between runs the
driver may be killed after the last write and before its commit: that is a checkpoint without its newest commit.
The oracle is Spark's batch engine over plain tables, which knows nothing of sources, decoding, checkpoints or sinks.
"""

import json
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest
from deltalake import DeltaTable
from harness.documents import pipeline_head
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import example as also
from hypothesis import strategies as st
from mainstem.dataframes.query import build, checkpoint, start
from mainstem.language.document import read_text
from mainstem.testing.compare import difference
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


pytestmark = [pytest.mark.S17, pytest.mark.S18, pytest.mark.S19, pytest.mark.S36, pytest.mark.timeout(900)]

COLUMNS = "k STRING, n INT, at TIMESTAMP"
NAMES = [("a", "Anna"), ("b", "Bert"), ("b", "Beat")]
"""A static table: one key that is there twice, one that is not there."""
ROWS = st.fixed_dictionaries(
    {
        "k": st.sampled_from(["a", "b", "c", "", None]),
        "n": st.none() | st.integers(-3, 9),
        "at": st.integers(0, 179).map(lambda minute: f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"),
    }
)
STEPS = st.sampled_from(
    [
        "SELECT k, n, at FROM {} WHERE n > 1",
        "SELECT k, n, at FROM {} WHERE k IS NOT NULL AND n % 2 = 0",
        "SELECT k, -n AS n, at FROM {}",
        "SELECT concat(k, 'x') AS k, n, at FROM {}",
        "SELECT coalesce(k, 'none') AS k, coalesce(n, 0) AS n, at FROM {}",
        "SELECT r.k, r.n, r.at FROM {} r JOIN names s ON r.k = s.k",
        "SELECT s.name AS k, r.n, r.at FROM {} r LEFT JOIN names s ON r.k = s.k",
        "SELECT k, n, at FROM {} r WHERE EXISTS (SELECT 1 FROM names s WHERE s.k = r.k)",
        "SELECT k, m AS n, at FROM {} LATERAL VIEW explode(array(n, n + 1)) t AS m",
        "SELECT k, n, at FROM {} UNION ALL SELECT k, n, at FROM others",
    ]
)
AGGREGATES = [
    "count(*) AS rows",
    "count(n) AS numbers",
    "sum(n) AS total",
    "min(n) AS least",
    "max(k) AS greatest",
    "avg(n) AS mean",
    "count_if(n > 2) AS many",
    "stddev_pop(n) AS spread",
    "bool_or(n > 5) AS any_big",
    "sort_array(collect_list(n)) AS all_numbers",
    "sort_array(collect_set(k)) AS all_keys",
    "approx_count_distinct(n) AS about",
]


@dataclass(frozen=True)
class Ending:
    """How the last view ends: `{}` is the view before; the columns that identify a row, where it is an aggregate."""

    sql: str
    mode: str
    keys: tuple[str, ...] = ()


PLAIN = Ending("SELECT k, n, at FROM {}", "append")


@st.composite
def endings(draw: st.DrawFn) -> Ending:
    chosen = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
    aggregates = ", ".join(chosen)
    return draw(
        st.sampled_from(
            [
                PLAIN,
                Ending(f"SELECT k, {aggregates} FROM {{}} GROUP BY k", "update", ("k",)),
                Ending(f"SELECT k, {aggregates} FROM {{}} GROUP BY k", "complete"),
                Ending(f"SELECT {aggregates} FROM {{}}", "complete"),
                Ending(f"SELECT window(at, '1 hour').start AS hour, k, {aggregates} FROM {{}} GROUP BY window(at, '1 hour'), k", "update", ("hour", "k")),
                Ending(f"SELECT window(at, '1 hour', '30 minutes').start AS hour, {aggregates} FROM {{}} GROUP BY window(at, '1 hour', '30 minutes')", "update", ("hour",)),
                Ending(f"SELECT session_window(at, '10 minutes').start AS since, k, {aggregates} FROM {{}} GROUP BY session_window(at, '10 minutes'), k", "complete"),
            ]
        )
    )  # fmt: skip


@dataclass
class Example:
    """A document, and how its rows come."""

    views: list[str]
    ending: Ending
    sinks: list[str]
    rows: list[list[dict[str, Any]]]
    """Rows of each file of `rows`, in the order in which they come."""
    others: list[dict[str, Any]]
    bad: int
    runs: list[int]
    """After how many files each run begins; behind the last all are there."""
    kills: list[bool]
    batch: int
    trigger: str


@st.composite
def examples(draw: st.DrawFn) -> Example:
    ending = draw(endings())
    files = draw(st.lists(st.lists(ROWS, max_size=6), min_size=1, max_size=5))
    runs = sorted(draw(st.lists(st.integers(1, len(files)), min_size=1, max_size=2)))
    sinks = ["delta", "parquet", "two"] if ending.mode == "append" else ["delta"]
    return Example(
        views=draw(st.lists(STEPS, max_size=3)),
        ending=ending,
        sinks={"two": ["delta", "delta"]}.get(chosen := draw(st.sampled_from(sinks)), [chosen]),
        rows=files,
        others=draw(st.lists(ROWS, max_size=3)),
        bad=draw(st.integers(0, 2)),
        runs=[*runs, len(files)],
        kills=draw(st.lists(st.booleans(), min_size=3, max_size=3)),
        batch=draw(st.integers(1, 3)),
        trigger=draw(st.sampled_from(["availableNow", "once", "all"])),
    )


def document(example: Example, folder: Path) -> dict[str, Any]:
    names = [f"v{number}" for number in range(len(example.views) + 1)]
    texts = [*example.views, example.ending.sql]
    views = [
        {"name": name, "sql": text.format(before)}
        for name, text, before in zip(names, texts, ["rows", *names], strict=False)
    ]
    query: dict[str, Any] = {
        "name": "copy",
        "from": names[-1],
        "outputMode": example.ending.mode,
        "to": [sink(example, kind, f"out{number}", folder) for number, kind in enumerate(example.sinks)],
        "state": {"partitions": 1},
    }
    if example.trigger != "all":
        query["trigger"] = {example.trigger: True}
    decode = {"json": {"schema": COLUMNS}, "onMalformedRecord": "drop"}
    watermark = {"column": "at", "delay": "1 day"}
    sources = [
        {"name": name, "files": {"path": str(folder / name), "maxFilesPerTrigger": example.batch}, "decode": decode, "watermark": watermark}
        for name in ("rows", "others")
    ]  # fmt: skip
    sources.append({"name": "names", "static": {"csv": {"path": str(folder / "names.csv"), "header": True}}})
    return {
        **pipeline_head("random"),
        "spec": {"sources": sources, "views": views, "queries": [query], "checkpoints": {"location": str(folder / "checkpoints")}},
    }  # fmt: skip


def sink(example: Example, kind: str, name: str, folder: Path) -> dict[str, Any]:
    keys = {"keys": list(example.ending.keys), "allowNullKeys": True}
    merge = {"merge": keys} if example.ending.keys else {}
    return {"name": name, kind: {"path": str(folder / name)} | merge}


def streamed(spark: SparkSession, example: Example, folder: Path) -> None:
    for name in ("rows", "others"):
        (folder / name).mkdir()
    (folder / "names.csv").write_text("k,name\n" + "".join(f"{k},{name}\n" for k, name in NAMES))
    put(folder / "others" / "0.json", example.others, 0)
    written = 0
    for run, until in enumerate(example.runs):
        for number in range(written, until):
            put(folder / "rows" / f"{number}.json", example.rows[number], example.bad)
        written = max(written, until)
        finish(spark, example, folder)
        if example.kills[run]:
            forget_last_commit(folder)
    finish(spark, example, folder)
    if example.trigger == "once" and example.kills[len(example.runs) - 1]:
        # The run before was of the one batch that was planned when the driver was killed.
        finish(spark, example, folder)


def put(file: Path, rows: list[dict[str, Any]], bad: int) -> None:
    lines = [json.dumps(row) for row in rows] + ['{"k": "a", "n": "many"}'] * bad
    file.write_text("".join(f"{line}\n" for line in lines))


def finish(spark: SparkSession, example: Example, folder: Path) -> None:
    """A run of the query, in a session of its own as after a restart, until all that is there has been read."""
    [read] = read_text(json.dumps(document(example, folder)))
    graph = read.graph
    [query] = graph.spec.queries
    session = spark.newSession()
    handle = start(session, build(session, graph, query), query)
    assert str(folder) in checkpoint(graph, query)
    try:
        if example.trigger == "all":
            handle.processAllAvailable()
        else:
            handle.awaitTermination(120)
    finally:
        handle.stop()


def forget_last_commit(folder: Path) -> None:
    """What a kill leaves that comes behind the write to the sink: the batch runs again."""
    commits = folder / "checkpoints" / "copy" / "1" / "commits"
    numbers = [int(file.name) for file in commits.iterdir() if file.name.isdigit()]
    if numbers:
        (commits / str(max(numbers))).unlink()
        (commits / f".{max(numbers)}.crc").unlink(missing_ok=True)


def computed(spark: SparkSession, example: Example) -> list[dict[str, Any]]:
    session = spark.newSession()
    rows = [row for rows in example.rows for row in rows]
    for name, given_rows in (("rows", rows), ("others", example.others)):
        texts = session.createDataFrame([(json.dumps(row),) for row in given_rows], "t STRING")
        texts.selectExpr(f"from_json(t, '{COLUMNS}') AS r").select("r.*").createOrReplaceTempView(name)
    session.createDataFrame(NAMES, "k STRING, name STRING").createOrReplaceTempView("names")
    before = "rows"
    for number, text in enumerate([*example.views, example.ending.sql]):
        session.sql(text.format(before)).createOrReplaceTempView(f"v{number}")
        before = f"v{number}"
    return shown(session.table(before))


def rows_streamed(spark: SparkSession, example: Example, folder: Path, place: int) -> list[dict[str, Any]]:
    """The rows of a sink by an independent reader; its values are shown as Spark shows them."""
    path = folder / f"out{place}"
    delta = example.sinks[place] == "delta"
    if not path.exists():
        return []
    table = DeltaTable(path).to_pyarrow_table() if delta else pyarrow.dataset.dataset(path).to_table()
    if not table.num_columns or not table.num_rows:
        return []
    # Spark 4.2.0 drops the rows of an Arrow table behind a chunk without rows, such as that of an empty file.
    return shown(spark.createDataFrame(table.combine_chunks()))


def shown(frame: DataFrame) -> list[dict[str, Any]]:
    return [json.loads(row[0]) for row in frame.select(F.to_json(F.struct("*"))).collect()]


def rounded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sums of floats depend on the order of the summands in their last digits."""
    return [
        {name: round(value, 9) if isinstance(value, float) and math.isfinite(value) else value for name, value in row.items()}
        for row in rows
    ]  # fmt: skip


def killed_twice() -> Example:
    """By `once`, whose next two runs are of the very batch that was killed."""
    rows = [made(("a", None, 0))] * 2
    return Example([], PLAIN, ["delta"], rows, [], 0, [1, 2], [True, True], 1, "once")


def empty_files() -> Example:
    """The sink has files without rows before those with rows."""
    rows = [[], [], *[made(("a", 1, 0))] * 2]
    return Example([], PLAIN, ["parquet"], rows, [], 1, [1, 4], [False, True], 1, "availableNow")


def killed_with_state() -> Example:
    """A join, windows with keys and a merge, by `once`: no batch without rows follows the one that is killed."""
    files = [made(("a", 1, 5), ("b", 2, 65), (None, None, 6)), made(("b", 3, 66), ("", 9, 170), ("a", 5, 9))]
    joined = "SELECT s.name AS k, r.n, r.at FROM {} r LEFT JOIN names s ON r.k = s.k"
    hours = "SELECT window(at, '1 hour').start AS hour, k, sum(n) AS total, count(*) AS rows FROM {} GROUP BY window(at, '1 hour'), k"
    ending = Ending(hours, "update", ("hour", "k"))
    return Example([joined], ending, ["delta"], files, [], 1, [1, 2], [True, False], 1, "once")


def made(*rows: tuple[str | None, int | None, int]) -> list[dict[str, Any]]:
    return [{"k": k, "n": n, "at": f"2026-01-01T0{m // 60}:{m % 60:02}:00Z"} for k, n, m in rows]


@pytest.mark.full(
    gate="spark/test_sql_started.py::test_each_shape_of_plan_starts_and_gives_the_rows_of_a_batch"
)
@also(killed_with_state())
@settings(phases=[Phase.explicit], suppress_health_check=list(HealthCheck), deadline=None)
@given(examples())
def test_a_stream_gives_the_rows_of_one_batch_over_all_rows(spark: SparkSession, example: Example) -> None:
    check(spark, example)


@pytest.mark.full
@pytest.mark.timeout(3600)
@also(killed_twice())
@also(empty_files())
@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
@given(examples())
def test_many_streams_give_the_rows_of_one_batch_over_all_rows(spark: SparkSession, example: Example) -> None:
    event(f"{example.ending.mode}, {example.trigger}, kills: {sum(example.kills)}")
    check(spark, example)


def check(spark: SparkSession, example: Example) -> None:
    with tempfile.TemporaryDirectory(prefix="mainstem-property-") as scratch:
        folder = Path(scratch)
        streamed(spark, example, folder)
        expected = rounded(computed(spark, example))
        for place in range(len(example.sinks)):
            different = difference(expected, rounded(rows_streamed(spark, example, folder, place)))
            assert not different, f"out{place} (- batch, + stream)\n{different}"
