"""The effect of each change of a document on a query with a checkpoint, as a table.

`tests/spark/test_changes.py` compares the effects of its own cases with what Spark does.
"""

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from harness.sampling import sampled
from hypothesis import given
from hypothesis import strategies as st
from mainstem.changes import CheckpointFacts, Effect, Verdict, compare
from mainstem.language.document import read, read_object
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.sql.builtins import AGGREGATES


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "changing.md"
SPARK = ROOT / "tests" / "spark" / "test_changes.py"
VALID = sorted((ROOT / "tests" / "documents" / "valid").glob("*.yaml"))
COLUMNS = "k STRING, ts TIMESTAMP, v INT, u INT"
CONTINUES, MISREADS, INCOMPATIBLE = Effect.CONTINUES, Effect.MISREADS, Effect.INCOMPATIBLE


def files(name: str = "a", **more: Any) -> dict[str, Any]:
    reads = {"path": f"/data/{name}", "format": "json", "schema": COLUMNS} | more
    return {"name": name, "files": reads, "watermark": {"column": "ts", "delay": "1 day"}}


def kafka(**more: Any) -> dict[str, Any]:
    return {
        "name": "a",
        "kafka": {"connection": "c", "subscribe": ["t"]} | more,
        "decode": {"json": {"schema": COLUMNS}},
    }


def table(**more: Any) -> dict[str, Any]:
    return {"name": "a", "delta": {"path": "/data/t"} | more}


def cluster(servers: str) -> dict[str, Any]:
    return {"connections": [{"name": "c", "kafka": {"bootstrapServers": servers}}]}


def state(**more: Any) -> dict[str, Any]:
    step = {
        "from": "a",
        "keys": ["k"],
        "function": "code:count",
        "schema": "k STRING, n INT",
        "stateSchema": "n INT",
        "outputMode": "update",
    } | more
    return {"state": step}


def sql(*texts: str) -> list[dict[str, Any]]:
    """Views of some texts; the last one is `result`, and the others are `v0`, `v1`."""
    names = [*(f"v{at}" for at in range(len(texts) - 1)), "result"]
    return [{"name": name, "sql": text} for name, text in zip(names, texts, strict=True)]


def document(
    views: Any, *sources: dict[str, Any], spec: dict[str, Any] | None = None, name: str = "p", **query: Any
) -> StreamingPipeline:
    given_views = (
        sql(views)
        if isinstance(views, str)
        else [{"name": "result"} | views]
        if isinstance(views, dict)
        else views
    )
    body = {
        "sources": list(sources) or [files()],
        "views": given_views,
        "checkpoints": {"location": "/checkpoints"},
        "queries": [{"name": "q", "from": "result", "to": [{"name": "n", "noop": {}}]} | query],
    } | (spec or {})
    if any("kafka" in each for each in body["sources"]) and "connections" not in body:
        body |= cluster("x:1,y:1")
    whole = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline", "metadata": {"name": name}}
    return read_object(whole | {"spec": body}).pipeline


class Case(NamedTuple):
    """Two documents, and the effect of the change from one to the other."""

    before: StreamingPipeline
    after: StreamingPipeline
    effect: Effect


ROWS = "SELECT k, v FROM a"
COUNT = "SELECT k, count(*) AS n FROM a GROUP BY k"
SUM = "SELECT k, sum(v) AS n FROM a GROUP BY k"
WINDOW = "SELECT window(ts, '5 minutes') AS w, sum(v) AS v FROM a GROUP BY 1"
JOIN = "SELECT a.k, b.v FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOURS"
BOTH = (files(), files("b"))
UPDATE: dict[str, Any] = {"outputMode": "update"}
PARQUET = [{"name": "f", "parquet": {"path": "/data/out"}}]
DELTA = [{"name": "d", "delta": {"path": "/data/delta"}}]


def counted(text: str, *sources: dict[str, Any], **more: Any) -> StreamingPipeline:
    return document(text, *sources, **(UPDATE | more))


