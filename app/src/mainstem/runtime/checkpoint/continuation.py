"""Reads where the query of a checkpoint continues, and when its last batch was committed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from mainstem.checkpoints import entries
from mainstem.filesystem import Directory, newest
from mainstem.runtime.progress.positions import next_begins, spark_begins


@dataclass(frozen=True)
class Continuation:
    """Where the query of a checkpoint continues.

    Attributes:
        positions: occurrence of a Kafka source -> the offsets from which its next batch reads, as Spark's progress has them;
            None if they are not known. An occurrence about which the checkpoint has nothing is missing.
        committed_at: when the last batch was committed, by the clock of the store; None before the first.
    """

    positions: Mapping[str, Any]
    committed_at: datetime | None = None


def continuation(session: SparkSession, checkpoint: str, occurrences: Collection[str]) -> Continuation:
    """Where a stream continues.

    Args:
        session: any session.
        checkpoint: full path.
        occurrences: the Kafka sources that the query reads.

    Raises:
        Py4JError: the store does not answer.
        ValueError: a plan cannot be read.
    """
    folder = Directory(session, checkpoint)
    plans, commits = folder / "offsets", folder / "commits"
    batch, planned = newest(commits), newest(plans)
    committed = {} if batch is None else _offsets(plans, batch)
    if any(name.isdecimal() for name in committed):  # an older Spark, which gave the sources numbers
        committed = dict.fromkeys(occurrences)
    newest_plan = committed if planned in (None, batch) else _offsets(plans, int(planned))
    begins = _first(folder / "sources", [name for name in occurrences if name not in committed])
    known = {name: offsets for name, offsets in {**begins, **committed}.items() if name in occurrences}
    modified = None if batch is None else (commits / str(batch)).modified()
    time = None if modified is None else datetime.fromtimestamp(modified / 1000, UTC)
    return Continuation(next_begins(known, newest_plan), time)


def _offsets(plans: Directory, batch: int) -> dict[str, Any]:
    return entries.plan((plans / str(batch)).text()).ends


def _first(sources: Directory, occurrences: Collection[str]) -> dict[str, Any]:
    """Occurrence -> where its first batch begins, if Spark has decided that."""
    files = {name: sources / name / "0" for name in occurrences}
    return {name: spark_begins(file.text()) for name, file in files.items() if file.exists()}
