"""What is known of a SQL text without Spark: its code, its relations, and whether it aggregates."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mainstem.language.sql import logical_plan, planner
from mainstem.language.sql.facts import read
from mainstem.language.sql.text import code, order_by, unended
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError


@pytest.mark.parametrize(
    ("sql", "masked"),
    [
        ("a -- b\nc", "a     \nc"),
        ("a --\rc", "a   \rc"),
        ("a /* b */ c", "a         c"),
        ("a /* /* b */ c */ d", "a                 d"),
        ("a /* /*+ b */ c", "a             c"),
        ("a /*+ b */ c", "a /*+ b */ c"),
        ("a /* never closed", "a    never closed"),
        ("a 'b' c", "a     c"),
        ("a 'b\\'c' d", "a        d"),
        ("a 'b''c' d", "a        d"),
        ("a r'\\' b", "a      b"),
        ('a R"\\" b', "a      b"),
        ("xr'\\'' b", "xr     b"),
        ('a "b" c', "a     c"),
        ('a "b" (c', 'a "b" (c'),
        ("a `b` c", "a `b` c"),
        ("a `b--c` d", "a        d"),
        ("a `b``c` d", "a        d"),
        ("a `'` b `'` c", "a     b     c"),
        ("a '-- /*' b", "a         b"),
        ("a /* ' */ b ' */ c'", "a         b        "),
        ("", ""),
    ],
)
def test_comments_and_literals_are_masked(sql: str, masked: str) -> None:
    assert code(sql) == masked


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /* /*+ */ reflect('java.lang.Math', 'abs', 1), '*/ 1 -- '",
        "SELECT {# reflect('java.lang.Math', 'abs', 1) #} 1",
        "SELECT 1 /*+ reflect('java.lang.Math', 'abs', 1) */",
    ],
)
def test_code_that_the_tokenizer_of_sqlglot_takes_for_a_comment(sql: str) -> None:
    """One reason of docs/adr/0018: once this fails, the tokenizer may replace the scanner."""
    assert "reflect(" in code(sql)
    assert "reflect" not in [token.text for token in Spark().tokenize(sql)]


@pytest.mark.parametrize(
    ("sql", "masked"),
    [
        ("a /* /*+ b */ c", "a             c"),
        ("INSERT INTO t SELECT 'open", "INSERT INTO t SELECT 'open"),
        ("SELECT reflect(1) AS `open", "SELECT reflect(1) AS `open"),
        ("SELECT reflect(1) /* open", "SELECT reflect(1)    open"),
    ],
)
def test_code_of_texts_that_the_tokenizer_of_sqlglot_rejects(sql: str, masked: str) -> None:
    """The other reason of docs/adr/0018."""
    assert code(sql) == masked
    with pytest.raises(TokenError):
        Spark().tokenize(sql)


LETTERS = st.lists(
    st.sampled_from(
        ["'", '"', "`", "--", "/*", "*/", "\n", "\r", "\\", "r", "a", "+", ";", " ", "(", ")", "reflect"]
    ),
    max_size=30,
).map("".join)


@given(LETTERS | st.text(max_size=60))
def test_any_text_is_read_and_keeps_its_offsets(sql: str) -> None:
    masked = code(sql)
    assert len(masked) == len(sql)
    assert all(new in (old, " ") for old, new in zip(sql, masked, strict=True))
    assert [place for place, letter in enumerate(sql) if letter == "\n"] == [
        place for place, letter in enumerate(masked) if letter == "\n"
    ]
    facts = read(sql)
    for refusal in facts.refusals:
        assert 0 <= refusal.offset <= len(sql)
    for reference in facts.references or ():
        assert sql[reference.start : reference.end].strip("`").lower() == reference.name
    assert len(unended(sql)) == len(sql)


WORDS = [
    "SELECT",
    "FROM",
    "WITH",
    "AS",
    "JOIN",
    "LEFT",
    "ON",
    "GROUP",
    "BY",
    "ORDER",
    "count(*)",
    "(",
    ")",
    ",",
    "a",
    "b",
    "departures",
    "airports",
    "UNION",
    "ALL",
    "WHERE",
    "EXISTS",
    "LATERAL",
    "VIEW",
    "explode",
    "window",
    "|>",
    "VALUES",
    "1",
    "'1'",
    ".",
    "*",
    "=",
    "PIVOT",
    "CASE",
    "WHEN",
    "END",
    "OVER",
]


STREAM = logical_plan.source(streams=True, watermark=None)
RELATIONS = {
    "s": STREAM,
    "t": logical_plan.source(streams=False, watermark=None),
    "agg": logical_plan.Node(logical_plan.NodeKind.AGGREGATE, True, frozenset(), (STREAM,)),
    "plain": logical_plan.Node(logical_plan.NodeKind.SELECT, True, frozenset(), (STREAM,)),
    "unknown": logical_plan.unknown(streams=True),
}


def planned(sql: str) -> logical_plan.Node:
    """The plan of a text over the relations."""
    facts = read(sql)
    if facts.tree is None or facts.references is None:
        return logical_plan.unknown()
    return planner.plan(facts.tree, "v", RELATIONS.get)


@example("LEFT UNION SELECT")
@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_sequence_of_words_is_read(sql: str) -> None:
    facts = read(sql)
    for reference in facts.references or ():
        assert sql[reference.start : reference.end].lower() == reference.name
    assert planned(sql).aggregated in (True, False, None)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT " + "f(" * 8000,
        "SELECT 1" + " + 1" * 4000,
        "SELECT " + "CASE WHEN " * 1600,
        "(" * 16000,
        "SELECT 1" + " UNION ALL SELECT 1" * 800,
    ],
)
def test_deep_texts_are_unknown_or_read_but_never_fatal(sql: str) -> None:
    assert read(sql).refusals == ()


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT * FROM a", ["a"]),
        ("SELECT * FROM A", ["a"]),
        ("SELECT * FROM `a`", ["a"]),
        ("SELECT * FROM b JOIN a USING (x), b AS c", ["b", "a", "b"]),
        ("SELECT * FROM a UNION ALL SELECT * FROM a", ["a", "a"]),
        ("SELECT (SELECT max(x) FROM b) FROM a WHERE EXISTS (SELECT 1 FROM c)", ["b", "a", "c"]),
        ("WITH a AS (SELECT * FROM b) SELECT * FROM a", ["b"]),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a JOIN a AS b", ["a"]),
        ("WITH a AS (SELECT * FROM a), b AS (SELECT * FROM a) SELECT * FROM b", ["a"]),
        ("WITH b AS (SELECT * FROM c), c AS (SELECT 1) SELECT * FROM b, c", ["c"]),
        ("WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a)", []),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a), a", ["a"]),
        ("WITH a AS (SELECT 1) SELECT * FROM a UNION SELECT * FROM a", []),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a", []),
        ("SELECT * FROM other.a", []),
        ("SELECT * FROM parquet.`/a`", []),
        ("SELECT /*+ BROADCAST(a) */ * FROM a", ["a"]),
        ("SELECT a.x FROM b AS a", ["b"]),
        ("SELECT 'FROM a' FROM b -- FROM c", ["b"]),
        ("FROM a |> WHERE x > 1 |> JOIN b ON TRUE", ["a", "b"]),
        ("SELECT * FROM a LATERAL VIEW explode(x) t AS y", ["a"]),
        ("SELECT * FROM range(5)", []),
        ("SELECT * FROM STREAM a", None),
        ("SELECT * FROM STREAM(a)", None),
        ("TABLE a", ["a"]),
        ("TABLE a UNION ALL TABLE /* b */ a", ["a", "a"]),
        ("SELECT table, stream, a.watermark FROM a", ["a"]),
        ("SELECT DISTINCT table FROM a", ["a"]),
        ("SELECT * FROM a WHERE (table IS NULL)", None),
        ("SELECT * FROM f(TABLE(a))", None),
        ("SELECT * FROM session.a", None),
        ("SELECT * FROM a WATERMARK t DELAY OF INTERVAL 1 DAY", None),
        ("SELECT FROM WHERE", None),
    ],
)
def test_references_are_in_the_order_of_the_text(sql: str, names: list[str] | None) -> None:
    references = read(sql).references
    assert (None if references is None else [reference.name for reference in references]) == names


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT count(*) FROM s", True),
        ("SELECT k, sum(v) FROM s GROUP BY k", True),
        ("SELECT k FROM s GROUP BY ALL", True),
        ("SELECT k FROM s GROUP BY ROLLUP (k)", True),
        ("SELECT 1 + max(v) AS m FROM s JOIN t USING (k)", True),
        ("SELECT count(*) FILTER (WHERE v > 1) FROM s", True),
        ("SELECT * FROM agg", True),
        ("SELECT * FROM plain JOIN agg USING (k)", True),
        ("SELECT * FROM s", False),
        ("SELECT upper(k), v + 1 FROM s WHERE v > 1", False),
        ("SELECT * FROM s JOIN t USING (k)", False),
        ("SELECT * FROM plain", False),
        ("SELECT transform(a, x -> x + 1), aggregate(a, 0, (x, y) -> x + y) FROM s", False),
        ("SELECT row_number() OVER (PARTITION BY k ORDER BY v) FROM t", False),
        ("SELECT sum(v) OVER (PARTITION BY k) FROM s", False),
        ("SELECT DISTINCT k FROM s", True),
        ("SELECT * FROM (SELECT count(*) FROM s)", True),
        ("WITH s AS (SELECT 1 AS v) SELECT sum(v) FROM s", False),
        ("SELECT count(*) FROM t", False),
        ("SELECT * FROM unknown", None),
        ("SELECT my_function(v) FROM s", None),
        ("SELECT c.my_function(v) FROM s", None),
        ("SELECT c.my_function(v) FILTER (WHERE v > 1) FROM s", None),
        ("SELECT * FROM s UNION ALL SELECT * FROM s", False),
        ("SELECT * FROM s WHERE k IN (SELECT max(k) FROM t)", False),
        ("SELECT * FROM s PIVOT (sum(v) FOR k IN ('a'))", None),
        ("SELECT * FROM STREAM s", None),
        ("not SQL at all", None),
    ],
)
def test_aggregation_is_true_false_or_unknown(sql: str, answer: bool | None) -> None:
    assert planned(sql).aggregated is answer


@pytest.mark.parametrize(
    ("sql", "answer", "offset"),
    [
        ("SELECT * FROM s ORDER BY k", True, 16),
        ("SELECT * FROM (SELECT * FROM s ORDER BY k) ORDER  by k", True, 43),
        ("SELECT * FROM s -- ORDER BY\n ORDER\nBY k", True, 29),
        ("SELECT * FROM (SELECT * FROM s ORDER BY k)", True, 0),
        ("SELECT row_number() OVER (ORDER BY k) FROM s", False, 0),
        ("SELECT 'ORDER BY' FROM s", False, 0),
        ("TABLE s ORDER BY k", True, 8),
    ],
)
def test_sorting_and_the_position_of_order_by_are_known(sql: str, answer: bool, offset: int) -> None:
    assert any(node.kind is logical_plan.NodeKind.SORT for node in planned(sql).all()) is answer
    assert order_by(sql) == offset


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("SELECT 1;", "SELECT 1 "),
        ("SELECT 1 ; ;\n", "SELECT 1    \n"),
        ("SELECT 1; -- a;b", "SELECT 1  -- a;b"),
        ("SELECT 1 -- a;b\n;", "SELECT 1 -- a;b\n "),
        ("SELECT ';'", "SELECT ';'"),
        ("SELECT ';';", "SELECT ';' "),
        (";", " "),
    ],
)
def test_semicolons_at_the_end_are_removed(sql: str, left: str) -> None:
    assert unended(sql) == left


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1;",
        "SELECT ';' AS a, `;` AS b -- ; c\n;",
        "SELECT insert into FROM VALUES (1) AS t(insert)",
        "WITH x AS (SELECT 1 AS a) SELECT count(a) delete FROM x",
        "WITH x(a, b) (SELECT 1, 2), `y` AS (SELECT ')' AS c) SELECT * FROM x, y",
        "FROM s SELECT insert, into",
        "SELECT reflect FROM s",
        "SELECT reflect_it(1), my_java_method(2) FROM s",
        "SELECT 'reflect(1)' AS a, \"java_method(2)\" AS b /* reflect(3) */ FROM s -- reflect(4)",
        "SELECT identifier FROM s",
        "SELECT set, add, drop FROM s",
        "SELECT table_changes_by_path FROM s",
        "SELECT * FROM table_changes('lake.orders', 0)",
    ],
)
def test_an_allowed_text_is_not_rejected(sql: str) -> None:
    assert read(sql).refusals == ()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM table_changes_by_path('/a', 0)",
        "SELECT * FROM Table_Changes_By_Path('s3a://lake/a', 0) AS t",
        "SELECT * FROM `table_changes_by_path` ('/a', 0)",
        "SELECT * FROM system.builtin.table_changes_by_path('/a', 0)",
        "SELECT * FROM departures, LATERAL table_changes_by_path('/a', 0)",
        "SELECT * FROM departures WHERE id IN (FROM table_changes_by_path/**/('/a', 0))",
        "SELECT * FROM STREAM table_changes_by_path('/a', 0)",
        "FROM table_changes_by_path('/a', 0) |> SELECT id",
    ],
)
def test_a_function_that_reads_files_is_rejected(sql: str) -> None:
    assert [refusal.reason for refusal in read(sql).refusals] == ["FileInSql"]


def test_a_script_is_rejected_and_a_join_is_not() -> None:
    script = read("SELECT TRANSFORM(a) USING 'cat' AS (b) FROM departures")
    assert [refusal.reason for refusal in script.refusals] == ["ForbiddenFunction"]
    assert read("SELECT * FROM a JOIN b USING (x) JOIN c USING\n(y)").refusals == ()