CASES = {
    "a type below an unread view": Case(counted(f"{SUM} >>>>> 1", files(schema="k STRING, v INT, ts TIMESTAMP")), counted(f"{SUM} >>>>> 1", files(schema="k STRING, v DOUBLE, ts TIMESTAMP")), MISREADS),
    "comments and layout": Case(counted(COUNT), counted("/* n */select K,\n Count( * ) as n from a group by (k)"), Effect.UNCHANGED),
    "another alias of a relation": Case(counted(COUNT), counted("SELECT x.k, count(*) AS n FROM a AS x GROUP BY x.k"), Effect.UNCHANGED),
    "a key by its position": Case(counted(COUNT), counted("SELECT k, count(*) AS n FROM a GROUP BY 1"), Effect.UNCHANGED),
    "a view split in two": Case(counted(COUNT), document(sql("SELECT k AS x, v FROM a", "SELECT x AS k, count(*) AS n FROM v0 GROUP BY x"), **UPDATE), Effect.UNCHANGED),
    "a WITH clause for a view": Case(counted(COUNT), counted("WITH x AS (SELECT k FROM a) SELECT k, count(*) AS n FROM x GROUP BY k"), Effect.UNCHANGED),
    "the unit of a window's length": Case(counted(WINDOW), counted(WINDOW.replace("5 minutes", "300 seconds")), Effect.UNCHANGED),
    "the order of conditions": Case(document(f"{ROWS} WHERE v > 1 AND k = 'x'"), document(f"{ROWS} WHERE 'x' = k AND 1 < v"), Effect.UNCHANGED),
    "sides of a union in another order": Case(document(f"{ROWS} UNION ALL SELECT k, v FROM b", *BOTH), document("SELECT k, v FROM b UNION ALL SELECT k, v FROM a", *BOTH), Effect.UNCHANGED),
    "a view that nothing reads": Case(document(ROWS), document(sql("SELECT u FROM a", ROWS)), Effect.UNCHANGED),
    "the schedule of a pipeline": Case(document(ROWS, trigger={"availableNow": True}), document(ROWS, trigger={"availableNow": True}, spec={"schedule": {"cron": "0 3 * * *"}}), Effect.LIVE),
    "a pipeline suspended": Case(document(ROWS), document(ROWS, spec={"suspend": True}), CONTINUES),
    "the rollback of a pipeline": Case(document(ROWS), document(ROWS, spec={"rollback": {"policy": "Never"}}), Effect.LIVE),
    "the trial of a pipeline": Case(document(ROWS), document(ROWS, spec={"trial": {"batches": 2}}), Effect.LIVE),
    "the weight of a pool": Case(document(ROWS), document(ROWS, pool={"weight": 3}), Effect.LIVE),
    "a filter below an aggregation": Case(counted(COUNT), counted("SELECT k, count(*) AS n FROM a WHERE v > 1 GROUP BY k"), CONTINUES),
    "a filter on the result of an aggregation": Case(counted(COUNT), counted(f"{COUNT} HAVING count(*) > 1"), CONTINUES),
    "a projection that an aggregate reads": Case(document(sql("SELECT k, v FROM a", SUM.replace("FROM a", "FROM v0")), **UPDATE), document(sql("SELECT k, v * 2 AS v FROM a", SUM.replace("FROM a", "FROM v0")), **UPDATE), CONTINUES),
    "a projection of another type that an aggregate reads": Case(document(sql("SELECT k, v FROM a", SUM.replace("FROM a", "FROM v0")), **UPDATE), document(sql("SELECT k, v / 2 AS v FROM a", SUM.replace("FROM a", "FROM v0")), **UPDATE), MISREADS),
    "an unused aggregate added": Case(document(sql(COUNT, "SELECT k, n FROM v0"), **UPDATE), document(sql("SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY k", "SELECT k, n FROM v0"), **UPDATE), Effect.UNCHANGED),
    "an unused aggregate used": Case(document(sql("SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY k", "SELECT k, n FROM v0"), **UPDATE), document(sql("SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY k", "SELECT k, n, m FROM v0"), **UPDATE), INCOMPATIBLE),
    "a key through a view": Case(document(sql("SELECT k FROM a", COUNT.replace("FROM a", "FROM v0")), **UPDATE), document(sql("SELECT upper(k) AS k FROM a", COUNT.replace("FROM a", "FROM v0")), **UPDATE), MISREADS),
    "keys in another order": Case(counted("SELECT k, v, u, count(*) AS n FROM a GROUP BY v, u, k"), counted("SELECT k, v, u, count(*) AS n FROM a GROUP BY u, v, k"), MISREADS),
    "the type of a key": Case(counted("SELECT v, count(*) AS n FROM a GROUP BY v"), counted("SELECT v, count(*) AS n FROM a GROUP BY v", files(schema=COLUMNS.replace("v INT", "v STRING"))), INCOMPATIBLE),
    "the type of what an aggregate reads": Case(counted(SUM), counted(SUM, files(schema=COLUMNS.replace("v INT", "v DOUBLE"))), INCOMPATIBLE),
    "the slide of a window": Case(counted(WINDOW), counted(WINDOW.replace("'5 minutes'", "'5 minutes', '1 minute'")), MISREADS),
    "a session's gap": Case(document("SELECT k, session_window(ts, '5 minutes') AS w, count(*) AS n FROM a GROUP BY 1, 2"), document("SELECT k, session_window(ts, '9 minutes') AS w, count(*) AS n FROM a GROUP BY 1, 2"), MISREADS),
    "a maximum becomes a minimum": Case(counted("SELECT k, max(v) AS m FROM a GROUP BY k"), counted("SELECT k, min(v) AS m FROM a GROUP BY k"), MISREADS),
    "an aggregate of another column": Case(counted(SUM), counted(SUM.replace("sum(v)", "sum(u)")), MISREADS),
    "deduplication within the watermark": Case(document({"deduplicate": {"from": "a", "columns": ["k"]}}), document({"deduplicate": {"from": "a", "columns": ["k"], "withinWatermark": True}}), INCOMPATIBLE),
    "DISTINCT over another column": Case(counted("SELECT DISTINCT k, v FROM a"), counted("SELECT DISTINCT k, u FROM a"), MISREADS),
    "the key of a join": Case(document(JOIN, *BOTH), document(JOIN.replace("a.k = b.k", "a.v = b.v"), *BOTH), INCOMPATIBLE),
    "another column that a join keeps": Case(document(JOIN, *BOTH), document(JOIN.replace("b.v FROM", "b.v, b.u FROM"), *BOTH), INCOMPATIBLE),
    "a filter above a join": Case(document(JOIN, *BOTH), document(f"{JOIN} WHERE a.u > 1", *BOTH), CONTINUES),
    "the event-time column": Case(counted(COUNT, files(schema=f"{COLUMNS}, t2 TIMESTAMP")), counted(COUNT, files(schema=f"{COLUMNS}, t2 TIMESTAMP") | {"watermark": {"column": "t2", "delay": "1 day"}}), MISREADS),
    "a watermark added": Case(counted(COUNT, {"name": "a", "files": files()["files"]}), counted(COUNT), CONTINUES),
    "a watermark of a query without state removed": Case(document(ROWS), document(ROWS, {"name": "a", "files": files()["files"]}), CONTINUES),
    "the function of a state step": Case(document(state(), **UPDATE), document(state(function="code:total"), **UPDATE), MISREADS),
    "the schema of a state": Case(document(state(), **UPDATE), document(state(stateSchema="n LONG"), **UPDATE), INCOMPATIBLE),
    "the keys of a state step": Case(document(state(), **UPDATE), document(state(keys=["k", "v"]), **UPDATE), INCOMPATIBLE),
    "the result's columns of a state step": Case(document(state(), **UPDATE), document(state(schema="k STRING, n INT, m INT"), **UPDATE), CONTINUES),
    "a Python step": Case(document({"python": {"function": "code:f", "inputs": ["a"]}}), document({"python": {"function": "code:g", "inputs": ["a"]}}), MISREADS),
    "the time zone, with state": Case(counted(WINDOW), counted(WINDOW, spec={"timeZone": "Europe/Zurich"}), MISREADS),
    "the time zone, without state": Case(document(ROWS), document(ROWS, spec={"timeZone": "Europe/Zurich"}), CONTINUES),
    "a property of Spark's SQL, with state": Case(counted(COUNT), counted(COUNT, spec={"spark": {"conf": {"spark.sql.ansi.enabled": "false"}}}), MISREADS),
    "a property of Spark that tunes": Case(counted(COUNT), counted(COUNT, spec={"spark": {"conf": {"spark.sql.adaptive.enabled": "false"}}}), Effect.UNCHANGED),
    "a source renamed": Case(document(ROWS), document("SELECT k, v FROM b", files("b", path="/data/a")), MISREADS),
    "a topic added": Case(document(ROWS, kafka()), document(ROWS, kafka(subscribe=["t", "t2"])), CONTINUES),
    "a pattern that has the topic": Case(document(ROWS, kafka()), document(ROWS, kafka(subscribe=None, subscribePattern="t.*")), CONTINUES),
    "another topic": Case(document(ROWS, kafka()), document(ROWS, kafka(subscribe=["t2"])), INCOMPATIBLE),
    "another topic, without failOnDataLoss": Case(document(ROWS, kafka()), document(ROWS, kafka(subscribe=["t2"], failOnDataLoss=False)), MISREADS),
    "one broker more": Case(document(ROWS, kafka()), document(ROWS, kafka(), spec=cluster("x:1,z:1")), CONTINUES),
    "other brokers": Case(document(ROWS, kafka()), document(ROWS, kafka(), spec=cluster("z:1")), MISREADS),
    "startingOffsets": Case(document(ROWS, kafka()), document(ROWS, kafka(startingOffsets="earliest")), CONTINUES),
    "an end for a topic": Case(document(ROWS, kafka()), document(ROWS, kafka(endingOffsets="latest")), INCOMPATIBLE),
    "the path of a table": Case(document(ROWS, table()), document(ROWS, table(path="/data/t2")), INCOMPATIBLE),
    "the change feed of a table": Case(document(ROWS, table()), document(ROWS, table(readChangeFeed=True)), MISREADS),
    "options of the decoder, with state": Case(counted(COUNT, files()), counted(COUNT, files(options={"timestampFormat": "yyyy"})), MISREADS),
    "options of the decoder, without state": Case(document(ROWS, files()), document(ROWS, files(options={"timestampFormat": "yyyy"})), CONTINUES),
    "the type of a column of Parquet files": Case(document(ROWS, to=PARQUET), document("SELECT k, CAST(v AS STRING) AS v FROM a", to=PARQUET), MISREADS),
    "a column more of Parquet files": Case(document(ROWS, to=PARQUET), document("SELECT k, v, u FROM a", to=PARQUET), CONTINUES),
    "a column more of a Delta table": Case(document(ROWS, to=DELTA), document("SELECT k, v, u FROM a", to=DELTA), INCOMPATIBLE),
    "a column more of a Delta table, with mergeSchema": Case(document(ROWS, to=DELTA), document("SELECT k, v, u FROM a", to=[{"name": "d", "delta": {"path": "/data/delta", "mergeSchema": True}}]), CONTINUES),
    "the path of a sink": Case(document(ROWS, to=PARQUET), document(ROWS, to=[{"name": "f", "parquet": {"path": "/data/out2"}}]), CONTINUES),
    "a sink removed": Case(document(ROWS, to=[*PARQUET, *DELTA]), document(ROWS, to=DELTA), CONTINUES),
    "continuous in place of the default": Case(document(ROWS, {"name": "a", "rate": {}} , spec={"views": sql("SELECT value AS k FROM a")}), document(ROWS, {"name": "a", "rate": {}}, spec={"views": sql("SELECT value AS k FROM a")}, trigger={"continuous": "1 second"}), INCOMPATIBLE),
    "the query's name alone": Case(document(ROWS), document(ROWS, name="p", spec={"queries": [{"name": "r", "from": "result", "to": [{"name": "n", "noop": {}}]}]}), Effect.EMPTY),
    "an earlier generation": Case(document(ROWS, checkpoint={"generation": 2}), document(ROWS), MISREADS),
    "the location of checkpoints": Case(document(ROWS), document(ROWS, spec={"checkpoints": {"location": "/elsewhere"}}), Effect.EMPTY),
    "the pipeline's name, with takeOver": Case(document(ROWS), document(ROWS, name="other", spec={"checkpoints": {"location": "/checkpoints", "takeOver": "default/p"}}), CONTINUES),
    "the pipeline's name": Case(document(ROWS), document(ROWS, name="other"), INCOMPATIBLE),
}  # fmt: skip


