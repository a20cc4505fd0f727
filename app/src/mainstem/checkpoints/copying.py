"""Copies a checkpoint as it was after a committed batch, to a folder of its own.

The copy has an id of its own. Delta tables and `mainstem_batches` recognize batches by this id and the batch's number. A
copy with the old id would plan other rows under the same numbers, and the sinks would skip them: the rows would be lost.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

from mainstem import reasons
from mainstem.checkpoints import document_record, entries, requirements
from mainstem.checkpoints.checksums import checksum_file
from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.stores import Folder
from mainstem.errors import NotReady


_UNKNOWN_TOPIC: Final = "unknown"
"""The id of a topic of which it is not known whether it is the topic that the batch has read."""


@dataclass(frozen=True)
class Copy:
    """What is copied.

    Attributes:
        batch: the committed batch after which the copy continues.
        files: the paths of the files that are copied unchanged, in the order of the copy.
        written: path -> the content of each file that differs in the copy, in the order of the copy.
        unsure_topics: topics that may have been created again since the batch.
    """

    batch: int
    files: tuple[str, ...]
    written: dict[str, bytes]
    unsure_topics: tuple[str, ...] = ()


def plan(folder: Folder, layout: Layout, batch: int, target: Folder, *, history: int | None = None) -> Copy:
    """What a copy after a committed batch consists of; writes nothing.

    Args:
        folder: the checkpoint.
        layout: its files.
        batch: the batch after which the copy continues.
        target: the folder of the copy.
        history: how many of the newest plans and commits the copy has; None for all. A running driver removes the oldest
            ones at any time.

    Raises:
        NotReady: `BatchNotKept`: the batch is not committed, or its plan or its state is no longer there.
    """
    _check_kept(folder, layout, batch)
    state = requirements.state_requirements(folder, layout, batch + 1)
    # Without its description an operator's state would be left out.
    lacking = (each for each in state.problems if each.blocks or each.file.endswith("/_metadata"))
    if first := next(lacking, None):
        raise _not_kept(folder, layout, batch, f"{first.file} {first.problem}")
    topics, unsure = _topics(folder, layout, batch)
    logs = [f"offsets/{each}" for each in _newest(layout.planned, batch, history)]
    logs += [f"commits/{each}" for each in _newest(layout.committed, batch, history)]
    metadata = {path for path in state.files if "/_metadata/v2/" in path}
    written = dict.fromkeys(topics, b"")
    for path in sorted(metadata):
        if int(path.rpartition("/")[2]) <= batch:
            written[path] = entries.moved(folder.text(path), folder.path, hadoop_path(target)).encode()
    written["metadata"] = json.dumps({"id": str(uuid4())}, separators=(",", ":")).encode()
    return Copy(
        batch,
        # All entries of the sources' logs: an entry that was left out would be listed anew, without the files that are gone.
        (
            *_with_checksums(layout, logs + layout.below("sources")),
            *_with_checksums(layout, _unlike(state.files, metadata)),
        ),
        written,
        unsure,
    )


def carry_out(copy: Copy, folder: Folder, target: Folder) -> None:
    """Write the copy, and the record of its document. The file `metadata` comes last: without it Spark does not start.

    Raises:
        NotReady: `CheckpointExists`: the target has files.
    """
    if target.files() or not target.store.reserve(target.path):
        raise NotReady(
            f"{target} exists already",
            reason=reasons.CHECKPOINT_EXISTS,
            remedy="name a folder that does not exist",
        )
    *first, metadata = copy.written.items()
    try:
        for path, content in first:
            target.write(path, content)
        for path in copy.files:
            folder.copy(path, target)
        document_record.copy(folder, target)
        target.write(*metadata)
    except BaseException as error:
        with suppress(NotReady, OSError):
            remove(target, [file.path for file in target.files()])
        if isinstance(error, FileNotFoundError):
            raise _changed(folder) from error
        raise


def remove(folder: Folder, paths: Iterable[str]) -> None:
    """Remove files of a folder, and the folder. `metadata` goes first, so that no driver starts on a part of the rest."""
    for path in sorted(paths, key=lambda path: path != "metadata"):
        folder.delete(path)
    with suppress(FileNotFoundError):
        folder.store.prune(folder.path)


def hadoop_path(folder: Folder) -> str:
    """The folder as Spark writes it into files: `file:/a/b`, or `s3a://bucket/key`."""
    return str(folder) if folder.store.prefix else f"file:{folder.path}"


def _check_kept(folder: Folder, layout: Layout, batch: int) -> None:
    if batch not in layout.committed:
        raise _not_kept(folder, layout, batch, "it is not among the committed batches")
    if batch not in layout.planned:
        raise _not_kept(folder, layout, batch, f"offsets/{batch} is missing")


def _topics(folder: Folder, layout: Layout, batch: int) -> tuple[list[str], tuple[str, ...]]:
    """The ids of the topics that the batch may have read, as files, and the topics whose id is not known.

    The id of a topic that was created again later must not look as if the batch had read the topic: the query would
    continue at an offset of the old topic, and skip records.
    """
    planned_at = layout.files[f"offsets/{batch}"].modified
    offsets = entries.plan(folder.text(f"offsets/{batch}")).offsets
    ids: dict[tuple[str, str], list[str]] = {}
    unsure = []
    for path in layout.below("topics"):
        occurrence, topic = path.split("/")[1:3]
        known = ids.setdefault((occurrence, topic), [])
        if layout.files[path].modified <= planned_at:
            known.append(path)
    for (occurrence, topic), known in ids.items():
        read = entries.sources(offsets.get(occurrence, ""))
        if not known and isinstance(read, dict) and topic in read:
            known.append(f"topics/{occurrence}/{topic}/{_UNKNOWN_TOPIC}")
            unsure.append(topic)
    return [path for known in ids.values() for path in known], tuple(sorted(set(unsure)))


def _newest(batches: Iterable[int], last: int, count: int | None) -> list[int]:
    """The newest batches up to the last one; all of them without a count."""
    known = [batch for batch in batches if batch <= last]
    return known if count is None else known[-count:]


def _with_checksums(layout: Layout, paths: Iterable[str]) -> list[str]:
    """The files, each after its file of checksums: Hadoop reads a file without one, and refuses another file's."""
    return [
        each for path in dict.fromkeys(paths) for each in (checksum_file(path), path) if each in layout.files
    ]


def _unlike(paths: Iterable[str], others: set[str]) -> list[str]:
    return [path for path in paths if path not in others]


def _not_kept(folder: Folder, layout: Layout, batch: int, why: str) -> NotReady:
    kept = requirements.kept_batches(layout, requirements.operators(folder, layout))
    return NotReady(
        f"the checkpoint {folder} cannot go back to batch {batch}: {why}",
        reason=reasons.BATCH_NOT_KEPT,
        remedy=f"choose one of the batches {ranges(kept)}"
        if kept
        else "start a new generation with an empty checkpoint",
    )


def _changed(folder: Folder) -> NotReady:
    return NotReady(
        f"files of the checkpoint {folder} disappeared during the copy, and the copy was removed",
        reason=reasons.CHECKPOINT_IN_USE,
        remedy="stop the pipeline that uses the checkpoint, and repeat the command",
    )


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers as text: `0-3, 5`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{first}-{last}" if first < last else str(first) for first, last in parts)
