"""`mainstem test` on a real Spark: input, state and messages of cases."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as Xml

import pytest
from click.testing import CliRunner
from harness.documents import pipeline_head
from mainstem.cli import main
from mainstem.language.analysis.graph import Graph
from mainstem.runtime.spark import session
from mainstem.runtime.spark.environment import Environment
from mainstem.testing import steps
from mainstem.testing.files import suite
from mainstem.testing.inputs import GivenFiles
from mainstem.testing.report import CaseOutcome, lines
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType


ROOT = Path(__file__).resolve().parents[2]
PIPELINE: dict[str, Any] = {
    **pipeline_head("orders"),
    "spec": {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": "nowhere:9092"}}],
        "sources": [
            {
                "name": "orders",
                "kafka": {"connection": "events", "subscribe": ["orders"], "includeHeaders": True},
                "decode": {"json": {"schema": "shop STRING, at TIMESTAMP, amount DECIMAL(8,2)"}, "onMalformedRecord": "deadLetter", "keep": ["key", "topic", "headers"]},
                "watermark": {"column": "at", "delay": "10 minutes"},
            },
            {"name": "raw", "kafka": {"connection": "events", "subscribe": ["raw"]}},
            {"name": "lines", "files": {"path": "s3a://nowhere/lines"}},
            {"name": "ticks", "rate": {}},
            {"name": "shops", "static": {"csv": {"path": "s3a://nowhere/shops.csv", "header": True}}},
        ],
        "views": [
            {"name": "named", "sql": "SELECT o.*, s.town FROM orders o JOIN shops s USING (shop)"},
            {"name": "hours", "sql": "SELECT w.start AS hour, shop, total FROM (SELECT window(at, '1 hour') AS w, shop, sum(amount) AS total FROM orders GROUP BY 1, 2)"},
            {"name": "all_time", "sql": "SELECT shop, count(*) AS n FROM orders GROUP BY shop"},
            {"name": "nested", "sql": "SELECT named_struct('a', array(value), 'b', map('k', timestamp)) AS deep FROM ticks"},
            {"name": "failing", "sql": "SELECT raise_error('no ' || value) AS x FROM lines"},
        ],
        "queries": [
            {"name": "hourly", "from": "hours", "to": [{"name": "out", "console": {}}]},
            {"name": "totals", "from": "all_time", "outputMode": "complete", "to": [{"name": "out", "console": {}}]},
            {"name": "named", "from": "named", "to": [{"name": "out", "console": {}}]},
            {"name": "nested", "from": "nested", "to": [{"name": "out", "console": {}}]},
            {"name": "failing", "from": "failing", "to": [{"name": "out", "console": {}}]},
            {"name": "dead", "from": "orders_dead_letters", "to": [{"name": "out", "console": {}}]},
            {"name": "raw", "from": "raw", "to": [{"name": "out", "console": {}}]},
        ],
        "checkpoints": {"location": "/nowhere"},
    },
}  # fmt: skip


OF_ALL_KINDS = """
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: kinds}}
spec:
  connections:
    - name: events
      kafka: {{bootstrapServers: "nowhere:9092", security: {{sasl: {{mechanism: PLAIN, secretRef: {{name: nowhere}}}}, tls: {{}}}}}}
  functions:
    - {{name: parse_order, python: {{function: "shop:parse", returns: "STRUCT<count INT, item STRING>"}}}}
  sources:
    - name: avros
      kafka: {{connection: events, subscribe: [t]}}
      decode:
        avro:
          schema: |
            {{"type": "record", "name": "R", "fields": [
              {{"name": "k", "type": "string"}}, {{"name": "n", "type": ["null", "long"]}}]}}
          registryId: 7
        onMalformedRecord: deadLetter
    - name: csvs
      kafka: {{connection: events, subscribe: [t]}}
      decode: {{csv: {{schema: "k STRING, n BIGINT", options: {{sep: ";"}}}}}}
    - {{name: texts, kafka: {{connection: events, subscribe: [t]}}, decode: {{text: {{}}}}}}
    - {{name: files, files: {{path: "s3a://nowhere/files", format: json, schemaFile: {folder}/columns.json}}}}
    - {{name: sockets, socket: {{host: nowhere, port: 1, includeTimestamp: true}}}}
    - {{name: made, rateMicroBatch: {{rowsPerBatch: 1}}}}
    - {{name: changes, delta: {{path: "s3a://nowhere/changes"}}}}
    - name: replay
      kafka: {{connection: events, subscribe: [t], endingOffsets: latest}}
      decode: {{csv: {{schema: "k STRING, n BIGINT"}}}}
    - {{name: before, static: {{json: {{path: "s3a://nowhere/before", schema: "user STRING, n BIGINT"}}}}}}
  views:
    - name: all_kinds
      sql: |
        SELECT k, n FROM avros UNION ALL SELECT k, n FROM csvs UNION ALL SELECT k, n FROM files
        UNION ALL SELECT k, n FROM changes UNION ALL SELECT 'made', value FROM made
        UNION ALL SELECT value, 0L FROM texts UNION ALL SELECT value, 0L FROM sockets
    - {{name: once, deduplicate: {{from: csvs, columns: [k]}}}}
    - name: users
      sql: SELECT k AS user, n FROM once
      expectations: [{{name: positive, expect: n > 0, onViolation: quarantine}}]
    - name: visits
      state:
        from: users
        keys: [user]
        processor: visits:Counter
        schema: user STRING, n BIGINT
        initialState: {{from: before}}
    - {{name: parsed, sql: "SELECT parse_order(k) AS o, n FROM replay"}}
    - {{name: total, python: {{function: "cases:total", inputs: [parsed], arguments: {{named: sum}}}}}}
  queries:
    - {{name: all, from: all_kinds, to: [{{name: out, console: {{}}}}]}}
    - {{name: dead, from: avros_dead_letters, to: [{{name: out, console: {{}}}}]}}
    - {{name: visits, from: visits, outputMode: update, to: [{{name: out, console: {{}}}}]}}
    - {{name: aside, from: users_quarantine, to: [{{name: out, console: {{}}}}]}}
    - {{name: total, from: total, to: [{{name: out, console: {{}}}}]}}
  checkpoints: {{location: /nowhere}}