def effect(verdict: Verdict) -> Effect:
    return verdict.queries[0].effect


def both_ways(first: StreamingPipeline, second: StreamingPipeline) -> set[Effect]:
    """The effects of the change from one document to the other, and back."""
    return {effect(compare(first, second)), effect(compare(second, first))}


@pytest.mark.parametrize("name", CASES)
def test_the_change_has_its_effect(name: str) -> None:
    case = CASES[name]
    verdict = compare(case.before, case.after)
    assert effect(verdict) == case.effect, verdict
    assert bool(verdict.refused) == (case.effect in (MISREADS, INCOMPATIBLE))


SAFE = {Effect.UNCHANGED, Effect.LIVE, CONTINUES}
JAVA = {"name": "longest", "java": {"class": "com.example.Longest", "aggregate": True}}
CALLS = (
    "SELECT k, {} AS n FROM a GROUP BY k",
    "SELECT k, concat({}, 'x') AS n FROM a GROUP BY k",
    "SELECT k, {} FILTER (WHERE u > 1) AS n FROM a GROUP BY k",
    "SELECT {} AS n FROM a",
)


def of_another_argument(text: str, function: str, *sources: dict[str, Any], **more: Any) -> Effect:
    """The effect of `function(u)` in place of `function(v)` at a place of a text."""
    before, after = (counted(text.format(f"{function}({column})"), *sources, **more) for column in ("v", "u"))
    return effect(compare(before, after))


