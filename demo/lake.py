"""Reads the lake without Spark, as any other tool can: Parquet files, and the log of a Delta table.

Tables of Mainstem need only Delta's first reader version, so a reader is short. In your own program use the package
`deltalake`; here it would be a twelfth of the download of `make demo`.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq


class UnreadableTable(Exception):
    """The table needs a newer reader, or does not exist."""


def read_parquet(folder: Path, columns: list[str] | None = None) -> pa.Table:
    """All rows of a folder of Parquet files, including subfolders `column=value`."""
    if not folder.is_dir():
        raise UnreadableTable(f"there is no folder {folder}")
    return ds.dataset(folder, format="parquet", partitioning="hive").to_table(columns=columns)


def read_delta(folder: Path) -> pa.Table:
    """All rows of the newest version of a Delta table."""
    files = _live_files(folder)
    if not files:
        return pa.table({})
    return ds.dataset([str(folder / unquote(path)) for path in sorted(files)], format="parquet").to_table()


def version(folder: Path) -> int:
    """The newest version of a Delta table."""
    return max((_number(file) for file in _commits(folder)), default=-1)


def _live_files(folder: Path) -> set[str]:
    """Paths of the data files of the newest version, from the last checkpoint and the commits after it."""
    files: set[str] = set()
    start = -1
    checkpoints = sorted((folder / "_delta_log").glob("*.checkpoint.parquet"))
    if checkpoints:
        start = _number(checkpoints[-1])
        _apply(files, pq.read_table(checkpoints[-1]).to_pylist(), folder)
    for commit in _commits(folder):
        if _number(commit) > start:
            _apply(files, map(json.loads, commit.read_text(encoding="utf-8").splitlines()), folder)
    return files


def _apply(files: set[str], actions: Iterable[dict[str, Any]], folder: Path) -> None:
    for action in actions:
        if protocol := action.get("protocol"):
            _demand_simple(protocol, folder)
        if remove := action.get("remove"):
            files.discard(remove["path"])
        if add := action.get("add"):
            files.add(add["path"])


def _demand_simple(protocol: dict[str, Any], folder: Path) -> None:
    """Raise if the table needs more than reader version 1: version 2 adds column mapping, 3 deletion vectors."""
    if protocol["minReaderVersion"] != 1:
        raise UnreadableTable(f"{folder} needs Delta reader version {protocol['minReaderVersion']}, not 1")


def _commits(folder: Path) -> list[Path]:
    commits = sorted((folder / "_delta_log").glob("*.json"))
    commits = [file for file in commits if re.fullmatch(r"\d{20}\.json", file.name)]
    if not commits:
        raise UnreadableTable(f"there is no Delta table in {folder}")
    return commits


def _number(file: Path) -> int:
    return int(file.name[:20])
