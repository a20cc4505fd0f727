"""Sinks as a user writes them in Python, for `python: {foreach: ...}` and `python: {foreachBatch: ...}`."""

import json
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row


class Lines:
    """Writes each partition of a batch as one file, and refuses one that it has."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._file: Path | None = None
        self._rows: list[dict[str, Any]] = []

    def open(self, partition: int, batch: int) -> bool:
        self._file, self._rows = self._folder / f"{batch}-{partition}.json", []
        return not self._file.exists()

    def process(self, row: Row) -> None:
        if row["v"] == "poison":
            raise ValueError("poison")
        self._rows.append(row.asDict())

    def close(self, error: Exception | None) -> None:
        if error is None and self._rows and self._file:
            self._file.write_text(json.dumps(self._rows))
        with (self._folder / "closed").open("a") as log:
            log.write(f"{type(error).__name__}\n")


def keep(batch: DataFrame, number: int, folder: str) -> None:
    """Keep a batch's rows under its number."""
    rows = [row.asDict() for row in batch.collect()]
    (Path(folder) / f"batch-{number}.json").write_text(json.dumps(rows))


def fail_once(batch: DataFrame, number: int, flag: str) -> None:
    """Fail while a file is there, which goes with the failure."""
    if Path(flag).exists():
        Path(flag).unlink()
        raise RuntimeError("as asked")


def hold(_batch: DataFrame, _number: int, gate: str) -> None:
    """Block a batch until a file exists; meanwhile the file `held` beside it shows that the batch waits."""
    while not Path(gate).exists():
        Path(gate).with_name("held").touch()
        time.sleep(0.05)