@pytest.mark.parametrize("function", sampled(sorted(AGGREGATES), every=4))
def test_another_argument_of_an_aggregate_is_never_safe(function: str) -> None:
    for call in CALLS:
        assert of_another_argument(call, function) not in SAFE, call


def test_another_argument_of_a_declared_aggregate_is_never_safe() -> None:
    for call in CALLS:
        assert of_another_argument(call, "longest", spec={"functions": [JAVA]}) not in SAFE, call


PLACES = (
    *CALLS,
    "SELECT k, count(*) AS n FROM a GROUP BY k HAVING {} > 1",
    "SELECT k, CASE WHEN count(*) > 1 THEN {} END AS n FROM a GROUP BY k",
    "SELECT k, {} AS n FROM a GROUP BY ALL",
    "SELECT k, {} AS n FROM a GROUP BY ROLLUP(k)",
    "SELECT window(ts, '5 minutes') AS w, {} AS n FROM a GROUP BY 1",
    "WITH x AS (SELECT k, {} AS n FROM a GROUP BY k) SELECT k, n FROM x",
    "SELECT k, n FROM (SELECT k, {} AS n FROM a GROUP BY k)",
    "FROM a |> AGGREGATE {} AS n GROUP BY k",
)


@pytest.mark.parametrize("text", PLACES)
def test_a_function_that_may_be_an_aggregate_is_never_safe(text: str) -> None:
    """Only a catalog knows whether its function is an aggregate; the document has no other function that nothing lists."""
    for name in ("catalog.schema.total", "schema.total"):
        assert of_another_argument(text, name) not in SAFE, name


