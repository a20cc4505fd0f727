"""Files of one modification time on a real object store: a stream reads them in the order of their names."""

import os
from random import Random
from typing import Any

import pytest
from harness.s3 import S3Server
from pyspark.sql import SparkSession


@pytest.mark.full(gate="spark/test_recipes.py::test_files_are_read_in_the_order_of_their_modification")
def test_objects_of_one_second_are_read_by_name(pipelines: Any, spark: SparkSession, s3: S3Server) -> None:
    """Also in folders, which follow the objects beside them."""
    names = [f"{number:02}.txt" for number in range(6)] + ["k=1/00.txt", "k=1/01.txt", "k=2/00.txt"]
    s3.make_bucket("ordered")
    folder = s3.root / "ordered" / "in"
    for name in Random(3).sample(names, len(names)):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, encoding="utf-8")
        os.utime(file, (5, 5))
    s3.open_to(spark, "ordered")
    files = {"path": "s3a://ordered/in", "format": "text", "maxFilesPerTrigger": 1}
    sink = {"name": "table", "delta": {"path": str(pipelines.folder / "out")}}
    query = {"name": "copy", "from": "numbered", "to": [sink], "trigger": {"availableNow": True}}
    pipelines.run(
        {
            "connections": [
                {"name": "store", "s3": {"buckets": ["ordered"], "endpoint": s3.endpoint, "pathStyle": True}}
            ],
            "sources": [{"name": "lines", "files": files}],
            "views": [{"name": "numbered", "sql": "SELECT value, k FROM lines"}],
            "queries": [query],
        }
    )
    table = spark.read.format("delta").load(str(pipelines.folder / "out"))
    history = table.selectExpr("value", "_metadata.file_modification_time AS written").orderBy("written")
    assert [row["value"] for row in history.collect()] == names
