"""The state that Spark really keeps of joins of streams, and the rows that it drops too early."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents.join_shapes import FEW, MORE, NONE, Shape
from harness import refusals
from harness.sampling import only, sampled
from mainstem.dataframes.query import build, start
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S21]

OLD = {"a": 2, "b": 5, "c": 5}
"""Rows of the first day, of which none finds a partner; one of each of two later days follows."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    with refusals.silent(spark) as session:
        yield session


def put(folder: Path, number: int, rows: list[dict[str, Any]]) -> None:
    path = folder / f"{number}.json"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # read in this order


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("joins")
    for name, count in OLD.items():
        (folder / name).mkdir()
        for day in (1, 2, 3):
            keys = [f"{name}{number}" for number in range(count)] if day == 1 else [f"{name}-late"]
            times = {"ts": f"2026-01-0{day}T00:00:00Z", "ex": f"2026-01-0{day}T00:30:00Z"}
            put(folder / name, day, [{"k": key, **times} for key in keys])
    return folder


def run(
    session: SparkSession, shape: Shape, folder: Path, document: dict[str, Any] | None = None
) -> tuple[Any, int]:
    """The last progress of a join that runs to its end, and the number of rows that it gave."""
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    graph = Graph(StreamingPipeline.model_validate(document or shape.document(str(folder))))
    [query] = graph.spec.queries
    own = session.newSession()
    writer: Any = build(own, graph, query)
    handle = start(own, writer.format("memory"), query)
    assert handle.awaitTermination(180)
    return json.loads(handle.recentProgress[-1].json), own.table("q").count()


@pytest.mark.full(gate="unit/test_join_bounds.py::test_validate_and_explain_warn_of_the_same_sides")
@pytest.mark.parametrize(
    "shape",
    only([*FEW, *MORE], [FEW[2]]),
    ids=lambda shape: shape.sql,
)
def test_spark_keeps_the_sides_that_the_warning_names(
    session: SparkSession, days: Path, shape: Shape
) -> None:
    progress, _ = run(session, shape, days)
    [join] = progress["stateOperators"]
    right = "c" if " c " in shape.sql else "b"
    # Of a side that is kept the rows of the first day and of the second one; of each the last row.
    kept = [OLD[side] + 1 if kept else 0 for side, kept in zip(("a", right), shape.kept, strict=True)]
    assert join["numRowsTotal"] == sum(kept) + 2


@pytest.mark.full(gate="unit/test_join_bounds.py::test_a_join_bound_that_loses_rows_is_rejected")
@pytest.mark.parametrize(
    ("column", "condition", "rows"),
    sampled(
        [
            ("ts", "b.ts BETWEEN a.ts AND a.ex", 0),
            ("ex", "b.ts BETWEEN a.ts AND a.ex", 1),
            ("ts", "b.ts BETWEEN a.ts AND a.ex AND b.ts <= a.ts + INTERVAL 1 DAY", 1),
            # All partners are older than the row's event time: a right document, which is only warned of.
            ("done", "b.ts BETWEEN a.ts AND a.ex AND b.ts <= a.done", 1),
            ("done", "b.ts BETWEEN a.ex - INTERVAL 1 HOUR AND a.ex", 1),
        ],
        every=2,
    ),
)
def test_spark_drops_rows_by_their_event_time_and_not_by_the_column_of_the_condition(
    session: SparkSession, tmp_path: Path, column: str, condition: str, rows: int
) -> None:
    """What JoinRowsLost is about, and its ways out: a watermark on the column of the condition, a bound by event time."""
    for name in "abc":
        (tmp_path / name).mkdir()
    for number, hour in enumerate((0, 2, 3, 4)):
        time = f"2026-01-01T0{hour}:00:00Z"
        end = {"ex": "2026-01-01T05:00:00Z", "done": "2026-01-01T06:00:00Z"}
        offer = {"k": "x", "ts": time, **end}
        put(
            tmp_path / "a",
            number,
            [offer if hour == 0 else {"k": "y", **dict.fromkeys(("ts", "ex", "done"), time)}],
        )
        put(tmp_path / "b", number, [{"k": "x" if hour == 4 else "z", "ts": time}])
    shape = Shape(f"SELECT a.k FROM a JOIN b ON a.k = b.k AND {condition}", NONE)
    document = shape.document(str(tmp_path))
    [source] = [source for source in document["spec"]["sources"] if source["name"] == "a"]
    source["files"]["schema"] += ", done TIMESTAMP"
    document["spec"]["sources"][0]["watermark"]["column"] = column
    assert run(session, shape, tmp_path, document)[1] == rows