@pytest.mark.parametrize("name", ["sum", "total"])
def test_another_argument_of_an_aggregate_over_a_static_relation_is_another_key(name: str) -> None:
    text = "SELECT t.n, count(*) AS c FROM a JOIN (SELECT k, {} AS n FROM s GROUP BY k) t ON a.k = t.k GROUP BY t.n"
    table = {"name": "s", "static": {"csv": {"path": "/data/s.csv", "schema": "k STRING, v INT, u INT"}}}
    total = {"name": "total", "python": {"function": "code:total", "returns": "INT", "aggregate": True}}
    assert of_another_argument(text, name, files(), table, spec={"functions": [total]}) == MISREADS


@pytest.mark.parametrize("name", CASES)
def test_no_change_in_one_direction_is_no_change_in_the_other(name: str) -> None:
    case = CASES[name]
    forth, back = effect(compare(case.before, case.after)), effect(compare(case.after, case.before))
    assert (forth == Effect.UNCHANGED) == (back == Effect.UNCHANGED)


@pytest.mark.parametrize("file", VALID, ids=lambda file: file.stem)
def test_a_valid_document_compared_with_itself_is_unchanged(file: Path) -> None:
    verdict = compare(read(file).pipeline, read(file).pipeline)
    assert {query.effect for query in verdict.queries} == {Effect.UNCHANGED}
    assert verdict.driver == ()


