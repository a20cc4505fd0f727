"""Detects topics that were deleted and recreated since a query read them, by their ids, and plans to read them from
their beginning.

Spark knows topics by name only. It continues from the old topic's offset: it silently skips the new topic's records
before that offset, and reports an error only if the new topic ends before it. Mainstem stores the ids that a query has
read below its checkpoint as empty files, `topics/<occurrence>/<topic>/<id>`, so that no id is ever half written. While a
query runs, a new id is stored before Spark plans the first batch that may read the new topic (the Java class
`TopicIds`): no record of such a batch is read twice.

The new beginning is one batch, which this module plans instead of Spark: for recreated topics it ends at their first
offset. Spark reads none of their records in it, and continues from there. If a batch is planned and not committed, its
offsets of other topics stay.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import SparkSession

from mainstem.filesystem import Directory, newest
from mainstem.runtime.progress.spark_progress import Offsets, offset


VERSION: Final = "v2"
"""The version of Spark's offset log that has a name for each source."""
NO_ID: Final = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of a topic whose broker gives none."""

Ids = Mapping[str, Mapping[str, str]]
"""Occurrence of a source -> topic -> id."""


@dataclass(frozen=True)
class Read:
    """The position that a query has read up to in a topic that was recreated.

    Attributes:
        occurrence: the occurrence of the source.
        topic: the name of the topic.
        position: partition -> the offset up to which the old topic was read; empty if that is unknown.
    """

    occurrence: str
    topic: str
    position: Mapping[str, int]


class TopicIds:
    """The ids of the topics that a query has read, stored below its checkpoint.

    Args:
        session: any session.
        checkpoint: full path of the query's checkpoint.
    """

    def __init__(self, session: SparkSession, checkpoint: str) -> None:
        self._session, self._checkpoint = session, checkpoint
        self._folder = Directory(session, f"{checkpoint}/topics")

    def known(self) -> set[tuple[str, str, str]]:
        """Occurrence, topic and id of each topic that the query may have read."""
        log = Directory(self._session, f"{self._checkpoint}/offsets")
        planned = newest(log)
        return read_ids(self._stored(), -1 if planned is None else (log / str(planned)).modified())

    def add(self, ids: Ids) -> None:
        """Store ids beside the stored ones."""
        for occurrence, topic, id_ in sorted(_flat(ids) - self._stored().keys()):
            (self._folder / occurrence / topic / id_).touch()

    def keep(self, ids: Ids) -> None:
        """Replace the stored ids; deletes the old ones only after it stored the new ones."""
        self.add(ids)
        known, current = set(self._stored()), _flat(ids)
        renewed = {(occurrence, topic) for occurrence, topic, _ in current}
        for occurrence, topic, id_ in sorted(known - current):
            if (occurrence, topic) in renewed:
                (self._folder / occurrence / topic / id_).delete()

    def _stored(self) -> dict[tuple[str, str, str], int]:
        """Occurrence, topic and id of each stored id, with the time when it was stored."""
        if not self._folder.exists():
            return {}
        files = ((file.path.split("/")[-3:], file.modified) for file in self._folder.files())
        return {(occurrence, topic, id_): modified for (occurrence, topic, id_), modified in files}

    def plan(self, topics: Iterable[tuple[str, str]], beginnings: Mapping[str, Offsets]) -> "RewindPlan":
        """The batch with which the query continues from the beginning of topics; writes nothing.

        Args:
            topics: occurrence and topic of each.
            beginnings: occurrence -> topic -> partition -> the first offset.

        Raises:
            ValueError: the offset log has an older version.
        """
        log = Directory(self._session, f"{self._checkpoint}/offsets")
        planned, committed = newest(log), newest(Directory(self._session, f"{self._checkpoint}/commits"))
        if planned is None:
            return RewindPlan(0, "", [])
        read, entry = rewound((log / str(planned)).text(), topics, beginnings)
        return RewindPlan(planned + 1 if planned == committed else planned, entry, read)

    def write(self, plan: "RewindPlan") -> None:
        """Write the planned batch to the offset log; replaces a batch that is planned and not committed."""
        if plan.read:
            (Directory(self._session, f"{self._checkpoint}/offsets") / str(plan.batch)).replace(plan.entry)


def watch(session: SparkSession, checkpoint: str, clients: Mapping[str, Any], ids: Ids) -> None:
    """Let Spark's JVM store new ids before it plans the next batch of a checkpoint.

    Args:
        session: any session.
        checkpoint: full path.
        clients: occurrence -> the Java properties of a Kafka client.
        ids: the ids that are known now.
    """
    topics = {occurrence: dict(known) for occurrence, known in ids.items()}
    _java(session).watch(_conf(session), checkpoint, dict(clients), topics)


def forget(session: SparkSession, checkpoint: str) -> None:
    """Stop watching the topics of a checkpoint."""
    _java(session).forget(_conf(session), checkpoint)


def _java(session: SparkSession) -> Any:
    jvm: Any = session._jvm  # noqa: SLF001
    return jvm.dev.mainstem.checkpoint.TopicIds


def _conf(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001


@dataclass(frozen=True)
class RewindPlan:
    """A batch with which a query continues from the beginning of topics.

    Attributes:
        batch: the number of the batch.
        entry: its entry in the offset log.
        read: the positions in the topics; empty if the checkpoint has no offsets of them, and nothing has to be done.
    """

    batch: int
    entry: str
    read: list[Read]


def read_ids(stored: Mapping[tuple[str, str, str], int], planned: int) -> set[tuple[str, str, str]]:
    """The ids of topics of which the query may have read records; pure.

    Args:
        stored: occurrence, topic and id of each, with the time when it was stored, in milliseconds.
        planned: when the newest batch was planned. If an id was stored after that, beside an older id of the same topic
            name, the query has read nothing of the new topic. At equal times it may have read: some stores keep whole
            seconds only.
    """
    return {
        (occurrence, topic, id_)
        for (occurrence, topic, id_), time in stored.items()
        if time <= planned
        or not any((occurrence, topic) == other[:2] and stored[other] < time for other in stored)
    }


def recreated(known: set[tuple[str, str, str]], ids: Ids) -> list[tuple[str, str]]:
    """The occurrences and topics that were read and now have another id; pure."""
    read = {(occurrence, topic) for occurrence, topic, _ in known}
    return sorted(
        (occurrence, topic)
        for occurrence, topic, id_ in _flat(ids)
        if (occurrence, topic) in read and (occurrence, topic, id_) not in known
    )


def exceeds(end: Offsets | None, topic: str, latest: Offsets) -> bool:
    """Whether an offset is past the end of a partition, as one of an older topic of this name may be; pure."""
    partitions = (end or {}).get(topic) or {}
    return any(int(at) > offset(latest, topic, partition, 0) for partition, at in partitions.items())


def renewed(known: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The topics that have another id now; pure. If a broker gave no id before, it was upgraded, and the topic is the same.

    Args:
        known: topic -> id, as the query knows it.
        now: topic -> id, as the brokers answer.
    """
    return [topic for topic, id_ in now.items() if id_ != NO_ID and known.get(topic, id_) not in (id_, NO_ID)]


def rewound(
    entry: str, topics: Iterable[tuple[str, str]], beginnings: Mapping[str, Offsets]
) -> tuple[list[Read], str]:
    """The positions of topics in an entry of the offset log, and the entry with their beginnings instead; pure.

    Raises:
        ValueError: the entry has an older version.
    """
    version, *lines = entry.splitlines()
    if version != VERSION:
        raise ValueError(f"the offset log has version {version!r}, and only {VERSION!r} names its sources")
    offsets = {name: text for name, _, text in (line.partition(":") for line in lines[1:])}
    read = []
    for occurrence, topic in topics:
        text = offsets.get(occurrence, "")
        ends = json.loads(text) if text.startswith("{") else {}
        if topic in ends:
            read.append(Read(occurrence, topic, ends[topic]))
            ends[topic] = dict(beginnings[occurrence][topic])
            offsets[occurrence] = json.dumps(ends, separators=(",", ":"))
    written = [f"{name}:{text}" for name, text in offsets.items()]
    return read, "\n".join([version, lines[0], *written])


def _flat(ids: Ids) -> set[tuple[str, str, str]]:
    return {
        (occurrence, topic, id_)
        for occurrence, topics in ids.items()
        for topic, id_ in topics.items()
        if id_ != NO_ID
    }
