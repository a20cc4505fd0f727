"""Columns of one name in a result: what is certain of a text is true in Spark, and no sink gets them that stores names."""

import re
from pathlib import Path

import pytest
from harness.pipebench import PipeBench
from mainstem.dataframes.query import build
from mainstem.errors import SpecInvalid
from mainstem.language.sql.columns import Resolver
from mainstem.language.sql.facts import read
from mainstem.language.sql.scope import UNKNOWN, ColumnSet
from pyspark.sql import SparkSession


RELATIONS = {"a": "id INT, v STRING, s STRUCT<id: INT>", "b": "id INT, w STRING"}
NAMES = {name: tuple(part.split()[0] for part in ddl.split(", ")) for name, ddl in RELATIONS.items()}
CERTAIN = {
    "SELECT * FROM a JOIN b ON a.id = b.id": {"id"},
    "SELECT a.id, b.id, v FROM a, b": {"id"},
    "SELECT *, upper(v) AS v FROM a": {"v"},
    "SELECT v AS x, v AS X FROM a": {"x"},
    "SELECT id, s.id FROM a": {"id"},
    "SELECT a.*, b.* EXCEPT (w) FROM a CROSS JOIN b": {"id"},
    "SELECT * FROM (SELECT * FROM a JOIN b ON a.id = b.id) t": {"id"},
    "WITH t AS (SELECT id, id FROM a) SELECT * FROM t": {"id"},
    "SELECT id, id FROM a UNION ALL SELECT id, v FROM a": {"id"},
    "SELECT * FROM a x JOIN a y ON x.id = y.id": {"id", "v", "s"},
    "SELECT a.* FROM a JOIN b ON a.id = b.id": set(),
    "SELECT * FROM a JOIN b USING (id)": set(),
    "SELECT * FROM a FULL JOIN b USING (ID)": set(),
    "SELECT * FROM a NATURAL JOIN b": set(),
    "SELECT * FROM a LEFT SEMI JOIN b ON a.id = b.id": set(),
    "SELECT * FROM a LEFT ANTI JOIN b ON a.id = b.id": set(),
    "SELECT * EXCEPT (v), upper(v) AS v FROM a": set(),
    "SELECT * FROM a JOIN (SELECT id AS b_id, w FROM b) t ON id = b_id": set(),
    "SELECT x.*, y.w FROM a x, b y": set(),
    "WITH t (m, n) AS (SELECT id, id FROM a) SELECT * FROM t": set(),
    "SELECT t.* FROM (SELECT id, id FROM a) AS t (m, n)": set(),
    "SELECT id, count(*) FROM a GROUP BY id": set(),
    "SELECT id FROM a WHERE id IN (SELECT id FROM b)": set(),
    "SELECT struct(id, id) AS r, id FROM a": set(),
}
"""A text, and the names that it gives to several columns."""
WORDS = [
    "SELECT CAST(id AS STRING), v FROM a", "SELECT v, id::string FROM a", "SELECT try_cast(id AS STRING) FROM a", "SELECT (id), ((v)) FROM a",
    "SELECT CAST((id) AS STRING) FROM a", "SELECT CAST(CAST(id AS STRING) AS INT) FROM a", "SELECT string(id), bigint(id), date(v) FROM a",
    "SELECT binary(v), decimal(id) FROM a", "SELECT s.id, a.v FROM a", "SELECT CAST(s.id AS STRING) FROM a", "SELECT (s).id FROM a",
    "SELECT s['id'] FROM a", "SELECT upper(v), count(*) FROM a GROUP BY v", "SELECT current_date, current_user, 1, NULL, 'x', id + 1 FROM a",
    "SELECT * EXCEPT (s.id) FROM a", "SELECT * EXCEPT (a.id) FROM a", "SELECT a.* EXCEPT (v) FROM a",
    "SELECT * EXCEPT (x.id) FROM a x CROSS JOIN b", "SELECT explode(array(id)), v FROM a", "SELECT posexplode(array(id)) FROM a",
    "SELECT stack(2, id, id) FROM a", "SELECT inline(array(s)) FROM a", "SELECT json_tuple(v, 'p', 'q') FROM a", "SELECT NOT id > 1, -id FROM a",
    "SELECT CASE WHEN id > 1 THEN v END, v LIKE 'a', id IN (1, 2), id BETWEEN 1 AND 2, v IS NULL FROM a", "SELECT parse_json(v):p FROM a",
    "SELECT parse_json(v):p::int FROM a", "SELECT CAST(id + 1 AS STRING), CAST(upper(v) AS STRING) FROM a", "SELECT min(id), max(v) AS top FROM a",
    "SELECT window(current_timestamp(), '1 hour'), count(*) FROM a GROUP BY window(current_timestamp(), '1 hour')", "SELECT struct(id, v), s FROM a",
    "SELECT first(id), any_value(v) FROM a", "SELECT INTERVAL '1' DAY, DATE'2026-01-01', array(1)[0] FROM a", "SELECT (SELECT max(id) FROM b), v FROM a",
    "SELECT EXISTS (SELECT 1 FROM b), v FROM a", "SELECT transform(array(id), x -> x + 1), id AS `odd name` FROM a",
]  # fmt: skip
"""Texts with expressions that they do not name."""
LEFT_OPEN = {
    "SELECT * FROM a JOIN b USING (id) JOIN b AS c ON c.id = a.id": {"id", "w"},
    "SELECT explode(array(struct(1 AS x, 2 AS y))), 1 AS col FROM a": {"col"},
}
"""Texts of which less is known."""


