"""Kafka topics as a source: topics, start, end, and limits of a batch."""

from datetime import datetime
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from mainstem.language.base import (
    LIST_SET,
    MAX_ITEMS,
    UNIQUE,
    Duration,
    Identifier,
    Options,
    PositiveInt,
    Text,
)
from mainstem.language.model.connectors.kafka_client import OWNED_CONSUMER
from mainstem.language.model.connectors.kinds import DeclaredColumns, Delivery, SourceKind


OffsetsText = Annotated[str, StringConstraints(min_length=1, max_length=64 * 1024)]
Partitions = Annotated[
    tuple[Annotated[int, Field(ge=0, le=2**31 - 1)], ...], Field(min_length=1, max_length=1024)
]

_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


class KafkaSource(SourceKind):
    """Records of Kafka topics; one of `subscribe`, `subscribePattern`, `assign` names them.

    Set at most one of the three fields `starting...`, and at most one of the three fields `ending...`. A source with
    an end is bounded and does not stream. A query over only bounded and static sources runs once.
    """

    one_of: ClassVar = ("subscribe", "subscribePattern", "assign")
    connection_kind: ClassVar = "kafka"
    options_field: ClassVar = "options"
    owned_options: ClassVar = {
        "subscribe": "subscribe",
        "subscribepattern": "subscribePattern",
        "assign": "assign",
        "startingoffsets": "startingOffsets",
        "startingtimestamp": "startingTimestamp",
        "startingoffsetsbytimestamp": "startingOffsetsByTimestamp",
        "startingoffsetsbytimestampstrategy": "startingOffsetsByTimestampStrategy",
        "endingoffsets": "endingOffsets",
        "endingtimestamp": "endingTimestamp",
        "endingoffsetsbytimestamp": "endingOffsetsByTimestamp",
        "maxoffsetspertrigger": "maxOffsetsPerTrigger",
        "minoffsetspertrigger": "minOffsetsPerTrigger",
        "maxtriggerdelay": "maxTriggerDelay",
        "minpartitions": "minPartitions",
        "maxrecordsperpartition": "maxRecordsPerPartition",
        "failondataloss": "failOnDataLoss",
        "includeheaders": "includeHeaders",
    } | OWNED_CONSUMER
    delivery: ClassVar = Delivery.EXACTLY_ONCE
    continuous: ClassVar = True
    real_time: ClassVar = True
    # Spark's Kafka source rejects limits of a batch in real-time mode.
    real_time_refuses: ClassVar = ("minPartitions", "maxOffsetsPerTrigger", "minOffsetsPerTrigger")
    not_kept: ClassVar = ""

    connection: Identifier
    """Name of the Kafka connection."""
    subscribe: (
        Annotated[
            tuple[Text, ...], Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra=LIST_SET), UNIQUE
        ]
        | None
    ) = None
    """Names of topics."""
    subscribe_pattern: Text | None = None
    """Java regular expression for the names of topics."""
    assign: Annotated[dict[Text, Partitions], Field(min_length=1, max_length=MAX_ITEMS)] | None = None
    """Exact partitions: topic -> partition numbers."""
    starting_offsets: OffsetsText | None = None
    """`earliest`, `latest`, or Spark's JSON of topic -> partition -> offset. Only a query with a new checkpoint uses
    the start. Without a start, a stream begins at `latest`, and a bounded source at `earliest`."""
    starting_timestamp: Text | None = None
    """Start at the first record of this time or later: `2026-01-01T00:00:00Z`, or milliseconds since 1970."""
    starting_offsets_by_timestamp: OffsetsText | None = None
    """The same for each partition: JSON of topic -> partition -> milliseconds since 1970."""
    starting_offsets_by_timestamp_strategy: Literal["error", "latest"] = "error"
    """If a partition has no record of the starting time or later, `error` fails the query, and `latest` reads only
    new records."""
    ending_offsets: OffsetsText | None = None
    """End: `latest`, or Spark's JSON of topic -> partition -> offset. The query does not read the record at that
    offset."""
    ending_timestamp: Text | None = None
    """End before the first record of this time or later. If there is none, end after the newest record."""
    ending_offsets_by_timestamp: OffsetsText | None = None
    """The same for each partition: JSON of topic -> partition -> milliseconds since 1970."""
    max_offsets_per_trigger: PositiveInt | None = None
    """Maximum number of records in a batch, over all partitions."""
    min_offsets_per_trigger: PositiveInt | None = None
    """Number of records that a batch waits for, but no longer than `maxTriggerDelay`."""
    max_trigger_delay: Duration | None = None
    """The longest wait for `minOffsetsPerTrigger`; Spark's default is 15 minutes."""
    min_partitions: PositiveInt | None = None
    """Minimum number of Spark partitions; Spark splits Kafka's partitions to reach it."""
    max_records_per_partition: PositiveInt | None = None
    """Maximum number of records in a Spark partition; Spark splits larger Kafka partitions."""
    fail_on_data_loss: bool = True
    """If offsets have expired, true fails the query; false continues after the gap."""
    isolation_level: Literal["read_committed", "read_uncommitted"] = "read_committed"
    """As in Kafka: `read_committed` reads no records of aborted or open transactions; `read_uncommitted` reads
    both."""
    include_headers: bool = False
    """Add the column `headers`."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's Kafka source. Mainstem refuses options that have their own field."""

    @property
    def bounded(self) -> bool:
        """True if the document sets an end."""
        return any((self.ending_offsets, self.ending_timestamp, self.ending_offsets_by_timestamp))

    @property
    def starts_at_newest(self) -> bool:
        """True without a start, unless the document sets an end."""
        if self.bounded or self.starting_timestamp or self.starting_offsets_by_timestamp:
            return False
        return (self.starting_offsets or "latest").strip().lower() == "latest"

    @property
    def holds_records(self) -> bool:
        """Every row is a record."""
        return True

    def columns(self) -> DeclaredColumns | None:
        """The columns of Spark's Kafka source, which hold undecoded records."""
        return DeclaredColumns((*_COLUMNS, "headers") if self.include_headers else _COLUMNS)


def milliseconds(time: str) -> int | None:
    """A time of the document in milliseconds since 1970; None for an invalid time, or one without a zone.

    >>> milliseconds("1970-01-01T00:00:01Z"), milliseconds("1500"), milliseconds("1970-01-01")
    (1000, 1500, None)
    """
    if time.isascii() and time.isdigit():
        return int(time)
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return None
    return None if moment.tzinfo is None else round(moment.timestamp() * 1000)
