"""The checks of SQL without Spark, compared with Spark itself on the same text over real streams."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from documents.column_texts import TAKEN, WRONG, wrong_names
from documents.sql_texts import (
    AGGREGATES,
    AIRPORTS,
    COLUMNS,
    FORBIDDEN,
    JOINS,
    LONG,
    PIPES,
    QUERIES,
    REFUSED,
    SHAPES,
    STATEMENTS,
)
from harness.documents import pipeline_head
from harness.refusals import silent
from harness.sampling import only
from harness.waiting import within
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.rules.registry import check
from mainstem.language.sql import logical_plan, planner
from mainstem.language.sql.builtins import AGGREGATES as AGGREGATES_OF_SPARK
from mainstem.language.sql.facts import read
from mainstem.language.sql.text import unended
from mainstem.language.yaml.yamltext import YamlText
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
RELATIONS = ("departures", "airports")
MODES = ("append", "update", "complete")


@dataclass(frozen=True)
class Verdict:
    """The verdict of Spark on a text.

    Attributes:
        parsed: its tree as a query, or None.
        analysed: its analysed plan, or None.
        modes: output modes in which it can run as a stream.
    """

    parsed: str | None
    analysed: str | None
    modes: tuple[str, ...]


class Judge:
    """Spark's parser, analyser and checker of streams, over a stream `departures` and a table `airports`."""

    def __init__(self, spark: SparkSession, *, watermark: bool) -> None:
        self.session = spark.newSession()
        self.watermark = watermark
        self._judged: dict[str, Verdict] = {}
        jvm: Any = self.session._jvm
        self._checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
        modes = jvm.org.apache.spark.sql.streaming.OutputMode
        self._modes = {"append": modes.Append(), "update": modes.Update(), "complete": modes.Complete()}
        self.session.conf.set(
            "spark.sql.streaming.queryEvolution.enableSourceEvolution", "false"
        )  # no names here
        columns = [
            f"CAST({'timestamp' if kind == 'TIMESTAMP' else 'NULL'} AS {kind}) AS {name}"
            for name, kind in COLUMNS.items()
        ]
        stream = self.session.readStream.format("rate").load().selectExpr(*columns)
        if watermark:
            stream = stream.withWatermark("time_hour", "1 hour")
        stream.createOrReplaceTempView("departures")
        self.session.createDataFrame([], AIRPORTS).createOrReplaceTempView("airports")

    def _state(self) -> Any:
        return self.session._jsparkSession.sessionState()

    def is_statement(self, sql: str) -> bool:
        """True where Spark knows the text, but not as a query."""
        try:
            self._state().sqlParser().parsePlan(sql)
        except (PySparkException, Py4JJavaError):
            return False
        return self.judge(sql).parsed is None

    def judge(self, sql: str) -> Verdict:
        if sql not in self._judged:
            self._judged[sql] = self._judge(sql)
        return self._judged[sql]

    def _judge(self, sql: str) -> Verdict:
        try:
            parsed = self._state().sqlParser().parseQuery(unended(sql)).toString()
        except (PySparkException, Py4JJavaError):
            return Verdict(None, None, ())
        try:
            plan = self.session.sql(sql)._jdf.queryExecution().analyzed()
        except (PySparkException, Py4JJavaError):
            return Verdict(parsed, None, ())
        modes = tuple(mode for mode in MODES if plan.isStreaming() and self._runs(plan, mode))
        return Verdict(parsed, plan.toString(), modes)

    def comes_through(self, sql: str, mode: str) -> bool:
        """Whether a query of the text really comes through a batch."""
        if re.search(r"(?i)except all", sql):  # runs, and takes rows away anew: test_refusals has it
            return False
        writer = self.session.sql(sql).writeStream.format("noop").outputMode(mode)
        with tempfile.TemporaryDirectory() as checkpoint:
            handle = writer.option("checkpointLocation", checkpoint).start()
            try:
                within(60, "a batch or the end", lambda: handle.lastProgress or not handle.isActive)
                return handle.exception() is None
            finally:
                handle.stop()

    def _runs(self, plan: Any, mode: str) -> bool:
        try:
            self._checker.checkForStreaming(plan, self._modes[mode])
        except (PySparkException, Py4JJavaError):
            return False
        return True


