"""Rows and distinct ids of a Parquet folder on S3, as Spark reads them: `count_parquet.py ENDPOINT PATH`."""

import sys

import mainstem_jars
from mainstem.runtime.spark import java
from pyspark.sql import SparkSession


def main(endpoint: str, path: str) -> None:
    """Print both counts, the credentials being in the environment."""
    import os

    os.environ["JAVA_HOME"] = java.home()
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.extraClassPath": ":".join(map(str, mainstem_jars.paths())),
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    ids = spark.read.parquet(path).select("id")
    print(ids.count(), ids.distinct().count())
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
