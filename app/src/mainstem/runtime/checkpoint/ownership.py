"""Each checkpoint has one owner: the driver whose token is in the owner record beside it.

A driver writes the record, with the next epoch, before it starts a query and before it removes files of another driver.
From then on an older driver of the same pipeline fails before it writes another file in the checkpoint or in a file sink's
log: the Java class `Fence` reads the record. A driver takes the checkpoint of another pipeline only if its document names that owner.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from pathlib import Path
from typing import Final
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.checkpoints.owner import DriverIdentity, Owner, identity, is_alive, parse, record_of
from mainstem.errors import Fenced, NotReady
from mainstem.filesystem import local_path
from mainstem.runtime.clients.exclusive_files import LocalFile, S3Object, SmallFile
from mainstem.runtime.clock import Clock


RECORD: Final = "spark.mainstem.checkpoint.owner.record"
TOKEN: Final = "spark.mainstem.checkpoint.owner.token"  # noqa: S105 - the name of a property
_TWO_RUNS: Final = "stop one of the two runs"


class AnotherRun(NotReady):
    """Another run of the pipeline uses a checkpoint, or has taken it at this moment."""


class Ownership:
    """Takes checkpoints for one driver.

    Args:
        driver: the pipeline of the driver.
        clock: the time of the run.
        conditional: whether the store supports conditional writes.
        take_over: the other owner from which the document takes the checkpoints; None for none.
    """

    def __init__(
        self, driver: DriverIdentity, clock: Clock, *, conditional: bool = True, take_over: str | None = None
    ) -> None:
        self._conditional = conditional
        self._take_over = take_over
        since, host = clock.now().isoformat(timespec="seconds"), socket.gethostname()
        self._owner = Owner(
            pipeline=driver.pipeline,
            description=f"the pipeline '{driver.pipeline}', whose driver started at {since} on {host}",
            process=identity(os.getpid()) or "",
            token=str(uuid4()),
            cluster=driver.cluster,
            uid=driver.uid,
            attempt=driver.attempt,
            started=since,
        )
        self._owned_checkpoints: set[str] = set()

    def claim(self, checkpoints: Sequence[tuple[SparkSession, str]]) -> None:
        """Take the checkpoints of all queries before the first one starts, or none of them.

        All runs take them in the same order, so of two that start at once the first one gets them all. What refuses a single
        checkpoint is left to `take`.

        Args:
            checkpoints: session and checkpoint of each query.

        Raises:
            AnotherRun: `CheckpointInUse`: another run of this pipeline uses one of them.
            Fenced: a newer driver of this pipeline has taken one of them.
        """
        for step in (self.look, self.take):
            for session, checkpoint in sorted(checkpoints, key=itemgetter(1)):
                try:
                    step(session, checkpoint)
                except AnotherRun:
                    raise
                except (NotReady, OSError, Py4JJavaError, PySparkException):
                    continue

    def take(self, session: SparkSession, checkpoint: str) -> None:
        """Make this driver the owner of a checkpoint, in the next epoch; from then on older drivers cannot write to it.

        Raises:
            AnotherRun: `CheckpointInUse`: another driver of this pipeline owns the checkpoint and runs on this machine, or has
                taken it at this moment.
            NotReady: `CheckpointInUse`: another pipeline owns the checkpoint. `CheckpointOwnerUnreadable`.
            Fenced: a newer driver of this pipeline has taken the checkpoint.
        """
        path = record_of(checkpoint)
        record = _file(session, path)
        if record is None:
            return
        with _explained(path):
            self._write(record, path, checkpoint)
        session.conf.set(RECORD, path)
        session.conf.set(TOKEN, self._owner.token)

    def owns(self, session: SparkSession, checkpoint: str) -> bool:
        """Whether this driver still owns a checkpoint; True on a file system without owner records."""
        path = record_of(checkpoint)
        record = _file(session, path)
        if record is None:
            return True
        return self._is_mine(record, path)

    def _is_mine(self, record: SmallFile, path: str) -> bool:
        """Whether this driver is the owner in the record: also where the answer to its write was lost, and the write repeated."""
        owner = _owner(record.read(), path)
        return owner is not None and owner.token == self._owner.token

    def look(self, session: SparkSession, checkpoint: str) -> None:
        """Return if this driver may take a checkpoint; takes nothing.

        Raises:
            AnotherRun, NotReady, Fenced: as `take`.
        """
        path = record_of(checkpoint)
        record = _file(session, path)
        with _explained(path):
            text = record.read() if record else None
        if owner := _owner(text, path):
            self._refuse(owner, checkpoint, path)

    def _write(self, record: SmallFile, path: str, checkpoint: str) -> None:
        if (
            checkpoint in self._owned_checkpoints
            or not self._conditional
            or not record.create(self._owner.after(None).text())
        ):
            self._replace_owner(record, path, checkpoint)
        self._owned_checkpoints.add(checkpoint)

    def _replace_owner(self, record: SmallFile, path: str, checkpoint: str) -> None:
        """Replace the owner in the record, unless the owner may still write."""
        owner = _owner(record.read(), path)
        if owner is not None and owner.token == self._owner.token:
            return
        if owner is not None:
            self._refuse(owner, checkpoint, path)
        if not record.replace(self._owner.after(owner).text()) and not self._is_mine(record, path):
            raise _in_use(
                f"another run has just taken over the checkpoint {checkpoint}", _TWO_RUNS, AnotherRun
            )

    def _refuse(self, owner: Owner, checkpoint: str, path: str) -> None:
        """Raise if this driver may not take the checkpoint from its owner."""
        if checkpoint in self._owned_checkpoints or self._owner.is_started_before(owner):
            raise Fenced(f"a newer driver has taken over the checkpoint {checkpoint}: {owner.description}")
        if not owner.is_same_pipeline(self._owner.after(owner)):
            if self._take_over and owner.is_named_by(self._take_over):
                return
            raise _in_use(
                f"the checkpoint {checkpoint} belongs to {owner.description}; its owner record is {path}",
                "set another checkpoints.location; or, once that pipeline no longer uses the checkpoint, set "
                f"checkpoints.takeOver: {owner.takeover}",
            )
        if owner.process != self._owner.process and is_alive(owner.process):
            raise _in_use(
                f"another run uses the checkpoint {checkpoint}: {owner.description}", _TWO_RUNS, AnotherRun
            )


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """A context in which an owner record is read or written on a local file system."""
    try:
        yield
    except OSError as error:
        raise NotReady(
            f"the owner record {path} of the checkpoint cannot be read or written: {error}",
            reason=reasons.CHECKPOINT_OWNER_UNREADABLE,
            remedy="make the volume of checkpoints.location writable, or free space on it",
        ) from error


def _file(session: SparkSession, path: str) -> SmallFile | None:
    """The record's file; None on a file system that cannot create a file for only one writer."""
    if path.startswith("s3a://"):
        return S3Object(session, path)
    local = local_path(path)
    return None if local is None else LocalFile(Path(local))


def _owner(text: str | None, path: str) -> Owner | None:
    """The owner in a record; None without a record, and in an empty file, which a crash may leave."""
    return parse(text, path) if text and text.strip() else None


def _in_use(message: str, remedy: str, kind: type[NotReady] = NotReady) -> NotReady:
    return kind(message, reason=reasons.CHECKPOINT_IN_USE, remedy=remedy)
