"""Decodes Avro records in their binary form, one per Kafka record."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import DataType

from mainstem.dataframes.decode import misfits
from mainstem.dataframes.decode.values import has_valid_texts


_OBJECT: Final = "__mainstem_object"
_END: Final = "__mainstem_end"
# No prefix of the mark is also a suffix: so after surplus bytes the mark cannot appear where the parser expects it.
_MARK: Final = bytes(15) + b"\x01"
_ALL: Final = 2**31 - 1


@dataclass(frozen=True)
class AvroFormat:
    """The format of records with one Avro schema.

    Attributes:
        schema: the Avro schema of the records.
        registry_id: the schema's id in Confluent's header; None for records without this header.
        options: options of Spark's Avro reader.
    """

    schema: Mapping[str, Any]
    registry_id: int | None
    options: Mapping[str, str]

    def parse(self, value: Column) -> Column:
        """The record as a struct of two fields: the decoded record and a mark after it.

        Avro's binary form is one field after the other. So the record with the mark appended is a record of two fields.
        Spark's from_avro alone ignores surplus bytes, and returns nulls for a record that does not parse.
        """
        mark = {"name": _END, "type": {"type": "fixed", "name": "__mainstem_mark", "size": len(_MARK)}}
        fields = [{"name": _OBJECT, "type": self.schema}, mark]
        frame_schema = {"type": "record", "name": "__mainstem_record", "fields": fields}
        options = dict(self.options) | {"mode": "PERMISSIVE"}
        body = value.cast("binary")
        if self.registry_id is not None:
            body = F.when(self._has_header(value), F.substring(body, len(header(self.registry_id)) + 1, _ALL))
        return from_avro(F.concat(body, F.lit(_MARK)), json.dumps(frame_schema), options)

    def columns(self, record: Column) -> list[Column]:
        """The fields of the record."""
        content = record.getField(_OBJECT)
        return [
            content.getField(name).alias(name) for name in (field["name"] for field in self.schema["fields"])
        ]

    def is_whole(self, record: Column, value: Column, kind: DataType) -> Column:  # noqa: ARG002 - the mark is enough
        """Whether the record matches the schema, has no surplus bytes, and all its strings are UTF-8.

        Avro requires UTF-8. Spark takes the bytes of a string as they are, and each later reader would see other letters.
        """
        has_mark = self._has_mark(record)
        texts = has_valid_texts(record, kind)
        return has_mark if texts is None else has_mark & texts

    def error(self, record: Column, value: Column) -> Column:
        """The error of a malformed record."""
        excerpt = F.concat(F.lit(": "), misfits.beginning_of_bytes(value.cast("binary")))
        message = F.when(value.isNull(), "the record has no value")
        if self.registry_id is not None:
            missing = F.lit(f"the record has no Confluent header with the schema id {self.registry_id}")
            message = message.when(~self._has_header(value), F.concat(missing, excerpt))
        message = message.when(self._has_mark(record), "a string is not valid UTF-8")
        return message.otherwise(
            F.concat(F.lit(f"the record does not match the Avro schema{self._quoted_name()}"), excerpt)
        )

    def _quoted_name(self) -> str:
        name = self.schema.get("name")
        return f" {name!r}" if name else ""

    def _has_mark(self, record: Column) -> Column:
        return record[_END] == F.lit(_MARK)

    def _has_header(self, value: Column) -> Column:
        prefix = header(self.registry_id or 0)
        return F.substring(value.cast("binary"), 1, len(prefix)) == F.lit(prefix)


def header(registry_id: int) -> bytes:
    """The first five bytes of a record in Confluent's wire format."""
    return b"\x00" + registry_id.to_bytes(4, "big")
