"""Reads and writes the record beside each checkpoint of the document under which it was last written.

The record of `c/orders/1` is `c/orders/_1.mainstem-document.json`, beside the owner record. `mainstem checkpoint` copies it
with the checkpoint; another copy of the folder has none.
"""

from pyspark.sql import SparkSession

from mainstem import logs
from mainstem.changes.record import DocumentRecord, parse
from mainstem.checkpoints.document_record import record_of
from mainstem.filesystem import Directory


def read(session: SparkSession, checkpoint: str) -> DocumentRecord | None:
    """The record of a checkpoint that has batches; None without batches, without a record, or if it cannot be parsed."""
    file = Directory(session, record_of(checkpoint))
    if not file.exists() or not _has_batches(Directory(session, checkpoint)):
        return None
    record = parse(file.text())
    if record is None:
        logs.get("mainstem").warning(
            "the document record cannot be parsed; the checkpoint counts as compatible", record=file.path
        )
    return record


def write(session: SparkSession, checkpoint: str, record: DocumentRecord) -> None:
    """Write the record of a checkpoint, and replace an earlier one."""
    Directory(session, record_of(checkpoint)).replace(record.text())


def _has_batches(checkpoint: Directory) -> bool:
    """Whether a batch or, for a query that runs once, a run was planned on the checkpoint."""
    offsets, runs = checkpoint / "offsets", checkpoint / "runs"
    planned = offsets.exists() and any(name.isdigit() for name in offsets.names())
    return planned or (runs.exists() and bool(runs.names()))


def generations(session: SparkSession, folder: str) -> list[int]:
    """The generations of a checkpoint that exist below its folder `<location>/<id>`."""
    directory = Directory(session, folder)
    names = directory.names() if directory.exists() else []
    return sorted(int(name) for name in names if name.isdigit())
