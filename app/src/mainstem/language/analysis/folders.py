"""Compares the paths of folders, files and tables; pure."""

import posixpath
import re
from functools import lru_cache
from itertools import takewhile
from typing import Final


_ANY: Final = {"*": ".*", "?": "."}


@lru_cache(maxsize=4096)  # the paths of one document; each is compared with all others
def normal(path: str) -> str:
    """One spelling for a folder: no `file:`, no `.` or `..`, no slash doubled or at the end.

    >>> normal("./lake//a/../b/"), normal("file:///lake/a"), normal("s3a://lake//a/")
    ('lake/b', '/lake/a', 's3a://lake/a')
    """
    bucket = re.match(r"^s3a://[^/]*", path)
    start = bucket[0] if bucket else ""
    rest = re.sub(r"/+", "/", path[len(start) :] if bucket else re.sub(r"^file:/+", "/", path))
    return (start + posixpath.normpath(rest or "/")).rstrip("/")


def within(folder: str, above: str) -> bool:
    """True if `folder` is `above` or inside it; both are `normal`."""
    return folder == above or folder.startswith(above + "/")


def may_read(path: str, folder: str, *, recursive: bool) -> bool:
    """Whether a reader of the path may read files that somebody writes into the folder; both are `normal`.

    As Spark does it, the reader leaves out the folders below its path, unless their names have the form `k=v`.

    Args:
        path: of the reader; it may be a pattern of Hadoop's.
        folder: of the writer.
        recursive: whether the reader reads all folders below its path.

    >>> may_read("lake/*/day=1", "lake/orders", recursive=False), may_read("lake", "lake/orders", recursive=False)
    (True, False)
    """
    parts, names = _parts(path), _parts(folder)
    known = list(takewhile(lambda part: not re.search(r"[\[{\\]", part), parts))
    if not all(_matches(part, name) for part, name in zip(known, names, strict=False)):
        return False
    return recursive or len(known) < len(parts) or all("=" in name for name in names[len(parts) :])


def _parts(path: str) -> list[str]:
    return [] if path == "." else path.split("/")


def _matches(pattern: str, name: str) -> bool:
    if _ANY.keys().isdisjoint(pattern):
        return pattern == name
    return re.fullmatch("".join(_ANY.get(char, re.escape(char)) for char in pattern), name) is not None
