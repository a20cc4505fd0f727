"""Which rows move a watermark: all of the relation that declares it, whatever a query filters above."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import sparks
from mainstem.dataframes.query import build, start
from mainstem.language.document import read_text
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S18]

FILES = {"format": "json", "schema": "k STRING, v INT, ts TIMESTAMP"}
DECODED = {"json": {"schema": FILES["schema"]}, "onMalformedRecord": "drop"}
WATERMARK = {"column": "ts", "delay": "10 minutes"}
FAR = "2026-01-05T00:00:00Z"
COUNTED = "SELECT window(ts, '1 hour') AS w, count(*) AS n FROM {} GROUP BY 1"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    spark.sparkContext.setLogLevel("ERROR")
    yield spark.newSession()
    spark.sparkContext.setLogLevel("WARN")


def lines(folder: Path, *rows: tuple[str | None, str]) -> None:
    """One file for each row."""
    folder.mkdir()
    for number, (key, time) in enumerate(rows):
        path = folder / f"{number}.json"
        path.write_text(json.dumps({"k": key, "v": 1, "ts": time}) + "\n", encoding="utf-8")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # read in this order


def watermark(
    session: SparkSession, folder: Path, source: dict[str, Any], *views: dict[str, Any] | str
) -> str:
    """The last watermark of a query over the last view; a text is the view's SQL."""
    static = {"json": {"path": str(folder / "t"), "schema": "k STRING"}}
    named = [
        {"name": f"v{place}"} | (view if isinstance(view, dict) else {"sql": view})
        for place, view in enumerate(views)
    ]
    files = source["files"] | {"path": str(folder / "a"), "maxFilesPerTrigger": 1}
    query = {"name": "q", "from": named[-1]["name"], "to": [{"name": "out", "noop": {}}]}
    spec = {
        "sources": [source | {"name": "a", "files": files}, {"name": "t", "static": static}],
        "views": named,
        "queries": [query | {"trigger": {"availableNow": True}, "state": {"partitions": 1}}],
        "checkpoints": {"location": str(folder / "checkpoints")},
    }
    [document] = read_text(json.dumps(sparks.HEAD | {"spec": spec}))
    graph = document.graph
    own = session.newSession()
    writer: Any = build(own, graph, graph.spec.queries[0])
    handle = start(own, writer, graph.spec.queries[0])
    assert handle.awaitTermination(180)
    return str(json.loads(handle.recentProgress[-1].json)["eventTime"]["watermark"])


MOVED = "2026-01-04T23:50:00.000Z"
PLAIN: dict[str, Any] = {"files": FILES, "watermark": WATERMARK}
LINES: dict[str, Any] = {"files": {}, "decode": DECODED, "watermark": WATERMARK}
ONLY_X = "SELECT ts, v FROM a WHERE k = 'x'"
OWN = {"sql": "SELECT k, ts FROM a WHERE v = 1", "watermark": WATERMARK}


@pytest.mark.full(
    gate="spark/test_watermark_rows.py::test_a_row_outside_the_relation_does_not_move_the_watermark"
)
@pytest.mark.parametrize(
    ("source", "views"),
    [
        pytest.param(PLAIN, (ONLY_X, COUNTED.format("v0")), id="a filter of a view"),
        pytest.param(LINES, (ONLY_X, COUNTED.format("v0")), id="records that are decoded"),
        pytest.param(
            PLAIN | {"watermark": None},
            (OWN, "SELECT ts FROM v0 WHERE k = 'x'", COUNTED.format("v1")),
            id="a view's own",
        ),
        pytest.param(
            PLAIN,
            ("SELECT ts FROM a JOIN t ON a.k = t.k", COUNTED.format("v0")),
            id="a join that drops what is null",
        ),
    ],
)
def test_a_row_that_a_filter_drops_moves_the_watermark(
    session: SparkSession, tmp_path: Path, source: dict[str, Any], views: tuple[dict[str, Any] | str, ...]
) -> None:
    lines(tmp_path / "a", ("x", "2026-01-01T00:00:00Z"), (None, FAR), ("x", "2026-01-01T00:01:00Z"))
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "1.json").write_text('{"k": "x"}\n', encoding="utf-8")
    source = {key: value for key, value in source.items() if value is not None}
    assert watermark(session, tmp_path, source, *views) == MOVED


def test_a_row_outside_the_relation_does_not_move_the_watermark(
    session: SparkSession, tmp_path: Path
) -> None:
    """What is ahead of the clock by more than maxFuture does not parse; what a view filters is no row of the view."""
    lines(
        tmp_path / "a",
        ("x", "2026-01-01T00:00:00Z"),
        ("y", "2099-01-01T00:00:00Z"),
        ("x", "2026-01-01T00:01:00Z"),
    )
    source = LINES | {"watermark": WATERMARK | {"maxFuture": "1 hour"}}
    assert watermark(session, tmp_path, source, ONLY_X, COUNTED.format("v0")) == "2025-12-31T23:51:00.000Z"


@pytest.mark.full(
    gate="spark/test_watermark_rows.py::test_a_row_outside_the_relation_does_not_move_the_watermark"
)
def test_a_view_read_twice_has_two_watermarks(session: SparkSession, tmp_path: Path) -> None:
    """Each occurrence has a watermark of its own, and the slowest sets the pace."""
    lines(tmp_path / "a", ("x", "2026-01-01T00:00:00Z"), ("y", FAR), ("x", "2026-01-01T00:01:00Z"))
    united = "SELECT ts FROM v0 WHERE k = 'x' UNION ALL SELECT ts FROM v0 WHERE k = 'z'"
    assert watermark(session, tmp_path, {"files": FILES}, OWN, united, COUNTED.format("v1")) == MOVED
