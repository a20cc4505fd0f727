"""Adds the directories on a full device to a failure, because Java's error does not name them."""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.filesystem import local_path
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query
from mainstem.language.requirements import written_paths
from mainstem.runtime.failures.classification import Failure


_LITTLE: Final = 1024 * 1024
"""A device with fewer free bytes counts as full: the failed write may have freed some space again, such as a block."""


def explained(failure: Failure, graph: Graph, query: Query) -> Failure:
    """The failure with the directories whose device is full.

    Where no device is full any more, the failure names all directories whose device may have been full.

    Args:
        failure: why the query failed; a failure with another reason than `DiskFull` is returned unchanged.
        graph: the graph of the document.
        query: the query that failed.
    """
    if failure.reason != reasons.DISK_FULL:
        return failure
    scratch = tempfile.gettempdir()
    folders = [path for each in (*written_paths(graph, query), scratch) if (path := local_path(each))]
    full = [folder for folder in dict.fromkeys(folders) if _is_full(folder)]
    where = f"full: {_listed(full)}" if full else f"one of {_listed(dict.fromkeys(folders))}"
    return replace(failure, message=f"{failure.message}; {where}")


def _is_full(folder: str) -> bool:
    """Whether the device has almost no free space, or no free inode; False where the system does not report it."""
    there = next((each for each in (Path(folder), *Path(folder).absolute().parents) if each.exists()), None)
    try:
        device = os.statvfs(there or "/")
    except OSError:
        return False
    return device.f_bavail * device.f_frsize < _LITTLE or (device.f_files > 0 and device.f_favail == 0)


def _listed(folders: Iterable[str]) -> str:
    return ", ".join(list(folders)[:4])