WORDS = re.compile(r"'[^']*'|GROUP BY|UNION ALL|\s+|\w+|.", re.IGNORECASE)


# In a text that Mainstem cannot read, the letter case of a name may matter.
@given(
    st.sampled_from(sorted(CASES.keys() - {"a type below an unread view"})),
    st.integers(0, 1),
    st.randoms(use_true_random=False),
)
def test_the_layout_of_sql_does_not_matter(name: str, which: int, random: Any) -> None:
    pipeline = CASES[name][which]
    assert isinstance(pipeline, StreamingPipeline)
    views = tuple(
        view.model_copy(update={"sql": _laid_out(view.sql, random)}) if view.sql else view
        for view in pipeline.spec.views
    )
    changed = pipeline.model_copy(update={"spec": pipeline.spec.model_copy(update={"views": views})})
    assert effect(compare(pipeline, changed)) == Effect.UNCHANGED


def _laid_out(text: str, random: Any) -> str:
    blanks = [" ", "\n  ", "\t", " /* k */ ", " -- a note\n"]
    pieces = [random.choice(blanks) if piece.isspace() else piece for piece in WORDS.findall(text)]
    return "".join(
        piece if piece[:1] == "'" or random.random() < 0.5 else piece.swapcase() for piece in pieces
    )


def test_fields_of_the_deployment_restart_the_driver_alone() -> None:
    more = {"image": "x:2", "spark": {"conf": {"spark.ui.enabled": "false"}}, "driver": {"cores": 3}}
    verdict = compare(document(ROWS), document(ROWS, spec=more))
    assert set(verdict.driver) == {"spec.image", "spec.spark.conf[spark.ui.enabled]", "spec.driver.cores"}
    assert effect(verdict) == Effect.UNCHANGED


def test_a_part_that_nobody_can_read_is_harmless_for_a_checkpoint_without_state() -> None:
    case = CASES["a Python step"]
    assert effect(compare(case.before, case.after, {"q": CheckpointFacts(operators=())})) == CONTINUES


def test_state_of_another_operator_in_the_checkpoint_is_found_without_an_earlier_document() -> None:
    facts = {"q": CheckpointFacts(operators=("stateStoreSave",))}
    assert effect(compare(None, document(ROWS), facts)) == INCOMPATIBLE
    assert effect(compare(None, counted(COUNT), facts)) == Effect.UNCHANGED


def effects_of_spark_cases() -> dict[str, str]:
    """Case of the Spark tests -> the name of its effect, from the text, because the module imports Spark."""
    [table] = [
        node.value
        for node in ast.parse(SPARK.read_text()).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CHANGES"
    ]
    assert isinstance(table, ast.Dict)
    return {
        ast.literal_eval(key): value.args[3].id.lower()  # type: ignore[attr-defined, arg-type]
        for key, value in zip(table.keys, table.values, strict=True)
    }


def rows_of_the_page() -> dict[str, str]:
    """Test -> the effect in its row."""
    rows = re.findall(r"(?m)^\| .+ \| `(\w+)` \| .+ \| ([^|]+) \|$", PAGE.read_text())
    listed = [(name.strip(), effect) for effect, names in rows for name in names.split(";")]
    assert len(dict(listed)) == len(listed), "a test is in two rows"
    return dict(listed)


def test_real_spark_proves_at_least_25_changes_in_each_direction() -> None:
    """Of a change that is called safe the second run has exactly its rows; of a refused one it fails, or has wrong rows."""
    effects = list(effects_of_spark_cases().values())
    refused = sum(effect in (MISREADS, INCOMPATIBLE) for effect in effects)
    assert refused >= 25
    assert len(effects) - refused >= 25


def test_the_page_has_every_case_with_its_effect_and_no_other() -> None:
    spark = effects_of_spark_cases()
    cases = spark | {name: str(case.effect) for name, case in CASES.items()}
    assert all(cases[name] == effect for name, effect in spark.items())
    assert rows_of_the_page() == cases
