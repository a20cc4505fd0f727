"""What Spark rejects of a document is reported at once, each problem at its position; queries that it does not touch run."""

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from harness.driver import DriverProcess
from harness.sampling import sampled
from harness.supervisor_loop import Stage
from mainstem.checkpoints.owner import DriverIdentity
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_text
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.checkpoint.ownership import Ownership
from mainstem.runtime.clock import Clock
from mainstem.runtime.query.analysis import Analysis
from mainstem.runtime.query.starting import Starter
from mainstem.runtime.query.supervised_query import supervised_queries
from pyspark.sql import SparkSession


pytestmark = pytest.mark.timeout(600)

DOCUMENT = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {name: refused}
spec:
  parameters: [{name: word, value: none of this}]
  sources:
    - {name: rows, files: {path: ./in, format: parquet, schema: "k STRING, n INT, at TIMESTAMP"}}
  views:
    - name: good
      sql: SELECT k, n FROM rows
VIEWS
  queries:
    - {name: good, from: good, to: [{name: out, parquet: {path: ./good}}], trigger: {availableNow: true}}
QUERIES
  checkpoints: {location: ./checkpoints}
  restart: {policy: Never}
  spark: {conf: {spark.ui.enabled: "false"}}
"""


def document(folder: Path, views: str, *read: str) -> str:
    """The document with further views, and a query of each that is named."""
    queries = "\n".join(
        f"    - {{name: {name.replace('_', '-')}, from: {name}, to: [{{name: out, noop: {{}}}}], trigger: {{availableNow: true}}}}"
        for name in read
    )
    text = DOCUMENT.replace("VIEWS\n", views).replace("QUERIES\n", f"{queries}\n" if queries else "")
    return text.replace("./", f"{folder}/")


def one_row(folder: Path) -> None:
    """A file of the source; as Parquet, because `validate` itself finds unknown columns of records that are decoded."""
    (folder / "in").mkdir()
    pyarrow.parquet.write_table(
        pyarrow.table({"k": ["a"], "n": pyarrow.array([1], pyarrow.int32())}), folder / "in" / "1.parquet"
    )


def refused(spark: SparkSession, folder: Path, views: str, *read: str) -> list[str]:
    """All that Spark refuses, as `line:column: path [reason]`."""
    (folder / "in").mkdir(exist_ok=True)
    [parsed] = read_text(document(folder, views, *read))
    graph = parsed.graph
    analysis = Analysis(graph, parsed.problem)
    analysis.queries(
        Starter(graph, Ownership(DriverIdentity("refused"), Clock()), Clock()),
        supervised_queries(spark.newSession(), graph, Clock()),
    )
    analysis.others(spark)
    return [f"{p.line}:{p.column}: {p.path} [{p.reason}]" for p in analysis.problems]


NO_COLUMN = "UNRESOLVED_COLUMN.WITH_SUGGESTION"


@pytest.mark.parametrize(
    ("view", "path", "reason"),
    sampled([
        ("    - {name: v, sql: 'SELECT k, @m FROM rows'}\n", "sql", NO_COLUMN),
        ("    - name: v\n      sql: |\n        SELECT k,\n          @m\n        FROM rows\n", "sql", NO_COLUMN),
        ("    - name: v\n      sql: >-\n        SELECT k,\n        @m FROM rows\n", "sql", NO_COLUMN),
        ("    - name: v\n      sql: SELECT k,\n        @m FROM rows\n", "sql", NO_COLUMN),
        ("    - name: v\n      sql: 'SELECT ''${word}'', \"it''s\", @m FROM rows'\n", "sql", NO_COLUMN),
        ('    - name: v\n      sql: "SELECT \\"${word}\\",\\n\\t@m\\n FROM rows"\n', "sql", NO_COLUMN),
        ("    - name: v\n      sql: SELECT a.k FROM rows a JOIN rows ON a.k = rows.k WHERE @rows.m > 1\n", "sql", NO_COLUMN),
        ("    - name: v\n      sql: SELECT rows.k FROM rows JOIN rows b ON rows.k = b.k JOIN rows c ON @b.m = c.k\n", "sql", NO_COLUMN),
        ("    - name: v\n      sql: SELECT @n + at AS x FROM rows\n", "sql", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"),
        ("    - name: v\n      sql: SELECT k k @k FROM rows\n", "sql", "PARSE_SYNTAX_ERROR"),
        ("    - name: v\n      sql: SELECT max(k) AS c, @n FROM VALUES (1, 2) AS t(k, n) GROUP BY k\n", "sql", "MISSING_AGGREGATION"),
        ("    - name: v\n      sql: SELECT k FROM rows\n      expectations:\n        - {name: a, expect: k > 'x'}\n        - {name: b, expect: k > 'x' AND @m > 1}\n", "expectations[1].expect", NO_COLUMN),
        ("    - name: v\n      sql: SELECT k FROM rows\n      watermark: @{column: at, delay: 1 minute}\n", "watermark", NO_COLUMN),
        ("    - name: v\n      deduplicate: @{from: good, columns: [m]}\n", "deduplicate", "UNRESOLVED_COLUMN_AMONG_FIELD_NAMES"),
    ], every=3),
    ids=["flow", "literal", "folded", "plain", "quoted", "escaped", "read twice", "read three times", "type", "grammar", "group", "expectation", "watermark", "step"],
)  # fmt: skip
def test_a_problem_has_the_position_of_the_name(
    spark: SparkSession, tmp_path: Path, view: str, path: str, reason: str
) -> None:
    before = document(tmp_path, view).partition("@")[0]
    place = f"{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"
    assert refused(spark, tmp_path, view.replace("@", "")) == [f"{place}: spec.views[1].{path} [{reason}]"]


BROKEN = """\
    - name: wrong
      sql: SELECT k, m FROM rows
    - name: above
      sql: SELECT k, m FROM wrong
    - name: wrong_too
      sql: SELECT n + at AS x, k FROM rows
    - name: both
      sql: SELECT w.k FROM wrong w JOIN wrong_too t ON w.k = t.k
    - name: nobody_reads
      sql: SELECT k, array(n) + 1 AS m FROM good
