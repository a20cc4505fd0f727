"""A Kafka topic as a sink."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field

from mainstem.language.base import MAX_ITEMS, Column, Columns, Identifier, Options, Text
from mainstem.language.model.connectors.kafka_client import OWNED_PRODUCER
from mainstem.language.model.connectors.kinds import (
    AT_LEAST_ONCE,
    FieldPath,
    Guarantee,
    SinkKind,
    column_paths,
)


Headers = Annotated[dict[Text, Column], Field(max_length=MAX_ITEMS)]


class KafkaSink(SinkKind):
    """Records in a topic, at least once: after a failure Spark may write the last batch again."""

    one_of: ClassVar = ("topic", "topicColumn")
    connection_kind: ClassVar = "kafka"
    options_field: ClassVar = "options"
    owned_options: ClassVar = {"topic": "topic", "checkpointlocation": "checkpoints"} | OWNED_PRODUCER
    refusals: ClassVar = ()
    continuous: ClassVar = True
    real_time: ClassVar = True
    real_time_alternative: ClassVar = ""
    async_progress: ClassVar = True

    connection: Identifier
    """Name of the Kafka connection."""
    topic: Text | None = None
    """Topic for every row."""
    topic_column: Column | None = None
    """Column that names each row's topic."""
    key: Columns | None = None
    """Columns whose JSON object is the record's key; without `key` and `keyColumn` the key is null."""
    key_column: Column | None = None
    """Column with the record's key. Mainstem writes a binary column as it is, and any other column as a string."""
    value: Columns | None = None
    """Columns whose JSON object is the record's value; without `value` and `valueColumn`, the object has all
    columns."""
    value_column: Column | None = None
    """Column with the record's value. Mainstem writes a binary column as it is, and any other column as a string.
    Null is a tombstone."""
    headers: Headers | None = None
    """Column of each header of a record, by the header's name; headers are ordered by name. Mainstem writes a binary column as
    it is, and any other as a string. A null becomes a header without a value."""
    headers_column: Column | None = None
    """Column with the headers: `ARRAY<STRUCT<key: STRING, value: BINARY>>`, as in Kafka sources, or a map of
    strings."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's Kafka sink."""

    def guarantee(self) -> Guarantee:
        """Kafka's transactions are not used, so a batch may come twice."""
        return AT_LEAST_ONCE

    def repeated(self, mode: str) -> str:  # noqa: ARG002 - Delta and JDBC use it
        """Kafka keeps every record that it gets."""
        return "gets their records again"

    def columns(self) -> Iterator[tuple[FieldPath, str]]:
        """The columns of topic, key, value and headers."""
        yield from column_paths("topicColumn", self.topic_column)
        yield from column_paths("key", self.key)
        yield from column_paths("keyColumn", self.key_column)
        yield from column_paths("value", self.value)
        yield from column_paths("valueColumn", self.value_column)
        yield from column_paths("headersColumn", self.headers_column)
        for header, column in (self.headers or {}).items():
            yield ("headers", header), column
