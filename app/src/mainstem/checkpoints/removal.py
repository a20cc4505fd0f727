"""Removes a checkpoint with the records beside it."""

from typing import Any

from mainstem.checkpoints import document_record, owner
from mainstem.checkpoints.copying import remove as remove_files
from mainstem.checkpoints.finding import Checkpoint


def remove(checkpoint: Checkpoint, *, really: bool) -> dict[str, Any]:
    """Remove a checkpoint and the records of its owner and its document, or only list them.

    Returns:
        the removed paths: the folder, and the records that there are; and the number and bytes of the files.
    """
    folder, layout = checkpoint.folder, checkpoint.layout
    records = []
    if checkpoint.owner is not None or checkpoint.owner_problem:
        records.append(owner.record_of(folder.path))
    if document_record.exists(folder):
        records.append(document_record.record_of(folder.path))
    if really:
        remove_files(folder, layout.files)
        for record in records:
            folder.store.delete(record)
    paths = [str(folder), *(f"{folder.store.prefix}{record}" for record in records)]
    return {"paths": paths, "files": len(layout.files), "bytes": layout.size, "removed": really}
