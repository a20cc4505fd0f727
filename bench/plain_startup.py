"""The job of startup.yaml, written by hand: `same` properties as Mainstem's, or `bare` ones, which are Spark's own."""

import argparse
import tempfile
from pathlib import Path

from plainspark import session
from pyspark.sql import SparkSession


def main() -> None:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="plain-") as scratch:
        spark = _bare(given) if given.settings == "bare" else _same(Path(scratch), given)
        lines = spark.readStream.format("text")
        if given.settings == "same":
            lines = lines.name("lines")
        writer = lines.load(given.input).writeStream.queryName("copy").trigger(availableNow=True)
        writer = writer.format("parquet").option("path", given.lake)
        writer.option("checkpointLocation", f"{given.checkpoints}/copy/1").start().awaitTermination()
        spark.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("settings", choices=("same", "bare"))
    for name in ("input", "lake", "checkpoints", "jars", "heap"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--cores", type=int, required=True)
    return parser.parse_args()


def _same(scratch: Path, given: argparse.Namespace) -> SparkSession:
    return session(scratch, given.jars, given.cores, given.heap, {"copy": 1})


def _bare(given: argparse.Namespace) -> SparkSession:
    builder: SparkSession.Builder = SparkSession.builder
    return builder.master(f"local[{given.cores}]").config("spark.driver.memory", given.heap).getOrCreate()


if __name__ == "__main__":
    main()
