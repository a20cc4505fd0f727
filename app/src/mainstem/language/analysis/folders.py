"""Compares the paths of folders, files and tables; pure."""

import posixpath
import re
from itertools import takewhile
from typing import Final


_ANY: Final = {"*": ".*", "?": "."}


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


def may_overlap(pattern: str, folder: str) -> bool:
    """Whether a file below the folder may also be below the path, which may be a pattern of Hadoop's; both are `normal`.

    >>> may_overlap("lake/*/day=1", "lake/orders"), may_overlap("lake/raw_*", "lake/orders")
    (True, False)
    """
    parts = takewhile(lambda part: not re.search(r"[\[{\\]", part), _parts(pattern))
    return all(_matches(part, name) for part, name in zip(parts, _parts(folder), strict=False))


def _parts(path: str) -> list[str]:
    return [] if path == "." else path.split("/")


def _matches(pattern: str, name: str) -> bool:
    return re.fullmatch("".join(_ANY.get(char, re.escape(char)) for char in pattern), name) is not None