"""
"""Every kind of source that has a form of its own, and every kind of view."""


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> "Bench":
    return Bench(spark, tmp_path)


@pytest.fixture
def kinds(bench: "Bench") -> "Bench":
    columns = StructType.fromDDL("k STRING, n BIGINT").json()
    (bench.folder / "columns.json").write_text(columns, encoding="utf-8")
    bench.pipeline = OF_ALL_KINDS.format(folder=bench.folder)
    return bench


class Bench:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.pipeline = json.dumps(PIPELINE)

    def run(self, *case_steps: dict[str, Any], **tests: Any) -> CaseOutcome:
        (self.folder / "orders.yaml").write_text(self.pipeline, encoding="utf-8")
        file = self.folder / "orders.test.yaml"
        case = {"name": "case", "steps": list(case_steps)}
        file.write_text(
            json.dumps(
                {"apiVersion": "mainstem.dev/v1alpha1", "kind": "PipelineTest", "cases": [case]} | tests
            ),
            encoding="utf-8",
        )
        outcomes: list[CaseOutcome] = []
        [outcome] = steps.run(suite(file, {}), self.spark.newSession(), outcomes.append)
        assert outcomes == [outcome]
        return outcome


def order(shop: str, at: str, amount: float = 1) -> dict[str, Any]:
    return {"shop": shop, "at": f"2026-01-01T{at}:00Z", "amount": amount}


def test_windows_are_emitted_behind_the_watermark_and_late_rows_are_counted(bench: Bench) -> None:
    outcome = bench.run(
        {"given": {"orders": [order("bern", "10:00", 2.5), order("bern", "10:30", 1)]}, "expect": {"queries": {"hourly": []}, "dropped": {"hourly": 0}}},
        {"given": {"orders": [order("bern", "11:30")]}, "expect": {"queries": {"hourly": [{"hour": "2026-01-01T10:00:00Z", "shop": "bern", "total": 3.5}]}}},
        {"given": {"orders": [order("bern", "10:10")]}, "expect": {"queries": {"hourly": []}, "dropped": {"hourly": 1}}},
    )  # fmt: skip
    assert outcome.passed, lines(outcome)


def test_a_case_compares_the_last_complete_result(bench: Bench) -> None:
    outcome = bench.run(
        {"given": {"orders": [order("bern", "10:00"), order("chur", "10:00")]}, "expect": {"relations": {"all_time": [{"shop": "bern", "n": 1}, {"shop": "chur", "n": 1}]}}},
        {"given": {"orders": [order("bern", "10:00")]}, "expect": {"queries": {"totals": [{"shop": "bern", "n": 2}, {"shop": "chur", "n": 1}]}}},
    )  # fmt: skip
    assert outcome.passed, lines(outcome)


def test_a_case_gives_records_with_columns_and_malformed_records_as_text(bench: Bench) -> None:
    headers = [{"key": "h", "value": "djE="}]
    outcome = bench.run(
        {
            "given": {"orders": [{"record": {"key": "k", "value": order("bern", "10:00"), "headers": headers}}, "{bad", {"record": {"value": None, "offset": 77}}]},
            "expect": {
                "relations": {"named": [{"town": "Bern", "key": "aw==", "topic": "orders", "headers": headers}]},
                "queries": {"dead": [{"raw": "e2JhZA==", "error": "not valid JSON: '{bad'", "offset": 1}, {"raw": None, "error": "the record has no value", "offset": 77}]},
            },
        },
        tables={"shops": [{"shop": "bern", "town": "Bern"}]},
    )  # fmt: skip
    assert outcome.passed, lines(outcome)


def test_nested_values_are_compared_as_a_whole(bench: Bench) -> None:
    row = {"timestamp": "2026-01-01T00:00:00Z", "value": 3}
    deep = {"a": [3], "b": {"k": "2026-01-01T01:00:00+01:00"}}
    assert bench.run(
        {"given": {"ticks": [row]}, "expect": {"relations": {"nested": [{"deep": deep}]}}}
    ).passed
    deep["a"] = [4]
    outcome = bench.run({"given": {"ticks": [row]}, "expect": {"relations": {"nested": [{"deep": deep}]}}})
    assert [failure.subject for failure in outcome.failures] == [
        "the relation 'nested' differs (- expected, + found)"
    ]
    assert '- {"a": [4]' in lines(outcome)
    assert '+ {"a": [3]' in lines(outcome)


def test_a_case_feeds_sources_of_all_kinds(kinds: Bench) -> None:
    outcome = kinds.run(
        {
            "given": {
                "avros": [{"k": "avro", "n": 1}, {"k": "none"}, "no avro"],
                "csvs": [{"k": 'a "quoted"; field', "n": 2}, "plain;3"],
                "texts": [{"value": "text"}, "bare"],
                "files": [{"k": "file", "n": 4}],
                "sockets": ["line"],
                "made": [{"value": 5}],
                "changes": [{"k": "change", "n": 6}],
            },
            "expect": {
                "relations": {
                    "all_kinds": [
                        {"k": k, "n": n}
                        for k, n in (
                            ("avro", 1), ("none", None), ('a "quoted"; field', 2), ("plain", 3), ("text", 0),
                            ("bare", 0), ("file", 4), ("line", 0), ("made", 5), ("change", 6),
                        )
                    ],
                    "avros_dead_letters": [{"error": "the record has no Confluent header with the schema id 7: 6E6F206176726F", "offset": 2}],
                }
            },
        },
        schemas={"changes": "k STRING, n BIGINT"},
    )  # fmt: skip
    assert outcome.passed, lines(outcome)


def test_a_query_may_read_the_rows_of_a_source_before_those_of_the_next_are_written(
    kinds: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles, start, put = [], steps._start, GivenFiles.put

    def started(*arguments: Any) -> Any:
        watched = start(*arguments)
        handles.append(watched.handle)
        return watched

    def put_and_read(*arguments: Any) -> None:
        put(*arguments)
        for handle in handles:
            handle.processAllAvailable()

    monkeypatch.setattr(steps, "_start", started)
    monkeypatch.setattr(GivenFiles, "put", put_and_read)
    given = {"csvs": ["plain;3"], "texts": ["bare"]}
    outcome = kinds.run({"given": given, "expect": {"relations": {"csvs": [{"k": "plain", "n": 3}]}}})
    assert len(handles) == 1
    assert outcome.passed, lines(outcome)


@pytest.mark.full(
    gate="spark/test_cases.py::test_windows_are_emitted_behind_the_watermark_and_late_rows_are_counted"
)
def test_steps_keep_their_state_and_quarantine_rows(kinds: Bench) -> None:
    outcome = kinds.run(
        {
            "given": {"csvs": [{"k": "ann", "n": 1}, {"k": "ann", "n": 2}, {"k": "bob", "n": 0}]},
            "expect": {
                "queries": {"visits": [{"user": "ann", "n": 11}]},
                "relations": {"users_quarantine": [{"user": "bob", "violated": ["positive"]}]},
            },
        },
        {
            "given": {"csvs": [{"k": "ann", "n": 3}, {"k": "eve", "n": 1}]},
            "expect": {
                "queries": {"visits": [{"user": "eve", "n": 1}]},
                "relations": {"users_quarantine": []},
            },
        },
        tables={"before": [{"user": "ann", "n": 10}]},
    )
    assert outcome.passed, lines(outcome)


@pytest.mark.full(gate="spark/test_cases.py::test_a_case_feeds_sources_of_all_kinds")
def test_bounded_relations_run_in_the_first_step(kinds: Bench) -> None:
    replay = {"tables": {"replay": [{"k": "2:figs", "n": 20}, "3:dates,30"]}}
    expect = {"relations": {"parsed": [{"o": {"count": 2, "item": "figs"}}, {"o": {"count": 3, "item": "dates"}}]}}  # fmt: skip
    outcome = kinds.run(
        {"expect": expect | {"queries": {"total": [{"sum": 50}]}, "dropped": {"total": 0}}},
        {"expect": {"queries": {"total": []}}},
        **replay,
    )
    assert outcome.passed, lines(outcome)
    [failure] = kinds.run({"expect": expect}).failures
    assert (failure.reason, failure.subject) == (
        "TableNotGiven",
        "the test gives no rows of the table 'replay'",
    )


@pytest.mark.parametrize(
    ("step", "reason", "message"),
    [
        ({"given": {"raw": [{"record": {"valu": "x"}}]}}, "UnknownColumn", "the source 'raw' has no column 'valu'; did you mean 'value'?"),
        ({"given": {"raw": ["x"]}, "expect": {"queries": {"raw": [{"topik": "raw"}]}}}, "UnknownColumn", "'raw' has no column 'topik'; did you mean 'topic'?"),
        ({"given": {"lines": ["luck"]}, "expect": {"relations": {"failing": []}}}, "USER_RAISED_EXCEPTION", "no luck"),
        ({"given": {}, "expect": {"relations": {"named": []}}}, "TableNotGiven", "the test gives no rows of the table 'shops'"),
    ],
)  # fmt: skip
def test_an_aborted_case_is_reported_with_its_reason(
    bench: Bench, step: dict[str, Any], reason: str, message: str
) -> None:
    [failure] = bench.run(step).failures
    assert failure.reason == reason
    assert message in failure.subject


def test_no_query_runs_after_a_case(bench: Bench) -> None:
    bench.run({"given": {"raw": ["x"]}, "expect": {"queries": {"raw": [{"topic": "other"}]}}})
    assert bench.spark.sparkContext.statusTracker().getActiveJobsIds() == []
    threads = bench.spark._jvm.java.lang.Thread.getAllStackTraces().keySet().toString()
    assert "stream execution thread" not in threads


class Asked(NamedTuple):
    """A session that the command asks for, and the module search path at that time."""

    graph: Graph
    environment: Environment
    path: list[str]


@pytest.fixture
def asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """The sessions that the command asks for; each is one of the tier's JVM."""
    sessions: list[Asked] = []

    @contextmanager
    def opened(graph: Graph, environment: Environment, **_: object) -> Iterator[SparkSession]:
        sessions.append(Asked(graph, environment, list(sys.path)))
        yield spark.newSession()

    monkeypatch.setattr(session, "open_session", opened)
    return sessions