@pytest.fixture(scope="module")
def judges(spark: SparkSession) -> Iterator[dict[bool, Judge]]:
    """The judges of a stream with and without a watermark."""
    with silent(spark):
        yield {watermark: Judge(spark, watermark=watermark) for watermark in (False, True)}


@pytest.fixture(scope="module")
def judge(judges: dict[bool, Judge]) -> Judge:
    return judges[False]


def pipeline(sql: str, mode: str, *, watermark: bool) -> tuple[StreamingPipeline, dict[str, Any]]:
    departures: dict[str, Any] = {
        "name": "departures",
        "files": {"path": "/d", "format": "json", "schema": SCHEMA},
    }
    if watermark:
        departures["watermark"] = {"column": "time_hour", "delay": "1 hour"}
    data = {
        **pipeline_head("test"),
        "spec": {
            "sources": [departures, {"name": "airports", "static": {"parquet": {"path": "/a"}}}],
            "views": [{"name": "v", "sql": sql}],
            "queries": [
                {"name": "q", "from": "v", "outputMode": mode, "to": [{"name": "out", "console": {}}]}
            ],
            "checkpoints": {"location": "/c"},
        },
    }
    return StreamingPipeline.model_validate(data), data


def refusals(sql: str, mode: str, *, watermark: bool) -> list[str]:
    document, data = pipeline(sql, mode, watermark=watermark)
    return [f"{p.message} [{p.reason}]" for p in check(Graph(document), YamlText(data), {}) if not p.warning]


def counted(sql: str, verdict: Verdict) -> dict[str, int]:
    """How often each relation is read: by the tree, or by the plan where a CTE takes a relation's name."""
    shadowed = any(
        re.search(rf"(?i)(?:with|,)\s+`?{name}`?\s*(?:\([^)]*\)\s*)?(?:as\s*)?\(", sql) for name in RELATIONS
    )
    if shadowed and verdict.analysed is not None:
        return {name: verdict.analysed.count(f"View (`{name}`") for name in RELATIONS}
    relations = re.findall(r"'UnresolvedRelation \[(\w+)\]", verdict.parsed or "")
    return {name: sum(hit.lower() == name for hit in relations) for name in RELATIONS}


