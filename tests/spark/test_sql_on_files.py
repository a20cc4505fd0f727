"""SQL reads what the document names as sources, and no file by its path."""

from pathlib import Path

import pytest
from harness import sparks
from harness.sampling import only
from mainstem.language.sql.facts import read
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession


TABLE_FUNCTIONS = {
    "collations",
    "explode",
    "explode_outer",
    "inline",
    "inline_outer",
    "json_tuple",
    "posexplode",
    "posexplode_outer",
    "python_worker_logs",
    "range",
    "sql_keywords",
    "stack",
    "table_changes",
    "variant_explode",
    "variant_explode_outer",
}
"""Those of Spark and Delta that read no file by its path; `table_changes` takes the name of a table, as FROM does."""


def test_every_other_table_function_is_rejected(spark: SparkSession) -> None:
    """An upgrade of Spark or Delta may bring one that reads files: it is to be judged here."""
    registered = spark._jsparkSession.sessionState().tableFunctionRegistry().listFunction()
    names = {registered.apply(index).funcName() for index in range(registered.size())}
    refused = {
        name
        for name in names
        if "FileInSql" in {refusal.reason for refusal in read(f"SELECT * FROM {name}('/a')").refusals}
    }
    assert names - refused == TABLE_FUNCTIONS


KINDS = ("text", "delta", "org.apache.spark.sql.execution.datasources.text.TextFileFormat")
PLAIN = "SELECT value FROM {path}"
SUBQUERY = "SELECT value FROM lines WHERE value IN (FROM {path})"


@pytest.mark.S31
def test_table_changes_takes_no_path(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM table_changes('delta.`{tmp_path}`', 0)")


@pytest.mark.S31
@pytest.mark.parametrize(
    ("kind", "sql"),
    only([(kind, sql) for kind in KINDS for sql in (PLAIN, SUBQUERY)], {("delta", SUBQUERY)}),
)
def test_a_path_is_not_accepted_as_a_table(spark: SparkSession, tmp_path: Path, kind: str, sql: str) -> None:
    token = tmp_path / "token"
    token.mkdir()
    if kind == "delta":
        spark.range(1).selectExpr("'secret' AS value").write.format("delta").mode("overwrite").save(
            str(token)
        )
    else:
        (token / "file").write_text("secret")
    (tmp_path / "in").mkdir()
    spec = {
        "sources": [{"name": "lines", "files": {"path": str(tmp_path / "in")}}],
        "views": [{"name": "v", "sql": sql.format(path=f"`{kind}`.`{token}`")}],
        "queries": [
            {"name": "q", "from": "v", "to": [{"name": "out", "text": {"path": str(tmp_path / "out")}}]}
        ],
        "checkpoints": {"location": str(tmp_path / "checkpoints")},
    }
    with pytest.raises(
        AnalysisException,
        match=r"TABLE_OR_VIEW_NOT_FOUND|DELTA_TABLE_NOT_FOUND|UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY",
    ):
        sparks.run(spark, spec, checked=False)
