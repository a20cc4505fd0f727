"""What Python code returns and keeps has its declared type, or fails the batch by name; and times have one meaning."""

import datetime as dt
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness.documents import pipeline_head
from harness.driver import DriverProcess
from harness.pipebench import PipeBench
from harness.sampling import only, sampled
from mainstem.runtime.failures.classification import classify
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S32
CODE = Path(__file__).resolve().parents[1] / "usercode" / "typed.py"
FITS = (
    ("INT", "whole", 5),
    ("INT", "integral", 5),
    ("INT", "numpy", 5),
    ("DOUBLE", "whole", 5.0),
    ("STRING", "whole", "5"),
    ("DECIMAL(4,2)", "decimal", "1.50"),
    ("DECIMAL(4,2)", "whole", "5.00"),
    ("DATE", "day", "2026-01-01"),
    ("TIMESTAMP", "noon", "2026-01-01 12:00:00"),
    ("ARRAY<INT>", "floats", "[5, 2]"),
    ("STRUCT<a: INT, b: STRING>", "pair", "{5, 3}"),
    ("MAP<STRING, DOUBLE>", "pair", "{a -> 5.0, b -> 3.0}"),
    ("INT", "null", None),
)


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> PipeBench:
    return PipeBench(spark, tmp_path, {"names": "name STRING, at TIMESTAMP"})


def python(name: str, code: str, returns: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "python": {"function": f"typed:{code}", "returns": returns, **more}}


@pytest.mark.parametrize("code", only({"value", "series", "batches"}, {"value", "series"}))
def test_a_result_that_loses_nothing_is_converted(bench: PipeBench, code: str) -> None:
    vectorized = {} if code == "value" else {"vectorized": True}
    # Spark takes a vectorized struct only as a DataFrame.
    fits = [row for row in FITS if not (vectorized and row[0].startswith("STRUCT"))]
    code_of = [python(f"f{at}", code, kind, **vectorized) for at, (kind, _, _) in enumerate(fits)]
    columns = [f"CAST(f{at}('{name}') AS STRING) AS c{at}" for at, (_, name, _) in enumerate(fits)]
    bench.put("names", {"name": "x"})
    view = {"name": "v", "sql": f"SELECT {', '.join(columns)} FROM names"}
    [row] = bench.run(view, functions=code_of)
    assert row == tuple(None if given is None else str(given) for _, _, given in fits)


CALL = {"name": "v", "sql": "SELECT f(name) AS n FROM names"}
STATE = {"from": "names", "keys": ["name"], "schema": "n INT"}


def state(**more: Any) -> dict[str, Any]:
    return {"view": {"name": "v", "state": STATE | more}}


def keeps(kind: str) -> dict[str, Any]:
    return state(processor="typed:Keeps", arguments={"kind": kind})


MISFITS: dict[str, tuple[dict[str, Any], str, str]] = {
    "a text": ({"function": python("f", "value", "INT")}, "text", "function 'f': the result is declared as INT, but is '5' (str)"),
    "a fraction": ({"function": python("f", "value", "INT")}, "half", "INT, but is 2.5 (float): its digits do not fit"),
    "too large": ({"function": python("f", "value", "INT")}, "large", "INT, but is 1099511627776 (int): it is out of range"),
    "a scale": ({"function": python("f", "value", "DECIMAL(4,2)")}, "fine", "DECIMAL(4,2), but is Decimal('1.234') (Decimal)"),
    "a date": ({"function": python("f", "value", "TIMESTAMP")}, "day", "TIMESTAMP, but is datetime.date(2026, 1, 1) (date)"),
    "in a list": ({"function": python("f", "value", "ARRAY<INT>")}, "bad list", "function 'f': [0] is declared as INT, but is 2.5"),
    "in a struct": ({"function": python("f", "value", "STRUCT<a: INT, b: STRING>")}, "bad pair", "function 'f': a is declared as INT, but is 'x'"),
    "a series": ({"function": python("f", "series", "INT", vectorized=True)}, "half", "function 'f': the result is declared as INT, but is 2.5"),
    "batches": ({"function": python("f", "batches", "INT", vectorized=True)}, "half", "function 'f': the result is declared as INT, but is 2.5"),
    "a row": (state(processor="typed:Returns"), "half", "view 'v': n is declared as INT, but is 2.5"),
    "a name": (state(processor="typed:OtherName"), "half", "view 'v': the result is declared as STRUCT<n: INT>, but is Row(m=5) (Row): its fields are m"),
    "a frame": (state(processor="typed:ReturnsFrames", pandas=True), "half", "view 'v': n is declared as INT, but is 2.5"),
    "state": (keeps("value"), "half", "view 'v', state 'value': n is declared as INT, but is 2.5"),
    "a list in state": (keeps("list"), "half", "view 'v', state 'list': n is declared as INT, but is 2.5"),
    "a key in state": (keeps("key"), "text", "view 'v', state 'map': k is declared as INT, but is '5'"),
    "a value in state": (keeps("map"), "half", "view 'v', state 'map': n is declared as INT, but is 2.5"),
    "a function's row": (state(function="typed:returns", stateSchema="n INT"), "half", "view 'v': n is declared as INT, but is 2.5"),
    "a function's state": (state(function="typed:keeps", stateSchema="n INT"), "half", "view 'v', its state: n is declared as INT, but is 2.5"),
}  # fmt: skip
KINDS = {"a series"}


