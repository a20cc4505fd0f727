"""What is wrong with the records beside a checkpoint: that of its owner, and that of its document."""

from collections.abc import Iterator

from mainstem.checkpoints import document_record, owner
from mainstem.checkpoints.requirements import Problem
from mainstem.checkpoints.stores import Folder
from mainstem.errors import NotReady


def problems(folder: Folder) -> Iterator[Problem]:
    """The problems of the records; their files are named with the path above the checkpoint."""
    path = owner.record_of(folder.path)
    text = _text(folder, path)
    if text is not None and not text.strip():
        yield Problem(
            _shown(path), "is empty; a restart takes the checkpoint over from no owner", blocks=False
        )
    elif text is not None:
        try:
            owner.parse(text, path)
        except NotReady:
            yield Problem(
                _shown(path), "is not an owner record; a restart fails with CheckpointOwnerUnreadable"
            )
    path = document_record.record_of(folder.path)
    text = _text(folder, path)
    if text is not None and not document_record.is_record(text):
        yield Problem(
            _shown(path),
            "is not a document record; a restart does not compare the document with the checkpoint",
            blocks=False,
        )


def _shown(path: str) -> str:
    return f"../{path.rpartition('/')[2]}"


def _text(folder: Folder, path: str) -> str | None:
    try:
        return folder.store.read(path).decode(errors="replace")
    except FileNotFoundError:
        return None
