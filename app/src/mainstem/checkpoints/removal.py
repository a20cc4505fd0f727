"""Removes a checkpoint with its owner record."""

from typing import Any

from mainstem.checkpoints import owner
from mainstem.checkpoints.copying import remove as remove_files
from mainstem.checkpoints.finding import Checkpoint


def remove(checkpoint: Checkpoint, *, really: bool) -> dict[str, Any]:
    """Remove a checkpoint and its owner record, or only list them.

    Returns:
        the removed paths: the folder, and the record if there is one; and the number and bytes of the files.
    """
    folder, layout = checkpoint.folder, checkpoint.layout
    record = owner.record_of(folder.path)
    has_record = checkpoint.owner is not None or bool(checkpoint.owner_problem)
    if really:
        remove_files(folder, layout.files)
        if has_record:
            folder.store.delete(record)
    paths = [str(folder), *([f"{folder.store.prefix}{record}"] if has_record else [])]
    return {"paths": paths, "files": len(layout.files), "bytes": layout.size, "removed": really}