def test_the_test_command_runs_the_tests_beside_a_sample_and_writes_junit(
    asked: list[Asked], tmp_path: Path
) -> None:
    """It asks for a session without connections."""
    report = tmp_path / "out" / "junit.xml"
    sample = ROOT / "k8s" / "samples" / "recipes" / "busy-shops.yaml"
    done = CliRunner().invoke(main, ["test", str(sample), "--junit", str(report)])
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1].startswith("1 passed, 0 failed in ")
    assert Xml.parse(report).getroot().find("testsuite").get("tests") == "1"
    [(graph, environment, _)] = asked
    assert (graph.spec.connections, graph.spec.checkpoints.location) == ((), "checkpoints")
    assert environment.code == sample.parent


SHOUTED = """\
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: shouted}}
spec:
  timeZone: {zone}
  sources: [{{name: words, files: {{path: ./in, format: json, schema: "word STRING"}}}}]
  functions: [{{name: loud, python: {{function: "shouting:loud", returns: STRING}}}}]
  views: [{{name: shouts, sql: SELECT {sql} AS word FROM words}}]
  queries: [{{name: q, from: shouts, to: [{{name: out, noop: {{}}}}]}}]
  checkpoints: {{location: ./checkpoints}}
"""
SHOUTED_CASE = """\
apiVersion: mainstem.dev/v1alpha1
kind: PipelineTest
cases:
  - name: shouts
    steps: [{given: {words: [{word: a}]}, expect: {queries: {q: [{word: A%s}]}}}]
"""