"""


def test_all_problems_are_reported_together_without_dependent_ones(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert refused(spark, tmp_path, BROKEN, "above", "wrong", "both") == [
        f"12:22: spec.views[1].sql [{NO_COLUMN}]",
        "16:19: spec.views[3].sql [DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES]",
        "20:22: spec.views[5].sql [DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES]",
    ]


def test_a_plan_that_cannot_stream_is_reported_before_any_query_starts(
    spark: SparkSession, tmp_path: Path
) -> None:
    view = "    - {name: v, sql: 'SELECT CAST(k AS INT) >>> 1 AS x FROM rows ORDER BY x'}\n"
    [problem] = refused(spark, tmp_path, view, "v")
    assert problem.startswith("14:7: spec.queries[1] [QueryFailed]")


def spec(folder: Path, *read: str) -> dict[str, object]:
    [parsed] = read_text(document(folder, BROKEN, *read))
    return parsed.pipeline.spec.model_dump(by_alias=True, exclude_unset=True, mode="json")


def test_the_other_queries_run(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    one_row(tmp_path)
    with stage.running(**spec(tmp_path, "above", "both")) as run:
        run.to_the_end()
        assert run.states() == {
            "good": QueryState.COMPLETED,
            "above": QueryState.FAILED,
            "both": QueryState.FAILED,
        }
        assert run["above"].reason == NO_COLUMN
        assert (run["above"].message or "").startswith(
            "spec.views[1].sql, line 1, column 11: Spark refuses it: A column, variable, or function parameter with name `m` cannot be resolved"
        )
        assert isinstance(run.supervisor.analysis.final(run.supervisor.failures), SpecInvalid)
        assert len(run.supervisor.analysis.problems) == 3


def test_where_every_query_is_rejected_none_starts(spark: SparkSession, tmp_path: Path) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    (tmp_path / "in").mkdir()
    all_wrong = spec(tmp_path, "above", "both")
    all_wrong["queries"] = [query for query in all_wrong["queries"] if query["name"] != "good"]  # type: ignore[attr-defined]
    with pytest.raises(SpecInvalid) as error, stage.running(**all_wrong):
        pass
    assert len(error.value.problems) == 3


@pytest.mark.full(
    gate="spark/test_unready.py::test_a_run_in_a_process_starts_the_ready_queries_that_it_names"
)
def test_a_run_in_a_process_starts_valid_queries_unless_strict(tmp_path: Path) -> None:
    """With `--strict` nothing runs; without, what can; the exit code is that of a refused document."""
    one_row(tmp_path)
    file = tmp_path / "refused.yaml"
    file.write_text(document(tmp_path, BROKEN, "above", "both"), encoding="utf-8")
    places = [
        f"{file}:{place}: spec.views[{view}].sql: Spark refuses it: "
        for place, view in (("12:22", 1), ("16:19", 3), ("20:22", 5))
    ]
    with DriverProcess(file, tmp_path / "strict", arguments=("--strict",)) as driver:
        assert driver.wait(180) == 3, driver.stderr[-3000:]
        assert all(place in driver.stderr for place in places), driver.stderr[-3000:]
    assert not (tmp_path / "good").exists()
    with DriverProcess(file, tmp_path / "run") as driver:
        assert driver.wait(180) == 3, driver.stderr[-3000:]
        assert all(place in driver.stderr for place in places), driver.stderr[-3000:]
    states = {query["name"]: query["state"] for query in driver.final()["queries"]}
    assert states == {"good": "Completed", "above": "Failed", "both": "Failed"}
