"""Prepares a copy for Spark's offline repartitioning of its state, and finishes it afterwards."""

import re
from contextlib import suppress
from dataclasses import replace
from typing import Final

from mainstem.checkpoints import document_record, entries
from mainstem.checkpoints.checksums import checksum_file
from mainstem.checkpoints.copying import Copy
from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.stores import Folder


_OPERATOR: Final = re.compile(r"state/\d+/_metadata/(?:metadata|v2/\d+)")


def with_partitions(copy: Copy, folder: Folder, partitions: int) -> Copy:
    """The same copy, whose newest plan has the number of state partitions.

    Spark 4.2.0 repartitions only a checkpoint whose plan has this number. With sources that have names it does not write it
    into the plan itself.
    """
    path = f"offsets/{copy.batch}"
    entry = entries.with_conf(folder.text(path), entries.PARTITIONS, str(partitions)).encode()
    files = tuple(each for each in copy.files if each not in (path, checksum_file(path)))
    return replace(copy, files=files, written={path: entry, **copy.written})


def finish(folder: Folder, batch: int, partitions: int) -> None:
    """Complete a copy whose state Spark has repartitioned after a batch.

    Spark 4.2.0 leaves the old number in the metadata of the operators. And the batches before the repartitioning have a
    state of another number of partitions: nobody may go back to them. Spark reads only the last plan of them at a start.
    The document record of the copy gets the new number, so that a driver accepts a document that has it.
    """
    layout = Layout.from_files(folder.files())
    for path in layout.files:
        if _OPERATOR.fullmatch(path):
            text = entries.with_partitions(folder.text(path), partitions)
            _delete(folder, layout, checksum_file(path))
            folder.write(path, text.encode())
    old = [f"offsets/{each}" for each in layout.planned if each < batch]
    old += [f"commits/{each}" for each in layout.committed if each <= batch]
    for path in old:
        _delete(folder, layout, path)
        _delete(folder, layout, checksum_file(path))
    record = document_record.record_of(folder.path)
    with suppress(FileNotFoundError):
        text = folder.store.read(record).decode()
        folder.store.write(record, document_record.with_partitions(text, partitions).encode())


def _delete(folder: Folder, layout: Layout, path: str) -> None:
    if path in layout.files:
        folder.delete(path)
