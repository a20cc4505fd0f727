"""`mainstem test` on a real Spark: what cases see, keep, and say when they fail."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from mainstem.testing import steps
from mainstem.testing.files import suite
from mainstem.testing.report import Outcome, lines
from pyspark.sql import SparkSession


ROOT = Path(__file__).resolve().parents[2]
PIPELINE: dict[str, Any] = {
    "apiVersion": "mainstem.dev/v1alpha1",
    "kind": "StreamingPipeline",
    "metadata": {"name": "orders"},
    "spec": {
        "connections": [{"name": "events", "kafka": {"bootstrapServers": "nowhere:9092"}}],
        "sources": [
            {
                "name": "orders",
                "kafka": {"connection": "events", "subscribe": ["orders"], "includeHeaders": True},
                "decode": {"json": {"schema": "shop STRING, at TIMESTAMP, amount DECIMAL(8,2)"}, "onBadRecord": "deadLetter", "keep": ["key", "topic", "headers"]},
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


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> "Bench":
    return Bench(spark, tmp_path)


class Bench:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def run(self, *case_steps: dict[str, Any], **tests: Any) -> Outcome:
        (self.folder / "orders.yaml").write_text(json.dumps(PIPELINE), encoding="utf-8")
        file = self.folder / "orders.test.yaml"
        case = {"name": "case", "steps": list(case_steps)}
        file.write_text(
            json.dumps(
                {"apiVersion": "mainstem.dev/v1alpha1", "kind": "PipelineTest", "cases": [case]} | tests
            ),
            encoding="utf-8",
        )
        told: list[Outcome] = []
        [outcome] = steps.run(suite(file, {}), self.spark.newSession(), told.append)
        assert told == [outcome]
        return outcome


def order(shop: str, at: str, amount: float = 1) -> dict[str, Any]:
    return {"shop": shop, "at": f"2026-01-01T{at}:00Z", "amount": amount}


def test_windows_come_out_once_the_watermark_has_passed_and_late_rows_are_counted(bench: Bench) -> None:
    outcome = bench.run(
        {"given": {"orders": [order("bern", "10:00", 2.5), order("bern", "10:30", 1)]}, "expect": {"queries": {"hourly": []}, "dropped": {"hourly": 0}}},
        {"given": {"orders": [order("bern", "11:30")]}, "expect": {"queries": {"hourly": [{"hour": "2026-01-01T10:00:00Z", "shop": "bern", "total": 3.5}]}}},
        {"given": {"orders": [order("bern", "10:10")]}, "expect": {"queries": {"hourly": []}, "dropped": {"hourly": 1}}},
    )  # fmt: skip
    assert outcome.passed, lines(outcome)


def test_a_complete_result_is_the_last_one(bench: Bench) -> None:
    outcome = bench.run(
        {"given": {"orders": [order("bern", "10:00"), order("chur", "10:00")]}, "expect": {"relations": {"all_time": [{"shop": "bern", "n": 1}, {"shop": "chur", "n": 1}]}}},
        {"given": {"orders": [order("bern", "10:00")]}, "expect": {"queries": {"totals": [{"shop": "bern", "n": 2}, {"shop": "chur", "n": 1}]}}},
    )  # fmt: skip
    assert outcome.passed, lines(outcome)


def test_records_may_be_given_with_their_columns_and_bad_ones_as_text(bench: Bench) -> None:
    headers = [{"key": "h", "value": "djE="}]
    outcome = bench.run(
        {
            "given": {"orders": [{"record": {"key": "k", "value": order("bern", "10:00"), "headers": headers}}, "{bad", {"record": {"value": None, "offset": 77}}]},
            "expect": {
                "relations": {"named": [{"town": "Bern", "key": "aw==", "topic": "orders", "headers": headers}]},
                "queries": {"dead": [{"raw": "e2JhZA==", "error": "not valid JSON", "offset": 1}, {"raw": None, "error": "the record has no value", "offset": 77}]},
            },
        },
        tables={"shops": [{"shop": "bern", "town": "Bern"}]},
    )  # fmt: skip
    assert outcome.passed, lines(outcome)


def test_nested_values_are_compared_whole(bench: Bench) -> None:
    row = {"timestamp": "2026-01-01T00:00:00Z", "value": 3}
    deep = {"a": [3], "b": {"k": "2026-01-01T01:00:00+01:00"}}
    assert bench.run(
        {"given": {"ticks": [row]}, "expect": {"relations": {"nested": [{"deep": deep}]}}}
    ).passed
    deep["a"] = [4]
    outcome = bench.run({"given": {"ticks": [row]}, "expect": {"relations": {"nested": [{"deep": deep}]}}})
    assert [failure.what for failure in outcome.failures] == [
        "the relation 'nested' differs (- expected, + found)"
    ]
    assert '- {"a": [4]' in lines(outcome)
    assert '+ {"a": [3]' in lines(outcome)


@pytest.mark.parametrize(
    ("step", "reason", "message"),
    [
        ({"given": {"raw": [{"valu": "x"}]}}, "UnknownColumn", "the source 'raw' has no column 'valu'; did you mean 'value'?"),
        ({"given": {"raw": ["x"]}, "expect": {"queries": {"raw": [{"topik": "raw"}]}}}, "UnknownColumn", "'raw' has no column 'topik'; did you mean 'topic'?"),
        ({"given": {"lines": ["luck"]}, "expect": {"relations": {"failing": []}}}, "USER_RAISED_EXCEPTION", "no luck"),
        ({"given": {}, "expect": {"relations": {"named": []}}}, "TableNotGiven", "the test gives no rows of the table 'shops'"),
    ],
)  # fmt: skip
def test_what_breaks_a_case_off_is_told_with_its_reason(
    bench: Bench, step: dict[str, Any], reason: str, message: str
) -> None:
    [failure] = bench.run(step).failures
    assert failure.reason == reason
    assert message in failure.what


def test_nothing_runs_on_after_a_case(bench: Bench) -> None:
    bench.run({"given": {"raw": ["x"]}, "expect": {"queries": {"raw": [{"topic": "other"}]}}})
    assert bench.spark.sparkContext.statusTracker().getActiveJobsIds() == []
    threads = bench.spark._jvm.java.lang.Thread.getAllStackTraces().keySet().toString()
    assert "stream execution thread" not in threads


def test_the_command_runs_the_tests_beside_a_sample_and_writes_junit(tmp_path: Path) -> None:
    report = tmp_path / "out" / "junit.xml"
    command = [sys.executable, "-m", "mainstem", "test", "k8s/samples/flights.yaml", "--junit", str(report)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].startswith("4 passed, 0 failed in ")
    assert Xml.parse(report).getroot().find("testsuite").get("tests") == "4"
