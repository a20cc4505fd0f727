"""The names of the files in Spark's logs, such as `offsets`, `commits`, `sources/0` and `_spark_metadata`; pure."""

from collections.abc import Iterable
from typing import Final, NamedTuple


SINK_LOG: Final = "_spark_metadata"
"""The folder of the log of a file sink, in the sink's folder."""
COMPACT: Final = ".compact"
"""Ending of an entry that has the content of all entries before it too."""


class EntryNumbers(NamedTuple):
    """The numbers of a log's entries; other files, such as temporary ones and checksums, are left out.

    Attributes:
        plain: of the entries of one batch each.
        compact: of the compact entries.
    """

    plain: frozenset[int]
    compact: frozenset[int]

    @property
    def all(self) -> frozenset[int]:
        """The numbers of all entries."""
        return self.plain | self.compact


def entry_numbers(names: Iterable[str]) -> EntryNumbers:
    """The numbers of the entries with these names.

    >>> entry_numbers(["9.compact", "10", ".10.crc", ".11.tmp"])
    EntryNumbers(plain=frozenset({10}), compact=frozenset({9}))
    """
    plain: set[int] = set()
    compact: set[int] = set()
    for name in names:
        stem = name.removesuffix(COMPACT)
        if stem.isdecimal():
            (plain if stem == name else compact).add(int(stem))
    return EntryNumbers(frozenset(plain), frozenset(compact))
