"""What Spark's parser accepts is read without Spark too, and as Spark reads it; what is not read is known by name."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from documents.keyword_texts import SPECIAL_CALLS, TEXTS, UNQUALIFIED, UNREAD, UNREAD_WORDS
from harness import refusals, sparktexts
from mainstem.language.sql.facts import Facts, read
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import exp


class Parser:
    """Spark's parser."""

    def __init__(self, spark: SparkSession) -> None:
        session = spark.newSession()
        session.conf.set("spark.sql.maxPlanStringLength", str(10**9))
        session.conf.set("spark.sql.debug.maxToStringFields", str(2**31 - 1))
        session.conf.set("spark.sql.variable.substitute", "false")
        state: Any = session._jsparkSession.sessionState()
        self.registry = state.functionRegistry()
        self._parser = state.sqlParser()

    def relations(self, sql: str) -> set[str] | None:
        """The relations and common table expressions that a query reads, in lower case; None if it is no query for Spark."""
        try:
            plan = self._parser.parseQuery(sql).treeString()
        except (PySparkException, Py4JJavaError):
            return None
        return {
            name.lower().replace(", ", ".") for name in re.findall(r"UnresolvedRelation \[(.*?)\], \[", plan)
        }


@pytest.fixture(scope="module")
def parser(spark: SparkSession) -> Iterator[Parser]:
    with refusals.silent(spark):
        yield Parser(spark)


def compared(parser: Parser, texts: Iterable[str]) -> tuple[int, list[str], dict[str, str]]:
    """How many texts Spark accepts, those of them that Mainstem does not read, and those that it reads differently."""
    accepted, unread, different = 0, [], {}
    for sql in texts:
        expected = parser.relations(sql)
        if expected is None:
            continue
        accepted += 1
        facts = read(sql)
        if facts.refusals:  # its message names what the text must not have
            continue
        if facts.references is None:
            unread.append(sql)
        elif (ours := relations(facts, expected)) != expected:
            different[sql] = f"{sorted(ours)}, and for Spark {sorted(expected)}"
    return accepted, unread, different


def relations(facts: Facts, expected: set[str]) -> set[str]:
    """The relations of a text, with the common table expressions that Spark's parser names too."""
    assert facts.tree is not None
    tables = [table for table in facts.tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    names = {
        ".".join(part.name for part in table.parts).lower()
        for table in tables
        if not table.find_ancestor(exp.Hint)
    }
    common = {
        cte.alias.lower() for cte in facts.tree.find_all(exp.CTE)
    }  # pipe operators become some of their own
    return names - common | expected & common


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.full), 100])
def test_a_keyword_is_read_as_a_name_where_it_is_one(spark: SparkSession, parser: Parser, every: int) -> None:
    words = [
        row[0].lower() for row in spark.sql("SELECT keyword FROM sql_keywords() ORDER BY keyword").collect()
    ]
    texts = {text.replace("{k}", word): (text, word) for word in words[::every] for text in TEXTS}
    accepted, unread, different = compared(parser, texts)
    assert accepted > 0.95 * len(texts)
    known = {
        sql
        for sql, (text, word) in texts.items()
        if text in UNQUALIFIED or word in UNREAD_WORDS | SPECIAL_CALLS
    }
    assert [sql for sql in unread if sql not in known] == []
    assert {sql: why for sql, why in different.items() if sql not in known} == {}


@pytest.mark.full(gate="spark/test_sql_reading.py::test_a_keyword_is_read_as_a_name_where_it_is_one")
def test_each_example_of_a_function_is_read(parser: Parser) -> None:
    accepted, unread, different = compared(parser, examples(parser))
    assert accepted > 1000
    assert [sql for sql in unread if not is_known(sql)] == []
    assert different == {}


def examples(parser: Parser) -> Iterator[str]:
    """The examples that Spark has for its functions."""
    names = parser.registry.listFunction().iterator()
    while names.hasNext():
        info = parser.registry.lookupFunction(names.next())
        yield from re.findall(r"(?ms)^\s*> (.*?);\s*$", info.get().getExamples()) if info.isDefined() else ()


@pytest.mark.full(gate="spark/test_sql_reading.py::test_a_keyword_is_read_as_a_name_where_it_is_one")
@pytest.mark.timeout(900)
def test_each_query_of_the_tests_of_spark_is_read(parser: Parser, capsys: pytest.CaptureFixture[str]) -> None:
    texts = dict.fromkeys(text for _, text in sparktexts.texts())
    accepted, unread, different = compared(parser, texts)
    with capsys.disabled():
        print(f"\nof {accepted} queries {len(unread)} are not read, {len(different)} are read differently")
    assert accepted > 10_000
    assert [sql for sql in unread if not is_known(sql)] == []
    assert different == {}


def is_known(sql: str) -> bool:
    return any(re.search(pattern, sql) for pattern in UNREAD.values())
