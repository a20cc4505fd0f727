"""SQL reads what the document names as sources, and no file by its path."""

from pathlib import Path

import pytest
from harness import sparks
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession


@pytest.mark.S31
@pytest.mark.parametrize(
    "kind", ["text", "delta", "org.apache.spark.sql.execution.datasources.text.TextFileFormat"]
)
@pytest.mark.parametrize(
    "sql", ["SELECT value FROM {path}", "SELECT value FROM lines WHERE value IN (FROM {path})"]
)
def test_a_file_by_its_path_is_no_table(spark: SparkSession, tmp_path: Path, kind: str, sql: str) -> None:
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
