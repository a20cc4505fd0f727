"""A query with a missing part is rejected with its reason; the other queries run."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.driver import DriverProcess
from harness.java import SHORT_LIVED
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.errors import MainstemError, NotReady
from mainstem.language.model.status.states import QueryState
from mainstem.reasons import Exit
from mainstem.runtime import dry_start
from mainstem.runtime.clock import Clock
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S35, pytest.mark.timeout(600)]

NOWHERE = {"name": "out", "noop": {}}
BOUNDED = {"availableNow": True}
SECRET = {"name": "nowhere", "key": "password"}
DECODE = {"json": {"schema": "id INT"}}


def python(function: str) -> list[dict[str, Any]]:
    return [{"name": "parse", "python": {"function": function, "returns": "STRING"}}]


def called(function: str) -> dict[str, Any]:
    return {"functions": python(function), "view": {"sql": "SELECT parse(value) AS v FROM lines"}}


def source(**kind: Any) -> dict[str, Any]:
    return {"source": kind, "from": "other"}


def side(**kind: Any) -> dict[str, Any]:
    sql = "SELECT l.value FROM lines l CROSS JOIN other"
    return {"source": {"static": kind}, "view": {"sql": sql}}


def sink(**kind: Any) -> dict[str, Any]:
    return {"sink": {"name": "out", **kind}}


JDBC = {
    "name": "shop",
    "jdbc": {"url": "jdbc:postgresql://127.0.0.1:1/shop", "secretRef": {"name": "nowhere"}},
}
CODED = {"from": "lines", "schema": "v STRING", "keys": ["value"], "stateSchema": "n INT"}
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "a function's module": (called("nowhere:f"), "ModuleNotFound"),
    "what a function's module imports": (called("needy:parse"), "ModuleNotFound"),
    "a function's module fails": (called("failing:parse"), "ModuleFailed"),
    "a function": (called("shop:nowhere"), "FunctionNotFound"),
    "a function that is none": (called("shop:NOT_CALLABLE"), "FunctionNotFound"),
    "a function that is wrapped": (called("shop:wrapped"), "FunctionNotUsable"),
    "a function that a view's code may call": (
        {"functions": python("nowhere:f"), "view": {"python": {"function": "shop:cleaned", "inputs": ["lines"]}}},
        "ModuleNotFound",
    ),
    "a Java class": (
        {"functions": [{"name": "parse", "java": {"class": "org.example.Nowhere"}}], "view": called("")["view"]},
        "FunctionNotUsable",
    ),
    "a jar": (
        {"functions": [{"name": "parse", "java": {"class": "org.example.X", "jar": "/nowhere.jar"}}], "view": called("")["view"]},
        "PathNotFound",
    ),
    "a view's module": ({"view": {"python": {"function": "nowhere:f", "inputs": ["lines"]}}}, "ModuleNotFound"),
    "a view's code fails": ({"view": {"python": {"function": "raising:frame", "inputs": ["lines"]}}}, "PythonFailed"),
    "a processor": ({"view": {"state": {"from": "lines", "keys": ["value"], "schema": "v STRING", "processor": "shop:Nowhere"}}}, "FunctionNotFound"),
    "a sink's module": (sink(python={"foreach": "nowhere:f"}), "ModuleNotFound"),
    "a sink's function": (sink(python={"foreachBatch": "sinks:nowhere"}), "FunctionNotFound"),
    "a connector's module": (source(spark={"python": "nowhere:Source", "schema": "v STRING"}), "ModuleNotFound"),
    "a connector that is none": (source(spark={"python": "shop:wrapped", "schema": "v STRING"}), "FunctionNotUsable"),
    "a sink's connector": (sink(spark={"python": "nowhere:Sink"}), "ModuleNotFound"),
    "a schema's file": (
        source(files={"path": "IN", "format": "text"}) | {"decode": {"json": {"schemaFile": "/nowhere.ddl"}}},
        "SchemaFileNotReadable",
    ),
    "a schema's file that holds none": (
        source(files={"path": "IN", "format": "text"}) | {"decode": {"json": {"schemaFile": "IN/1.txt"}}},
        "SchemaFileInvalid",
    ),
    "a folder": (source(files={"path": "/nowhere"}), "PathNotFound"),
    "a table of files": (side(csv={"path": "/nowhere.csv"}), "PathNotFound"),
    "a Delta table": (side(delta={"path": "/nowhere"}), "PathNotFound"),
    "a table by name": (side(table={"name": "nowhere"}), "TableNotFound"),
    "a database's secret": ({"connections": [JDBC], **sink(jdbc={"connection": "shop", "table": "t"})}, "SecretNotFound"),
    "a broker's secret": (
        {
            "connections": [{"name": "k", "kafka": {"bootstrapServers": "127.0.0.1:1", "security": {"sasl": {"mechanism": "PLAIN", "secretRef": {"name": "nowhere"}}}}}],
            **sink(kafka={"connection": "k", "topic": "t"}),
        },
        "SecretNotFound",
    ),
    "a connector's secret": (
        {
            "connections": [{"name": "c", "spark": {"secretOptions": {"password": SECRET}}}],
            **source(spark={"format": "nowhere", "connection": "c", "schema": "v STRING"}),
        },
        "SecretNotFound",
    ),
    "a catalog's secret": (
        {
            "connections": [{"name": "cat", "catalog": {"class": "org.example.C", "secretOptions": {"token": SECRET}}}],
            "view": {"sql": "SELECT l.value FROM lines l CROSS JOIN cat.a.b"},
        },
        "SecretNotFound",
    ),
    "a connector's package": (source(spark={"format": "nowhere", "schema": "v STRING"}), "ConnectorNotFound"),
    "the right to write": (sink(parquet={"path": "IN/1.txt/out"}), "PathNotWritable"),
    "a folder with data of others": (sink(parquet={"path": "TAKEN"}), "SinkFolderTaken"),
}  # fmt: skip


def spec(folder: Path, kind: dict[str, Any]) -> dict[str, Any]:
    """A query that lacks something, and two that lack nothing."""
    (folder / "in").mkdir()
    (folder / "in" / "1.txt").write_text("no schema: {\n", encoding="utf-8")
    (folder / "taken").mkdir()
    (folder / "taken" / "1.parquet").write_text("x")
    more = [{"name": "other", **kind["source"]}] if "source" in kind else []
    if "decode" in kind:
        more[0]["decode"] = kind["decode"]
    views = [{"name": "seen", **kind["view"]}] if "view" in kind else []
    read = "seen" if views else kind.get("from", "lines")
    pipeline_spec = {
        "connections": kind.get("connections", []),
        "functions": kind.get("functions", []),
        "sources": [{"name": "lines", "files": {"path": f"{folder}/in"}}, *more],
        "views": views,
        "queries": [
            {"name": "first", "from": "lines", "to": [NOWHERE], "trigger": BOUNDED},
            {"name": "lacking", "from": read, "to": [kind.get("sink", NOWHERE)], "trigger": BOUNDED},
            {"name": "last", "from": "lines", "to": [NOWHERE], "trigger": BOUNDED},
        ],
    }
    text = json.dumps(pipeline_spec).replace('"IN', f'"{folder}/in').replace('"TAKEN', f'"{folder}/taken')
    return dict(json.loads(text))


IN_THE_GATE = (
    "a function's module",
    "a folder",
    "a table by name",
    "a database's secret",
    "the right to write",
)
"""One of each kind: code, path, catalog, secret and sink."""


@pytest.mark.parametrize(
    ("kind", "reason"), only(KINDS.values(), [KINDS[name] for name in IN_THE_GATE]), ids=KINDS
)
def test_the_other_queries_run(
    spark: SparkSession, tmp_path: Path, kind: dict[str, Any], reason: str
) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    pipeline_spec = spec(tmp_path, kind)
    document = stage.document(**pipeline_spec)
    with pytest.raises(MainstemError) as refused:
        dry_start.run(document, lambda *_: nullcontext(stage.spark), DriverIdentity("staged"), Clock())
    assert refused.value.reason == reason, refused.value
    with stage.running(**pipeline_spec) as run:
        run.to_the_end()
        assert run.states() == {
            "first": QueryState.COMPLETED,
            "lacking": QueryState.FAILED,
            "last": QueryState.COMPLETED,
        }
        assert run["lacking"].reason == reason, run["lacking"]
        error = run.supervisor.analysis.final(run.supervisor.failures)
        assert error is not None
        assert error.exit_code == Exit.NOT_READY


def test_a_function_that_no_query_calls_is_not_required(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    pipeline_spec = spec(tmp_path, {"functions": python("nowhere:f")})
    with stage.running(**pipeline_spec) as run:
        run.to_the_end()
        assert set(run.states().values()) == {QueryState.COMPLETED}


def test_where_no_query_is_ready_the_run_reports_each_reason(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    pipeline_spec = spec(tmp_path, source(files={"path": "/nowhere"}))
    pipeline_spec["queries"] = [pipeline_spec["queries"][1]]
    pipeline_spec["sources"].append({"name": "gone", "files": {"path": "/gone"}})
    pipeline_spec["queries"].append({**pipeline_spec["queries"][0], "name": "second", "from": "gone"})
    with pytest.raises(NotReady) as error, stage.running(**pipeline_spec):
        pass
    assert error.value.reason == "PathNotFound"
    assert "nothing exists at /nowhere" in error.value.message
    assert "'second': source 'gone': nothing exists at /gone" in error.value.message


@pytest.fixture
def partly_ready(tmp_path: Path) -> tuple[Path, list[str]]:
    """The file of a document with queries that are not ready, and the arguments that name all of them but one."""
    head = pipeline_head("some")
    pipeline_spec = spec(tmp_path, called("nowhere:f"))
    pipeline_spec["sources"].append({"name": "gone", "files": {"path": f"{tmp_path}/gone"}})
    first, lacking, last = pipeline_spec["queries"]
    last = {**last, "suspend": True}  # its name on the command line outweighs that
    absent, unnamed = {**first, "name": "absent", "from": "gone"}, {**first, "name": "unnamed"}
    pipeline_spec["queries"] = [first, lacking, last, absent, unnamed]
    pipeline_spec["checkpoints"] = {"location": f"{tmp_path}/checkpoints"}
    file = tmp_path / "some.yaml"
    file.write_text(json.dumps(head | {"spec": pipeline_spec}))
    return file, [f"--query={query['name']}" for query in (first, lacking, last, absent)]


@pytest.mark.full(
    gate="spark/test_unready.py::test_a_run_in_a_process_starts_the_ready_queries_that_it_names"
)
def test_a_strict_run_in_a_process_starts_nothing(
    partly_ready: tuple[Path, list[str]], tmp_path: Path
) -> None:
    file, _ = partly_ready
    with DriverProcess(file, tmp_path / "strict", arguments=("--strict",), env=SHORT_LIVED) as driver:
        assert driver.wait(300) == 5, driver.stderr[-3000:]
        assert "no module 'nowhere'" in driver.stderr
    assert not (tmp_path / "checkpoints").exists()


def test_a_run_in_a_process_starts_the_ready_queries_that_it_names(
    partly_ready: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """The exit code is NOT_READY."""
    file, named = partly_ready
    with DriverProcess(file, tmp_path / "run", arguments=(*named,), env=SHORT_LIVED) as driver:
        assert driver.wait(300) == 5, driver.stderr[-3000:]
        assert "query 'lacking' is not ready: function 'parse': no module 'nowhere'" in driver.stderr
        assert "'absent': source 'gone': nothing exists at" in driver.stderr
    queries = {query["name"]: query for query in driver.final()["queries"]}
    states = {name: query["state"] for name, query in queries.items()}
    assert states == {
        "first": "Completed",
        "lacking": "Failed",
        "last": "Completed",
        "absent": "Failed",
        "unnamed": "Suspended",
    }
    assert queries["lacking"]["reason"] == "ModuleNotFound"
    assert "install it" in queries["lacking"]["message"]
