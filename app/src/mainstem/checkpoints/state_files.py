"""Which files of a state store's partition hold a version of the state; pure.

A version is the number of the batch that reads it: batch 7 reads version 7, and its commit writes version 8. Spark reads
a version from the newest full copy (`.snapshot`, or `.zip` of RocksDB) and the changes since (`.delta`, `.changelog`).
"""

import io
import json
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


_NAME: Final = re.compile(r"^(\d+)(?:_[0-9a-f-]{36})*\.(delta|snapshot|zip|changelog)$")
_COPIES: Final = ("zip", "snapshot")
_BLOCK: Final = b"LZ4Block"
_HEAD: Final = 21
_OTHER_COMPRESSIONS: Final = (b"\x28\xb5\x2f\xfd", b"\x82SNAPPY", b"ZV")
"""How files of Spark's other compressions begin: Zstandard, Snappy, LZF."""
_BROKEN: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError),
    *(RuntimeError, OverflowError, LookupError, TypeError, AttributeError),
)
"""What Python's libraries raise for a file of other content: an unknown compression is a RuntimeError."""


@dataclass(frozen=True)
class Chain:
    """The files from which Spark reads a version.

    Attributes:
        files: their names.
        missing: the name of the first file that is missing; empty if all are there.
        copied: the version of the full copy with which they begin; 0 without one, for version 0 is empty.
    """

    files: tuple[str, ...]
    missing: str = ""
    copied: int = 0


@dataclass(frozen=True)
class SharedFile:
    """A file of RocksDB that a full copy refers to.

    Attributes:
        path: the path below the partition's folder.
        size: bytes.
    """

    path: str
    size: int


def chain(names: Iterable[str], version: int, *, rocksdb: bool = True) -> Chain:
    """The files of a version. The state of version 0 is empty and has no file."""
    copies, changes = _by_version(names)
    files: list[str] = []
    wanted = version
    while wanted > 0:
        if wanted in copies:
            return Chain((*copies[wanted], *reversed(files)), copied=wanted)
        if wanted not in changes:
            return Chain(tuple(reversed(files)), f"{wanted}.{'changelog' if rocksdb else 'delta'}")
        files += changes[wanted]
        wanted -= 1
    return Chain(tuple(reversed(files)))


def versions(names: Iterable[str]) -> set[int]:
    """All versions that the files hold."""
    copies, changes = _by_version(names)
    held = {0}
    for version in sorted(copies.keys() | changes.keys()):
        if version in copies or (version in changes and version - 1 in held):
            held.add(version)
    return held


def shared_files(copy: bytes) -> list[SharedFile]:
    """The files that a full copy of RocksDB refers to.

    Raises:
        ValueError: the copy is not a complete zip file, or has no metadata.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(copy)) as archive:
            if broken := archive.testzip():
                raise ValueError(f"{broken} in it is broken")
            metadata = json.loads(archive.read("metadata").decode().splitlines()[-1])
        entries = [("SSTs", "dfsSstFileName", each) for each in metadata.get("sstFiles") or ()]
        entries += [("logs", "dfsLogFileName", each) for each in metadata.get("logFiles") or ()]
        return [
            SharedFile(f"{folder}/{each[name]}", int(each["sizeBytes"])) for folder, name, each in entries
        ]
    except _BROKEN as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


def incomplete(content: bytes) -> str:
    """Why a file of changes is not whole; empty if it is, or if its compression is not Spark's default.

    Spark's default is LZ4 in blocks, each with a head of 21 bytes: 8 of a name, the method, the lengths of the compressed and
    of the plain block, and a checksum. The last block is empty. Only heads and lengths are checked.
    """
    if not content:
        return "is empty"
    if not content.startswith(_BLOCK[: len(content)]):
        known = any(content.startswith(head) for head in _OTHER_COMPRESSIONS)
        return "" if known else "has other content than changes of the state"
    position = 0
    while content[position : position + len(_BLOCK)] == _BLOCK and len(content) >= position + _HEAD:
        length = int.from_bytes(content[position + 9 : position + 13], "little")
        position += _HEAD + length
        if length == 0:
            return "" if position == len(content) else "has other content behind its end"
    return "is cut off"


def _by_version(names: Iterable[str]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """The full copies and the changes, by version."""
    copies: dict[int, list[str]] = {}
    changes: dict[int, list[str]] = {}
    for name in sorted(names):
        if match := _NAME.match(name):
            kind = copies if match[2] in _COPIES else changes
            kind.setdefault(int(match[1]), []).append(name)
    return copies, changes
