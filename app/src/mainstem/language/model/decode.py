"""How the bytes of a record become columns."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from mainstem.language.base import LIST_SET, UNIQUE, Ddl, Model, Options, Sql, Text


OnMalformedRecord = Literal["fail", "drop", "deadLetter"]
OnTombstone = Literal["malformed", "skip"]
OTHER_CASE: Final = "otherCase"
"""Metric in Spark beside a decoder's counts: a key of a JSON object that differs only in case from a column, and the column."""
KafkaColumn = Literal["key", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


class JsonDecode(Model):
    """One JSON object in each record; the decoder omits fields that the schema does not name."""

    one_of: ClassVar = ("schema", "schemaFile")

    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL: `carrier STRING, delay INT`."""
    schema_file: Text | None = None
    """File on this machine, or in the driver pod, with the columns as JSON of a Spark StructType."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's JSON reader, such as `timestampFormat`."""
    allow_records_without_columns: bool = False
    """A record may have none of the columns, and then gives a row of nulls. By default it is malformed: its keys
    are probably others, such as `ID` instead of `id`."""


class CsvDecode(Model):
    """One line in each record, with fields between separators; the schema has one column for each field."""

    one_of: ClassVar = ("schema", "schemaFile")

    schema_: Annotated[Ddl | None, Field(alias="schema")] = None
    """Columns as DDL, in the order of the fields: `carrier STRING, delay INT`."""
    schema_file: Text | None = None
    """File on this machine, or in the driver pod, with the columns as JSON of a Spark StructType."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's CSV reader, such as `sep`, `escape`, `nullValue`, `timestampFormat`."""


class AvroDecode(Model):
    """Avro's binary form of one record, without the header of an Avro file."""

    one_of: ClassVar = ("schema", "schemaFile")

    schema_: Annotated[Sql | None, Field(alias="schema")] = None
    """Avro schema of the records, as JSON: exactly the schema that wrote them."""
    schema_file: Text | None = None
    """File on this machine, or in the driver pod, with the Avro schema (`.avsc`)."""
    registry_id: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    """Id of the schema in the five bytes of Confluent's wire format, with which each record then begins."""
    options: Options = Field(default_factory=dict)
    """Options of Spark's Avro reader, such as `datetimeRebaseMode`."""


class TextDecode(Model):
    """Text in UTF-8, as the one column `value` of type STRING."""


class Decode(Model):
    """How the bytes of a record become columns: one of `json`, `csv`, `avro`, `text`."""

    one_of: ClassVar = ("json", "csv", "avro", "text")

    json_: Annotated[JsonDecode | None, Field(alias="json")] = None
    """JSON objects."""
    csv: CsvDecode | None = None
    """Lines of CSV."""
    avro: AvroDecode | None = None
    """Avro records."""
    text: TextDecode | None = None
    """Plain text."""
    on_malformed_record: OnMalformedRecord = "fail"
    """What Mainstem does with a malformed record. `deadLetter` adds it to the relation `<source>_dead_letters`."""
    on_tombstone: OnTombstone = "malformed"
    """What Mainstem does with a tombstone: a record of Kafka without a value, as a topic with compaction has one for a
    key that was removed. `skip` leaves it out and counts it in `sources[].tombstones` of the status; by default it is
    malformed."""
    keep: Annotated[tuple[KafkaColumn, ...], Field(max_length=7, json_schema_extra=LIST_SET), UNIQUE] = ()
    """Columns of the Kafka record to keep beside the decoded columns."""
