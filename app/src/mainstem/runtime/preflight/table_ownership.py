"""Gives each Delta table on S3 one owner: the first pipeline that writes it, named in a record beside the table's folder.

Delta's log store for S3 keeps writers apart only within one JVM. If two drivers committed the same version, one commit
would overwrite the other, and its rows would be lost. A conditional PUT creates the record, so exactly one of several
concurrent pipelines succeeds. The record stays when the pipeline stops.
"""

import json
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from mainstem import logs, reasons
from mainstem.errors import NotReady
from mainstem.language.model.queries import Query
from mainstem.runtime.clients.exclusive_files import S3Object
from mainstem.runtime.clock import Clock
from mainstem.runtime.preflight.inputs import ask


_OWNER_RECORD: Final = "mainstem-writer.json"


@dataclass(frozen=True)
class TableOwner:
    """The pipeline that owns a table.

    Attributes:
        pipeline: `namespace/name` on a cluster, `name` on one machine.
        since: the time at which the pipeline became the owner, in ISO 8601.
    """

    pipeline: str
    since: str

    def text(self) -> str:
        """The owner record as JSON."""
        return json.dumps({"pipeline": self.pipeline, "since": self.since})


def take(session: SparkSession, query: Query, pipeline: str, clock: Clock) -> None:
    """Make the pipeline the owner of every Delta table on S3 that a query writes, until somebody removes the records.

    Raises:
        NotReady: `TableOwnedByAnotherPipeline`: another pipeline owns one of the tables; `TableOwnershipUnreadable`; or
            the store does not answer.
    """
    for table in _tables(query):
        ask("the Delta table", table, partial(_take, session, table, pipeline, clock))


def look(session: SparkSession, query: Query, pipeline: str) -> None:
    """Return if the pipeline may take every Delta table on S3 that a query writes; takes none.

    Raises:
        NotReady: as `take`.
    """
    for table in _tables(query):
        owner = ask("the Delta table", table, partial(read, session, owner_record(table)))
        if owner is not None and owner.pipeline != pipeline:
            raise _owned(table, owner)


def _tables(query: Query) -> list[str]:
    """The folders of the Delta tables on S3 that a query writes."""
    folders = (sink.delta.path.rstrip("/") for sink in query.to if sink.delta)
    return sorted({folder for folder in folders if folder.startswith("s3a://")})


def _take(session: SparkSession, table: str, pipeline: str, clock: Clock) -> None:
    file = owner_record(table)
    owner = read(session, file)
    if owner is None:
        new_owner = TableOwner(pipeline, clock.now().isoformat(timespec="seconds"))
        if create(session, file, new_owner):
            if create(session, file, new_owner):
                logs.get("mainstem").warning(
                    "the store has no conditional writes, so nothing keeps another pipeline from writing this table",
                    table=table,
                )
            return
        owner = read(session, file)
    if owner is None or owner.pipeline != pipeline:
        raise _owned(table, owner)


def _owned(table: str, owner: TableOwner | None) -> NotReady:
    owner_text = f"the pipeline {owner.pipeline!r}, since {owner.since}" if owner else "another pipeline"
    return NotReady(
        f"the Delta table {table} belongs to {owner_text}; on S3 only one pipeline may write a Delta table",
        reason=reasons.TABLE_OWNED_BY_ANOTHER_PIPELINE,
        remedy=f"write another table; or, once that pipeline no longer writes this table, remove {owner_record(table)}",
    )


def owner_record(table: str) -> str:
    """The path of a table's owner record: `s3a://lake/_orders.mainstem-writer.json` for `s3a://lake/orders`.

    Delta creates a table only in an empty folder, so the record is beside the folder. Readers of the parent folder ignore
    names that begin with `_`.
    """
    above, _, name = table.rpartition("/")
    return f"{above}/_{name}.{_OWNER_RECORD}" if above not in ("", "s3a:/") else f"{table}/_{_OWNER_RECORD}"


def create(session: SparkSession, file: str, owner: TableOwner) -> bool:
    """Create an owner record; returns False if one exists or another writer is creating it."""
    return S3Object(session, file).create(owner.text())


def read(session: SparkSession, file: str) -> TableOwner | None:
    """The owner that a record names; None if the record does not exist."""
    text = S3Object(session, file).read()
    if text is None:
        return None
    try:
        record = json.loads(text)
        return TableOwner(str(record["pipeline"]), str(record["since"]))
    except (ValueError, KeyError, TypeError) as error:
        raise NotReady(
            f"the owner record {file} does not name the pipeline that writes the table",
            reason=reasons.TABLE_OWNERSHIP_UNREADABLE,
            remedy="make sure that no pipeline writes the table, then remove the file",
        ) from error