@pytest.mark.parametrize("every", only([10, 1], {10}), ids=lambda every: f"each of {every}")
@pytest.mark.parametrize("watermark", only([False, True], (True,)), ids=["plain", "watermarked"])
def test_nothing_is_rejected_that_spark_runs(
    judges: dict[bool, Judge], watermark: bool, every: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """No false refusal, and the same references, for every text and output mode."""
    judge = judges[watermark]
    texts = (JOINS + AGGREGATES + PIPES + LONG + SHAPES if watermark else QUERIES + REFUSED)[::every]
    wrong: list[str] = []
    unknown: list[str] = []
    tally: Counter[str] = Counter()
    for sql in texts:
        verdict = judge.judge(sql)
        facts = read(sql)
        if verdict.analysed is not None and facts.references is not None:
            ours = Counter(reference.name for reference in facts.references)
            theirs = counted(sql, verdict)
            wrong += [
                f"{sql}: reads {name} {ours[name]} times, Spark {theirs[name]}"
                for name in RELATIONS
                if ours[name] != theirs[name]
            ]
        if verdict.parsed is not None and facts.references is None:
            unknown.append(sql)
        document, _ = pipeline(sql, "append", watermark=judge.watermark)
        if verdict.analysed is not None and read(sql).refusals == ():
            aggregated = Graph(document).aggregated("v")
            wrong += (
                [f"{sql}: aggregated is {aggregated}"]
                if aggregated not in (None, re.search("~(Aggregate|Distinct)", verdict.analysed) is not None)
                else []
            )
        for mode in MODES:
            ours_say = refusals(sql, mode, watermark=judge.watermark)
            runs = mode in verdict.modes and not (ours_say and not judge.comes_through(sql, mode))
            tally[
                "both accept"
                if runs and not ours_say
                else "both refuse"
                if ours_say and not runs
                else "left to Spark"
                if not runs
                else "FALSE REFUSAL"
            ] += 1
            wrong += [f"{sql}: {mode}: {ours_say}"] if runs and ours_say else []
    with capsys.disabled():
        print(
            f"\n{len(texts)} texts x {len(MODES)} modes, {'with' if judge.watermark else 'without'} watermark: {dict(sorted(tally.items()))}, {len(unknown)} parsed by Spark whose relations we do not know"
        )
    assert wrong == [], "\n".join(map(str, wrong))
    assert len(unknown) <= len(texts) * 0.1, unknown
    assert tally["both accept"] > 200 // every


@pytest.mark.parametrize("every", only([10, 1], {10}), ids=lambda every: f"each of {every}")
def test_names_are_wrong_only_where_spark_reports_them(judge: Judge, every: int) -> None:
    """No false alarm over any text, and each wrong name is one that Spark stumbles over."""
    texts = [*TAKEN, *QUERIES, *REFUSED, *STATEMENTS, *FORBIDDEN][::every]
    taken = {sql for sql in texts if judge.judge(sql).analysed is not None}
    assert {sql: wrong for sql in texts if (wrong := wrong_names(sql)) and sql in taken} == {}
    assert [sql for sql, _ in WRONG if judge.judge(sql).analysed is not None] == []
    refused = "\n".join(sql for sql in TAKEN[::every] if sql not in taken)
    assert refused == ""


def test_every_statement_is_rejected(judge: Judge) -> None:
    """Every text that Spark knows as a statement is refused, and no query is taken for one."""
    missed = [sql for sql in STATEMENTS if judge.judge(sql).parsed is not None]
    assert missed == []
    missed = [
        sql
        for sql in STATEMENTS
        if judge.is_statement(sql) and "NotAQuery" not in {r.reason for r in read(sql).refusals}
    ]
    assert missed == []
    assert sum(judge.is_statement(sql) for sql in STATEMENTS) > 40


@pytest.mark.parametrize("every", only([4, 1], {4}), ids=lambda every: f"each of {every}")
def test_what_spark_cannot_parse_is_rejected(judge: Judge, every: int) -> None:
    taken = [sql for sql in REFUSED[::every] if judge.judge(sql).modes]
    assert taken == [], taken


def test_every_call_into_the_jvm_is_rejected(judge: Judge) -> None:
    taken = [sql for sql in FORBIDDEN if judge.judge(sql).analysed is not None]
    assert taken == FORBIDDEN
    assert [
        sql for sql in FORBIDDEN if "ForbiddenFunction" not in {r.reason for r in read(sql).refusals}
    ] == []


def test_functions_aggregate_as_in_spark(spark: SparkSession) -> None:
    """No aggregate function of Spark's is taken for a plain one, and no plain one for an aggregate."""
    infos = spark._jvm.org.apache.spark.sql.api.python.PythonSQLUtils.listBuiltinFunctionInfos()
    stream = logical_plan.source(streams=True, watermark=None)
    wrong, checked = [], 0
    for info in infos:
        name, group = info.getName(), info.getGroup()
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            continue
        for count in range(4):
            facts = read(f"SELECT {name}({', '.join(['a', 'b', 'c'][:count])}) FROM s")
            planned = facts.tree is not None and facts.references is not None
            answer = planner.plan(facts.tree, "v", lambda _: stream).aggregated if planned else None
            checked += answer is not None
            # Functions of windows run with OVER only.
            if group != "window_funcs" and answer is (name not in AGGREGATES_OF_SPARK):
                wrong.append((name, count, group, answer))
    assert wrong == [], "\n".join(map(str, wrong))
    assert checked > 500