@pytest.mark.parametrize("misfit", only(MISFITS, KINDS))
def test_a_result_that_does_not_fit_fails_the_batch_by_name(bench: PipeBench, misfit: str) -> None:
    code, name, message = MISFITS[misfit]
    bench.put("names", {"name": name})
    functions = [code["function"]] if "function" in code else []
    with pytest.raises(StreamingQueryException) as raised:
        bench.run(code.get("view", CALL), functions=functions)
    failure = classify(raised.value)
    assert failure.reason == "PythonFailed"
    assert message in failure.message
    assert bench.rows() == []


@pytest.mark.full(gate="unit/test_python_results.py::test_a_value_that_does_not_fit_is_refused")
def test_an_aggregate_that_does_not_fit_fails_by_name(spark: SparkSession, bench: PipeBench) -> None:
    (bench.folder / "static.json").write_text('{"name": "half"}\n', encoding="utf-8")
    static = {"name": "fixed", "static": {"json": {"path": str(bench.folder / "static.json")}}}
    bench.put("names", {"name": "x"})
    view = {"name": "v", "sql": "SELECT n FROM names CROSS JOIN (SELECT f(name) AS n FROM fixed)"}
    functions = [python("f", "total", "INT", aggregate=True)]
    with pytest.raises(StreamingQueryException) as raised:
        bench.run(view, sources=[*bench.sources, static], functions=functions)
    assert "function 'f': the result is declared as INT, but is 2.5" in classify(raised.value).message


GAPS = {"from": "names", "keys": ["name"], "schema": "user STRING, gaps ARRAY<INT>, last TIMESTAMP"}


@pytest.mark.full(gate="spark/test_stateful.py::test_a_function_times_out_by_event_time")
@pytest.mark.parametrize(
    "code",
    sampled(
        [{"processor": "typed:Gaps"}, {"function": "typed:gaps", "stateSchema": "at TIMESTAMP"}], every=2
    ),
    ids=str,
)
def test_times_in_state_are_those_of_the_rows(bench: PipeBench, code: dict[str, str]) -> None:
    view = {"name": "v", "state": GAPS | code}
    bench.put("names", {"name": "ann", "at": "2026-01-01T00:00:00Z"})
    bench.run(view)
    bench.put("names", {"name": "ann", "at": "2026-01-01T00:01:30Z"})
    first = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    assert bench.run(view) == [("ann", [90], first), ("ann", [], None)]


def document(folder: Path) -> dict[str, Any]:
    """Times of each kind of code, in a zone that is not the machine's, three rows in two batches."""
    both = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-01-01T00:00:00Z"]
    for at, moment in enumerate(both):
        (folder / "in").mkdir(exist_ok=True)
        (folder / "in" / f"{at}.json").write_text(json.dumps({"name": "x", "at": moment}) + "\n")
    names = {
        "path": f"{folder}/in",
        "format": "json",
        "schema": "name STRING, at TIMESTAMP",
        "maxFilesPerTrigger": 2,
    }
    walls = {
        "from": "names",
        "keys": ["name"],
        "processor": "typed:Wall",
        "schema": "wall TIMESTAMP, kept TIMESTAMP",
    }
    once = {"trigger": {"availableNow": True}}
    return {
        **pipeline_head("zones"),
        "spec": {
            "timeZone": "Europe/Zurich",
            "functions": [python("same", "same", "TIMESTAMP"), python("shown", "shown", "STRING"), python("wall", "wall", "TIMESTAMP")],
            "sources": [{"name": "names", "files": names}],
            "views": [
                {"name": "called", "sql": "SELECT at, same(at) AS same, shown(at) AS shown, wall(at) AS wall FROM names"},
                {"name": "walls", "state": walls},
            ],
            "queries": [
                {"name": "called", "from": "called", "to": [{"name": "t", "delta": {"path": f"{folder}/called"}}], **once},
                {"name": "walls", "from": "walls", "to": [{"name": "t", "delta": {"path": f"{folder}/walls"}}], **once},
                {"name": "collected", "from": "names", "to": [{"name": "c", "python": {"foreachBatch": "typed:collects", "arguments": {"folder": str(folder)}}}], **once},
            ],
            "checkpoints": {"location": f"{folder}/checkpoints"},
        },
    }  # fmt: skip


@pytest.mark.full(gate="unit/test_local_time.py::test_the_local_time_is_that_of_the_zone")
def test_a_time_without_zone_is_one_of_the_document_in_all_code(tmp_path: Path) -> None:
    """A process of its own, because its local time is not that of the tests."""
    from harness.tables import records

    shutil.copy(CODE, tmp_path)
    (tmp_path / "zones.yaml").write_text(yaml.safe_dump(document(tmp_path)), encoding="utf-8")
    away = {"TZ": "America/New_York"}
    with DriverProcess(tmp_path / "zones.yaml", tmp_path / "run", env=away) as driver:
        assert driver.wait(300) == 0, driver.stderr[-3000:]
    noon = dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)
    called = sorted(records(tmp_path / "called"), key=lambda row: row["at"])
    assert [row["same"] for row in called] == [row["at"] for row in called], "also in the repeated hour"
    clocks = ["2026-01-01T01:00:00", "2026-10-25T02:30:00", "2026-10-25T02:30:00"]
    assert [row["shown"] for row in called] == clocks
    assert {row["wall"] for row in called} == {noon}
    walls = records(tmp_path / "walls")
    assert {(row["wall"], row["kept"]) for row in walls} == {(noon, noon)}
    assert len(walls) == 2, "one row for each batch"
    assert sorted((tmp_path / "collected.txt").read_text().split()) == clocks