@pytest.mark.S17
def test_names_that_are_certainly_repeated_are_so_in_spark(spark: SparkSession) -> None:
    session = with_relations(spark)
    texts = CERTAIN | LEFT_OPEN
    in_spark = {text: repeated(session.sql(text).columns) for text in texts}
    known = {text: set(certainly(text)) for text in texts}

    assert in_spark == texts
    assert {text: known[text] for text in CERTAIN} == CERTAIN
    assert all(known[text] <= in_spark[text] for text in LEFT_OPEN)


@pytest.mark.S17
def test_spark_has_the_names_that_are_known_and_no_others_where_all_are_known(spark: SparkSession) -> None:
    session = with_relations(spark)
    for text in (*CERTAIN, *WORDS):
        known = resolved(text)
        in_spark = {name.lower() for name in session.sql(text).columns}
        assert known.folded <= in_spark, text
        words = {name for name in in_spark if re.fullmatch(r"\w+", name)}
        assert known.open or words <= known.folded, text


@pytest.mark.S17
def test_a_query_whose_columns_only_spark_knows_is_refused_at_its_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    bench = PipeBench(spark, tmp_path, {"a": "id INT, s STRUCT<id: INT>"})
    graph = bench.graph({"name": "v", "sql": "SELECT id, s.* FROM a"})
    with pytest.raises(SpecInvalid) as error:
        build(spark.newSession(), graph, graph.spec.queries[0])
    [problem] = error.value.problems
    assert "has more than one column 'id'; give each its own name" in problem.message
    assert problem.reason == "DuplicateColumn"


def with_relations(spark: SparkSession) -> SparkSession:
    """A session that knows `RELATIONS`."""
    session = spark.newSession()
    for name, ddl in RELATIONS.items():
        session.createDataFrame([], ddl).createOrReplaceTempView(name)
    return session


def certainly(text: str) -> frozenset[str]:
    return resolved(text).repeated


def resolved(text: str) -> ColumnSet:
    tree = read(text).tree
    assert tree is not None
    relations = {name: ColumnSet(names, open=False) for name, names in NAMES.items()}
    return Resolver(lambda name: relations.get(name, UNKNOWN)).columns(tree)


def repeated(names: list[str]) -> set[str]:
    folded = [name.lower() for name in names]
    return {name for name in folded if folded.count(name) > 1}
