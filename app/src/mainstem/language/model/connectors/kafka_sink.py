"""A Kafka topic as a sink."""

from typing import Annotated, ClassVar

from pydantic import Field

from mainstem.language.base import MAX_ITEMS, Column, Columns, Identifier, Model, Options, Text


Headers = Annotated[dict[Text, Column], Field(max_length=MAX_ITEMS)]


class KafkaSink(Model):
    """Records to a topic, at least once: after a failure the last batch may be written again."""

    one_of: ClassVar = ("topic", "topicColumn")

    connection: Identifier
    """Name of the Kafka connection."""
    topic: Text | None = None
    """Topic that every row goes to."""
    topic_column: Column | None = None
    """Column that names each row's topic."""
    key: Columns | None = None
    """Columns whose JSON object is the record's key; without `key` and `keyColumn` the key is null."""
    key_column: Column | None = None
    """Column that is the record's key as it is: binary, or anything else as a string."""
    value: Columns | None = None
    """Columns whose JSON object is the record's value; without `value` and `valueColumn` all columns."""
    value_column: Column | None = None
    """Column that is the record's value as it is: binary, or anything else as a string. Null is a tombstone."""
    headers: Headers | None = None
    """Headers of each record by name, in the order of their names, each with the column that it is taken from: binary, or
    anything else as a string; a null leaves the header's value out."""
    headers_column: Column | None = None
    """Column that holds the headers: `ARRAY<STRUCT<key: STRING, value: BINARY>>`, as Kafka sources give them, or a
    map of strings."""
    options: Options = Field(default_factory=dict)
    """Further options of Spark's Kafka sink."""
