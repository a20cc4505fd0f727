"""Names the folders of a query that are on a full device, which Java's error leaves out."""

import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query
from mainstem.language.requirements import written_paths
from mainstem.runtime.failures.classification import Failure


_LITTLE: Final = 1024 * 1024
"""Bytes that are no space: what failed to be written may be gone again, a block of it say."""


def explained(failure: Failure, graph: Graph, query: Query) -> Failure:
    """The failure with the folders whose device is full; where no device is full any more, with all folders that may
    have been.

    Args:
        failure: why the query failed; another reason than `DiskFull` is left alone.
        graph: the document's.
        query: the query.
    """
    if failure.reason != reasons.DISK_FULL:
        return failure
    scratch = tempfile.gettempdir()
    folders = [path for each in (*written_paths(graph, query), scratch) if (path := local(each))]
    found = [folder for folder in dict.fromkeys(folders) if _is_full(folder)]
    where = f"full: {_listed(found)}" if found else f"one of {_listed(dict.fromkeys(folders))}"
    return replace(failure, message=f"{failure.message}; {where}")


def local(path: str) -> str | None:
    """The path on this machine; None for one in a store."""
    plain = re.sub(r"^file:/+", "/", path)
    return None if re.match(r"\w[\w+.-]*:", plain) else plain


def _is_full(folder: str) -> bool:
    """Whether the device has next to no space, or no room for another file; False where nobody can tell."""
    there = next((each for each in (Path(folder), *Path(folder).absolute().parents) if each.exists()), None)
    try:
        device = os.statvfs(there or "/")
    except OSError:
        return False
    return device.f_bavail * device.f_frsize < _LITTLE or (device.f_files > 0 and device.f_favail == 0)


def _listed(folders: Iterable[str]) -> str:
    return ", ".join(list(folders)[:4])
