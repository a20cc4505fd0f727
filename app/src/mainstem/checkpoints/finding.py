"""Finds checkpoints below a path, with their owners."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.checkpoints import owner
from mainstem.checkpoints.layout import Layout
from mainstem.checkpoints.owner import Owner
from mainstem.checkpoints.stores import Folder, LocalStore, Store, StoredFile
from mainstem.errors import NotReady
from mainstem.language.analysis.folders import normal
from mainstem.language.model.connections import S3Connection
from mainstem.language.model.pipeline import StreamingPipeline


_MARK: Final = re.compile(
    r"^(.*?/)??(?:metadata|(?:offsets|commits)/\.?\d+[^/]*|runs/[^/]+/(?:planned|done)/\d+)$"
)
"""A file that only checkpoints have, with the folder above it."""
_OWNER: Final = re.compile(r"_(\d+)\.mainstem-owner\.json$")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint.

    Attributes:
        folder: its folder.
        layout: its files.
        owner: the driver that owns it; None if no driver has started on it.
        owner_problem: why the owner record cannot be read; empty if it can.
    """

    folder: Folder
    layout: Layout
    owner: Owner | None = None
    owner_problem: str = ""

    @property
    def query(self) -> str:
        """The name of the folder above: the query's name or `checkpoint.id`."""
        return self.folder.parent.name

    @property
    def generation(self) -> int | None:
        """The generation; None for a checkpoint whose folder has another name."""
        return int(self.folder.name) if self.folder.name.isdecimal() else None

    @property
    def is_running_here(self) -> bool:
        """Whether the owner's process runs on this machine."""
        return self.owner is not None and owner.is_alive(self.owner.process)

    def refuse_running(self) -> None:
        """Raise `CheckpointInUse` if the owner runs on this machine."""
        if self.owner is not None and self.is_running_here:
            raise NotReady(
                f"the checkpoint {self.folder} is in use by {self.owner.description}",
                reason=reasons.CHECKPOINT_IN_USE,
                remedy="stop that pipeline first",
            )


def opened(path: str, pipeline: StreamingPipeline | None = None) -> Folder:
    """The folder at a path; a bucket's connection is the document's, if there is one.

    Raises:
        NotReady: the path is neither local nor `s3a://`, or `SecretNotFound`.
    """
    if path.startswith("s3a://"):
        location = normal(path).removeprefix("s3a://")  # Arrow refuses some spellings that Hadoop takes
        return Folder(_s3(location.partition("/")[0], pipeline), location)
    plain = re.sub(r"^file:/+", "/", path)
    if re.match(r"\w[\w+.-]*:/", plain):
        raise NotReady(
            f"{path} is neither a local path nor a path in an S3 store",
            reason=reasons.CHECKPOINT_NOT_FOUND,
            remedy="write a local path or s3a://bucket/path",
        )
    return Folder(LocalStore(), str(Path(plain).absolute()).rstrip("/"))


def beside(folder: Folder, path: str, pipeline: StreamingPipeline | None = None) -> Folder:
    """The folder at another path; in the same store if it is in the same bucket or on this machine."""
    other = opened(path, pipeline)
    same_bucket = other.path.partition("/")[0] == folder.path.partition("/")[0]
    is_same = other.store.prefix == folder.store.prefix and (not other.store.prefix or same_bucket)
    return Folder(folder.store, other.path) if is_same else other


def below(root: Folder) -> list[Checkpoint]:
    """All checkpoints at or below a folder, by query and generation.

    Raises:
        NotReady: `CheckpointNotFound`: there is none.
    """
    files = root.files()
    checkpoints = [_checkpoint(root, prefix, files) for prefix in prefixes(file.path for file in files)]
    if not checkpoints:
        raise not_found(root)
    return sorted(checkpoints, key=lambda each: (each.query, each.generation or 0, each.folder.path))


def single(root: Folder) -> Checkpoint:
    """The checkpoint at a folder.

    Raises:
        NotReady: `CheckpointNotFound`: the folder is none, or has several below it.
    """
    checkpoints = below(root)
    if checkpoints[0].folder.path == root.path:
        return checkpoints[0]
    names = ", ".join(f"{each.query}/{each.folder.name}" for each in checkpoints)
    raise NotReady(
        f"{root} is not a checkpoint; below it are {names}",
        reason=reasons.CHECKPOINT_NOT_FOUND,
        remedy="name one of them, or give a document with -f and a query with --query",
    )


def stream(root: Folder) -> Checkpoint:
    """The checkpoint of a stream at a folder.

    Raises:
        NotReady: `CheckpointNotFound`: it is another folder, or the checkpoint of a query that runs once.
    """
    checkpoint = single(root)
    if not checkpoint.layout.is_stream:
        raise NotReady(
            f"{root} is the checkpoint of a query that runs once, and has no batches",
            reason=reasons.CHECKPOINT_NOT_FOUND,
            remedy="name the checkpoint of a stream",
        )
    return checkpoint


def not_found(root: Folder) -> NotReady:
    """The error of a folder without checkpoints."""
    return NotReady(
        f"{root} has no checkpoint",
        reason=reasons.CHECKPOINT_NOT_FOUND,
        remedy="correct the path; mainstem checkpoint ls lists the checkpoints of a location",
    )


def prefixes(paths: Iterable[str]) -> list[str]:
    """The folders of the checkpoints among files, relative, with a slash at their end; pure."""
    marked = {match[1] or "" for path in paths if (match := _MARK.match(path))}
    shortest: list[str] = []
    for prefix in sorted(marked, key=len):
        hidden = any(part.startswith(("_", ".")) for part in prefix.split("/"))
        if not hidden and not any(prefix.startswith(above) for above in shortest):
            shortest.append(prefix)
    return sorted(shortest)


def next_generation(checkpoint: Checkpoint) -> Folder:
    """The folder of the query's next free generation.

    Raises:
        NotReady: `CheckpointNotFound`: the checkpoint's folder is not called like a generation.
    """
    if checkpoint.generation is None:
        raise NotReady(
            f"{checkpoint.folder} has no number as its last part, so it has no next generation",
            reason=reasons.CHECKPOINT_NOT_FOUND,
            remedy="use mainstem checkpoint fork with a folder of your choice",
        )
    above = checkpoint.folder.parent
    used = {checkpoint.generation}
    for file in above.files():
        first = file.path.partition("/")[0]
        if first.isdecimal():
            used.add(int(first))
        elif match := _OWNER.match(first):
            used.add(int(match[1]))
    return above / str(max(used) + 1)


def _checkpoint(root: Folder, prefix: str, files: list[StoredFile]) -> Checkpoint:
    folder = root / prefix.rstrip("/") if prefix else root
    own = [
        StoredFile(file.path[len(prefix) :], file.size, file.modified)
        for file in files
        if file.path.startswith(prefix)
    ]
    record = owner.record_of(folder.path)
    try:
        driver = owner.parse(
            folder.store.read(record).decode(errors="replace"), f"{folder.store.prefix}{record}"
        )
    except FileNotFoundError:
        return Checkpoint(folder, Layout.from_files(own))
    except NotReady as error:
        return Checkpoint(folder, Layout.from_files(own), owner_problem=error.message)
    return Checkpoint(folder, Layout.from_files(own), driver)


def _s3(bucket: str, pipeline: StreamingPipeline | None) -> Store:
    from mainstem.checkpoints.s3_store import S3Store

    connections: list[S3Connection] = (
        [each.s3 for each in pipeline.spec.connections if each.s3] if pipeline else []
    )
    return S3Store(next((each for each in connections if bucket in each.buckets), None))