def shouting(folder: Path, sound: str, *documents: tuple[str, str], sql: str = "loud(word)") -> list[str]:
    """Documents, by name and time zone, with their tests and a module that each folder has."""
    folder.mkdir()
    (folder / "shouting.py").write_text(f"def loud(word: str) -> str:\n    return word.upper() + {sound!r}\n")
    for name, zone in documents:
        (folder / f"{name}.yaml").write_text(SHOUTED.format(zone=zone, sql=sql))
        (folder / f"{name}.test.yaml").write_text(SHOUTED_CASE % sound)
    return [str(folder / f"{name}.yaml") for name, _ in documents]


@pytest.mark.full(
    gate="spark/test_cases.py::test_the_test_command_runs_the_tests_beside_a_sample_and_writes_junit"
)
def test_files_share_a_session_if_their_folder_and_settings_are_equal(
    asked: list[Asked], tmp_path: Path
) -> None:
    before = os.environ.copy(), list(sys.path)
    sql = "upper(word) || '!'"  # the workers of the tier's session have no module of these folders
    zones = ("first", "UTC"), ("second", "UTC"), ("third", "Asia/Tokyo")
    same = shouting(tmp_path / "one", "!", *zones, sql=sql)
    other = shouting(tmp_path / "two", "!", ("first", "UTC"), sql=sql)
    done = CliRunner().invoke(main, ["test", *same, *other])
    assert done.exit_code == 0, done.output
    folders = [each.environment.code for each in asked]
    assert folders == [tmp_path / "one", tmp_path / "one", tmp_path / "two"]
    assert [each.graph.spec.time_zone for each in asked] == ["UTC", "Asia/Tokyo", "UTC"]
    assert [str(folder) in each.path for folder, each in zip(folders, asked, strict=True)] == [True] * 3
    assert (os.environ.copy(), list(sys.path)) == before


@pytest.mark.full(
    gate="spark/test_cases.py::test_the_test_command_runs_the_tests_beside_a_sample_and_writes_junit"
)
def test_the_test_command_starts_a_jvm_for_each_folder_in_a_process_of_its_own(tmp_path: Path) -> None:
    files = shouting(tmp_path / "one", "!", ("first", "UTC"), ("second", "UTC"))
    files += shouting(tmp_path / "two", "?", ("first", "Asia/Tokyo"))
    command = [sys.executable, "-m", "mainstem", "test", *files]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith("3 passed, 0 failed in ")


@pytest.mark.full(
    gate="spark/test_cases.py::test_the_test_command_runs_the_tests_beside_a_sample_and_writes_junit"
)
def test_the_test_command_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    report = tmp_path / "out" / "junit.xml"
    command = [sys.executable, "-m", "mainstem", "test", "k8s/samples/flights.yaml", "--junit", str(report)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith("4 passed, 0 failed in ")
    assert Xml.parse(report).getroot().find("testsuite").get("tests") == "4"
