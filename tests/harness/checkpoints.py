"""Reads the files of a checkpoint and of a Parquet folder."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.dataset
from mainstem.checkpoints import finding
from mainstem.checkpoints.damage.verification import verify


def newest(log: Path) -> int:
    """The newest batch in `offsets` or `commits`; -1 where there is none."""
    try:
        return max((int(entry.name) for entry in log.iterdir() if entry.name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1


def pending(checkpoint: Path) -> bool:
    """True while a batch is planned and not committed."""
    return newest(checkpoint / "offsets") > newest(checkpoint / "commits")


def data_files(folder: Path) -> set[str]:
    """Names of all Parquet files below a folder."""
    return {file.name for file in folder.rglob("part-*.parquet")}


def logged_files(folder: Path) -> set[str]:
    """Names of the Parquet files that the sink's log has; it is listed again if its driver removes an entry meanwhile."""
    while True:
        names: set[str] = set()
        with suppress(FileNotFoundError):
            for entry in (folder / "_spark_metadata").glob("*"):
                if entry.name.removesuffix(".compact").isdigit():
                    lines = entry.read_text(encoding="utf-8").splitlines()[1:]
                    names |= {json.loads(line)["path"].rpartition("/")[2] for line in lines}
            return names


def logged_rows(folder: Path) -> list[dict[str, Any]]:
    """The rows of the files in the sink's log: only these are whole while a query writes."""
    files = sorted(str(folder / name) for name in logged_files(folder))
    return list(pyarrow.dataset.dataset(files, format="parquet").to_table().to_pylist()) if files else []


def blocking_problems(checkpoint: Path) -> list[str]:
    """The problems of a checkpoint that block a start, as `mainstem checkpoint verify` finds them."""
    source = finding.stream(finding.opened(str(checkpoint)))
    result = verify(source.folder, source.layout)
    return [f"{problem.file} {problem.problem}" for problem in result.blocking]
