"""The checksums that Hadoop keeps beside local files."""

import zlib
from typing import Final

from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.stores import Folder


_CRC_HEAD: Final = b"crc\0"


def checksum_file(path: str) -> str:
    """The path of the file with the checksums that Hadoop keeps beside a local file."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}.{name}.crc"


def differs(folder: Folder, layout: Layout, path: str) -> bool:
    """Whether a file has other content than its checksums say; False without checksums, and for a file that is gone."""
    checksums = checksum_file(path)
    if checksums not in layout.files:
        return False
    try:
        return not matches(folder.read(path), folder.read(checksums))
    except FileNotFoundError:
        return False


def matches(content: bytes, checksums: bytes) -> bool:
    """Whether a file has the checksums of Hadoop's file beside it: a CRC-32 for each piece of fixed length."""
    piece = int.from_bytes(checksums[4:8], "big")
    if not checksums.startswith(_CRC_HEAD) or len(checksums) < 8 or piece == 0:
        return False
    expected = b"".join(
        zlib.crc32(content[start : start + piece]).to_bytes(4, "big")
        for start in range(0, len(content), piece)
    )
    return checksums[8:] == expected
