"""An existing table has each value as the query has it, or the query fails and names column and types."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import write_deltalake
from harness.corners import CORNERS, came_back
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.dataframes.column_names import quote
from mainstem.dataframes.sinks.stored_types import may_alter
from mainstem.dataframes.sinks.stored_values import Stored
from mainstem.errors import Problem, SpecInvalid
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.maintenance.maintenance import session_by_path
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType


pytestmark = pytest.mark.S26
NUMBERS = (
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(6,0)",
    "DECIMAL(8,4)",
    "DECIMAL(38,18)",
)
MEANS_MORE = {
    *(("BOOLEAN", number) for number in NUMBERS),
    *((number, "TIMESTAMP") for number in NUMBERS),
    *(("TIMESTAMP", number) for number in NUMBERS),
    ("BINARY", "STRING"),
}
"""Pairs that are refused although the value comes back: 1 is not true, nor a time, and bytes may be no text."""


@pytest.mark.parametrize("time_zone", only(("Europe/Zurich", "UTC"), ("Europe/Zurich",)))
def test_only_types_that_alter_values_are_refused_and_values_of_the_others_come_back(
    spark: SparkSession, time_zone: str
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", time_zone)
    kinds = {kind: session.sql(f"SELECT CAST(null AS {kind}) AS v").schema["v"].dataType for kind in CORNERS}
    wrong = []
    for kind, values in CORNERS.items():
        rows = session.sql(" UNION ALL ".join(f"SELECT CAST({value} AS {kind}) AS v" for value in values))
        known = [stored for stored in CORNERS if stored != kind and has_conversion(rows, kind, stored)]
        come_back = rows.select(*(came_back("v", kind, stored).alias(stored) for stored in known))
        refused = [stored for stored in known if may_alter(kinds[kind], kinds[stored], time_zone)]
        equal = come_back.agg(*(F.count(quote(stored)).alias(stored) for stored in known)).first().asDict()
        wrong += [
            f"{kind} comes back from {stored}, and is refused"
            for stored in refused
            if equal[stored] == len(values) and (kind, stored) not in MEANS_MORE
        ]
        taken = [stored for stored in known if stored not in refused]
        if not taken:
            continue
        fields = StructType([StructField(stored, kinds[stored]) for stored in taken])
        table = Stored(fields, time_zone, lambda *_: False, frozenset())
        converted = table.converted(come_back.select(*map(quote, taken)))
        assert [field.dataType for field in converted.schema] == [kinds[stored] for stored in taken]
        there = (
            converted.agg(*(F.count(F.col(quote(stored)).try_cast(kind)).alias(stored) for stored in taken))
            .first()
            .asDict()
        )
        wrong += [f"{kind} is not exact in {stored}" for stored in taken if there[stored] != equal[stored]]
    assert not wrong, wrong


def has_conversion(rows: DataFrame, kind: str, stored: str) -> bool:
    """Whether Spark can convert a type to another one and back."""
    try:
        return bool(rows.select(F.col("v").try_cast(stored).try_cast(kind)).columns)
    except AnalysisException:
        return False


NARROW = (
    "k STRING, i INT, d DECIMAL(10,2), t DATE, f FLOAT, s STRUCT<in: BIGINT, list: ARRAY<FLOAT>>, "
    "m MAP<STRING, INT>"
)
WIDE = (
    "k STRING, i DOUBLE, d DECIMAL(10,4), t TIMESTAMP, f DOUBLE, s STRUCT<IN: DOUBLE, list: ARRAY<DOUBLE>>, "
    "m MAP<STRING, DOUBLE>"
)
REFUSED = [
    "'i' is DOUBLE, and INT",
    "'d' is DECIMAL(10,4), and DECIMAL(10,2)",
    "'t' is TIMESTAMP, and DATE",
    "'f' is DOUBLE, and FLOAT",
    "'s.IN' is DOUBLE, and BIGINT",
    "'s.list.element' is DOUBLE, and FLOAT",
    "'m.value' is DOUBLE, and INT",
]
FORMS = ("append", "beside another", "merge", "mergeSchema", "bounded")
"""Forms of queries, of which each has another writer."""


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Stage:
    return Stage(spark.newSession(), tmp_path)


def spec(stage: Stage, schema: str, form: str) -> dict[str, Any]:
    """A query of rows of this schema, into `table`."""
    (stage.folder / "in").mkdir(exist_ok=True)
    files = {"path": f"{stage.folder}/in", "format": "json", "schema": schema}
    source = (
        {"static": {"json": {"path": files["path"], "schema": schema}}}
        if form == "bounded"
        else {"files": files}
    )
    table: dict[str, Any] = {"path": f"{stage.folder}/table"}
    table |= {"merge": {"merge": {"keys": ["k"]}}, "mergeSchema": {"mergeSchema": True}}.get(form, {})
    to = [
        {"name": "table", "delta": table},
        *([{"name": "none", "noop": {}}] if form == "beside another" else []),
    ]
    trigger = {} if form == "bounded" else {"trigger": {"availableNow": True}}
    mode = {"outputMode": "update"} if form == "merge" else {}
    query = {"name": "q", "from": "rows", "to": to, "state": {"partitions": 1}} | trigger | mode
    return {"sources": [{"name": "rows"} | source], "queries": [query]}


def create(stage: Stage, columns: str, properties: str = "") -> None:
    """The table, as another tool makes it."""
    table = f"delta.`{stage.folder}/table`"
    session_by_path(stage.spark).sql(
        f"CREATE TABLE {table} ({columns}) USING delta TBLPROPERTIES ('made.by' = 'another'{properties})"
    )


def put(stage: Stage, **row: Any) -> None:
    stage.put("in", json.dumps(row))


def ended(stage: Stage, schema: str, form: str) -> tuple[QueryState, str | None, str]:
    """State, reason and message of the query at the end of its run."""
    with stage.running(**spec(stage, schema, form)) as run:
        run.to_the_end(180)
        return run["q"].state, run["q"].reason, run["q"].message or ""


def refused(stage: Stage, schema: str, form: str) -> list[Problem]:
    """The problems for which the query does not start."""
    with pytest.raises(SpecInvalid) as raised, stage.running(**spec(stage, schema, form)):
        pass
    return list(raised.value.problems)


@pytest.mark.parametrize("form", only(FORMS, ("merge",)))
def test_a_table_that_may_alter_values_is_refused_with_each_column(stage: Stage, form: str) -> None:
    create(stage, NARROW)
    put(stage, k="a", i=2.7, d=1.2345, t="2024-01-02T23:59:59Z", f=0.1)
    problems = refused(stage, WIDE, form)
    assert {(problem.path, problem.reason) for problem in problems} == {
        ("spec.queries[0].to[0].delta", "TypeTooNarrow")
    }
    columns = {problem.message.partition(" in the table")[0] for problem in problems}
    assert columns == {f"'rows': {column}" for column in REFUSED}
    assert stage.rows("table") == []


EXACT = "k STRING, n INT, d DECIMAL(10,2), f DOUBLE, s STRUCT<b: ARRAY<SMALLINT>, a: STRING>, m MAP<STRING, STRUCT<x: BIGINT>>"
OTHERS = "k STRING, N BIGINT, d DECIMAL(12,1), f FLOAT, s STRUCT<a: INT, b: ARRAY<BIGINT>>, m MAP<STRING, STRUCT<x: INT>>"


@pytest.mark.full(
    gate="spark/test_stored_types.py::test_only_types_that_alter_values_are_refused_and_values_of_the_others_come_back"
)
@pytest.mark.parametrize("form", only(FORMS, ("merge",)))
def test_values_of_other_types_are_exact_also_within_structs(stage: Stage, form: str) -> None:
    create(stage, EXACT)
    put(stage, k="a", N=5, d=1.5, f=0.1, s={"a": 7, "b": [1, None]}, m={"3": {"x": 4}, "5": None})
    put(stage, k="b")
    state, reason, message = ended(stage, OTHERS, form)
    assert state is QueryState.COMPLETED, (reason, message)
    first, second = stage.rows("table")
    assert (first["k"], first["n"], str(first["d"]), first["f"]) == ("a", 5, "1.50", 0.10000000149011612)
    assert (first["s"], first["m"]) == ({"b": [1, None], "a": "7"}, [("3", {"x": 4}), ("5", None)])
    assert second == dict.fromkeys(["k", "n", "d", "f", "s", "m"]) | {"k": "b"}


SMALL = "k STRING, n INT, f DOUBLE, s STRUCT<x: ARRAY<TINYINT>>"
TOO_LARGE: dict[str, tuple[str, dict[str, Any]]] = {
    "n": ("BIGINT", {"n": 3000000000}),
    "f": ("BIGINT", {"f": 9007199254740993}),
    "s.x.element": ("INT", {"s": {"x": [1, 128]}}),
}


@pytest.mark.parametrize("form", only(FORMS, ("merge",)))
@pytest.mark.parametrize("column", only(TOO_LARGE, ("s.x.element",)))
def test_a_value_that_the_type_cannot_have_fails_the_batch_with_the_column(
    stage: Stage, form: str, column: str
) -> None:
    create(stage, SMALL)
    kind, row = TOO_LARGE[column]
    put(stage, k="a", **row)
    state, reason, message = ended(stage, "k STRING, n BIGINT, f BIGINT, s STRUCT<x: ARRAY<INT>>", form)
    assert (state, reason) == (QueryState.FAILED, "ValueOutOfRange"), message
    assert f"{column!r} is {kind}, with a value that" in message
    assert stage.rows("table") == []


TOO_LONG: tuple[dict[str, Any], ...] = (
    {"v": "abcd"},
    {"v": "abc "},
    {"c": "abcdef"},
    {"s": {"c": "abcdef"}},
    {"a": ["abcd"]},
    {"m": {"abcd": 1}},
)


@pytest.mark.parametrize("form", only(FORMS, ("append",)))
@pytest.mark.parametrize("row", only(TOO_LONG, ({"s": {"c": "abcdef"}},)))
def test_a_text_that_is_too_long_fails_the_batch_with_the_column(
    stage: Stage, form: str, row: dict[str, Any]
) -> None:
    create(
        stage,
        "k STRING, v VARCHAR(3), c CHAR(5), s STRUCT<c: CHAR(5)>, a ARRAY<VARCHAR(3)>, m MAP<VARCHAR(3), INT>",
    )
    put(stage, k="a", **row)
    columns = "k STRING, v STRING, c STRING, s STRUCT<c: STRING>, a ARRAY<STRING>, m MAP<STRING, INT>"
    state, reason, message = ended(stage, columns, form)
    assert (state, reason) == (QueryState.FAILED, "ValueOutOfRange"), message
    assert message.startswith(f"{next(iter(row))!r} has a text that is too long for it in the table; ")
    assert "abc" not in message
    assert stage.rows("table") == []


def replaced(stage: Stage, kind: pyarrow.DataType) -> None:
    """As another tool makes the table anew while the query runs."""
    schema = pyarrow.schema([("k", pyarrow.string()), ("n", kind)])
    write_deltalake(f"{stage.folder}/table", schema.empty_table(), mode="overwrite", schema_mode="overwrite")


@pytest.mark.parametrize("form", only(("append", "beside another", "merge"), ("merge",)))
def test_a_table_that_another_tool_replaces_while_the_query_runs_alters_nothing(
    stage: Stage, form: str
) -> None:
    put(stage, k="a", n=1.5)
    document = spec(stage, "k STRING, n DOUBLE", form)
    del document["queries"][0]["trigger"]
    with stage.running(**document) as run:
        run.until(lambda: stage.rows("table") == [{"k": "a", "n": 1.5}])
        replaced(stage, pyarrow.int32())
        put(stage, k="b", n=2.7)
        run.until(lambda: run["q"].state is QueryState.FAILED)
        assert run["q"].reason == ("TableChanged" if form == "append" else "TypeTooNarrow"), run["q"].message
    assert stage.rows("table") == []
    [problem] = refused(stage, "k STRING, n DOUBLE", form)
    assert problem.reason == "TypeTooNarrow"


@pytest.mark.full(
    gate="spark/test_stored_types.py::test_a_table_that_another_tool_replaces_while_the_query_runs_alters_nothing"
)
def test_a_table_that_another_query_makes_first_gets_exact_values_after_a_restart(stage: Stage) -> None:
    """Both append to a path without a table when they are built; Delta would round the numbers of the second one."""
    document = spec(stage, "k STRING, n BIGINT", "append")
    del document["queries"][0]["trigger"]
    with stage.running(**document, restart={"policy": "OnFailure", "maxBackoff": "1s"}) as run:
        run.until(lambda: run["q"].state in (QueryState.RUNNING, QueryState.IDLE))
        create(stage, "k STRING, n DOUBLE")
        put(stage, k="a", n=5)
        run.until(lambda: stage.rows("table") == [{"k": "a", "n": 5.0}])
        assert run["q"].restarts == 1
        put(stage, k="b", n=9007199254740993)
        run.until(lambda: run["q"].state is QueryState.FAILED)
        assert run["q"].reason == "ValueOutOfRange"
    assert stage.rows("table") == [{"k": "a", "n": 5.0}]


COMPARED: dict[str, dict[str, Any]] = {
    "a number as key": {"keys": ["n"]},
    "a number as sequence": {"keys": ["k"], "sequenceBy": "n"},
}


@pytest.mark.parametrize("merge", COMPARED.values(), ids=COMPARED)
def test_what_a_merge_compares_is_not_text_in_the_table_and_a_number_in_the_query(
    stage: Stage, merge: dict[str, Any]
) -> None:
    """As text 10 is less than 9, and 1.50 is another key than 1.5."""
    create(stage, "k STRING, n STRING")
    document = spec(stage, "k STRING, n INT", "append")
    document["queries"][0]["to"][0]["delta"]["merge"] = merge
    with pytest.raises(SpecInvalid) as raised, stage.running(**document):
        pass
    assert [problem.message.partition(" in the table")[0] for problem in raised.value.problems] == [
        "'rows': 'n' is INT, and STRING"
    ]


KEYS: tuple[tuple[str, str, list[Any]], ...] = (
    ("DECIMAL(8,1)", "DECIMAL(10,2)", [1.5, -0.1, 0, 9999999.9, None]),
    ("INT", "DECIMAL(12,2)", [1, -1, 2147483647, None]),
    ("INT", "BIGINT", [1, -2147483648, None]),
    ("FLOAT", "DOUBLE", [0.1, -0.0, 1.5, None]),
    ("INT", "DOUBLE", [1, 2147483647, None]),
    ("DATE", "TIMESTAMP_NTZ", ["0001-01-01", "2024-10-27", None]),
    ("STRING", "VARCHAR(3)", ["", "a", "a  ", None]),
)
"""Keys of one type in the query and another one in the table: types of both, and values as JSON."""


@pytest.mark.parametrize(("kind", "there", "values"), only(KEYS, (KEYS[0],)))
def test_a_merge_replaces_by_keys_of_another_type_in_the_table(
    stage: Stage, kind: str, there: str, values: list[Any]
) -> None:
    create(stage, f"k {there}, n INT")
    document = spec(stage, f"k {kind}, n INT", "merge")
    document["sources"][0]["files"]["maxFilesPerTrigger"] = 1
    table = document["queries"][0]["to"][0]["delta"]
    table["merge"] |= {"allowNullKeys": True, "sequenceBy": "n"}
    for batch in range(3):
        rows = [json.dumps({"k": value, "n": batch}) for value in dict.fromkeys(values)]
        stage.put("in", "\n".join(rows))
    with stage.running(**document) as run:
        run.to_the_end(180)
        assert run["q"].state is QueryState.COMPLETED, run["q"]
    assert [row["n"] for row in stage.rows("table")] == [2] * len(set(values))


@pytest.mark.full(
    gate="spark/test_stored_types.py::test_a_value_that_the_type_cannot_have_fails_the_batch_with_the_column"
)
def test_of_a_row_that_removes_its_key_only_the_key_is_compared(stage: Stage) -> None:
    create(stage, "k STRING, n INT")
    put(stage, k="a", n=1)
    put(stage, k="b", n=1)
    put(stage, k="a", n=3000000000, op="D")
    document = spec(stage, "k STRING, n BIGINT, op STRING", "append")
    document["sources"][0]["files"]["maxFilesPerTrigger"] = 1
    merge = {"keys": ["k"], "deleteWhen": "op = 'D'", "exceptColumns": ["op"]}
    document["queries"][0]["to"][0]["delta"]["merge"] = merge
    with stage.running(**document) as run:
        run.to_the_end()
        assert run["q"].state is QueryState.COMPLETED, run["q"]
    assert stage.rows("table") == [{"k": "b", "n": 1}]


@pytest.mark.full(
    gate="spark/test_stored_types.py::test_only_types_that_alter_values_are_refused_and_values_of_the_others_come_back"
)
@pytest.mark.parametrize("merge", only([False, True], (True,)))
def test_a_table_with_type_widening_takes_the_type_of_the_query(stage: Stage, *, merge: bool) -> None:
    widens = ", 'delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported'"
    create(stage, "k STRING, n INT, f FLOAT, t DATE, x VOID", widens)
    put(stage, k="a", n=3000000000, f=0.1, t="2024-01-02T03:04:05", x=1)
    columns = "k STRING, n BIGINT, f DOUBLE, t TIMESTAMP_NTZ, x INT"
    document = spec(stage, columns, "merge" if merge else "append")
    document["queries"][0]["to"][0]["delta"]["mergeSchema"] = True
    with stage.running(**document) as run:
        run.to_the_end()
        assert run["q"].state is QueryState.COMPLETED, run["q"]
    [row] = stage.spark.read.format("delta").load(f"{stage.folder}/table").collect()
    assert tuple(row) == ("a", 3000000000, 0.1, dt.datetime(2024, 1, 2, 3, 4, 5), 1)  # noqa: DTZ001
