"""Decodes records into columns, and separates the malformed records.

Each record is checked once and counted in the same pass (`observe`). Every record is decoded, malformed or a tombstone
that is skipped, so the sum of the three is the number of records that were read.
"""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import StructType

from mainstem.dataframes.decode import json_format, misfits, schemas
from mainstem.dataframes.decode.avro_format import AvroFormat
from mainstem.dataframes.decode.csv_format import CsvFormat
from mainstem.dataframes.decode.file_records import FAULT, FOLDERS, columns
from mainstem.dataframes.decode.format import RecordFormat
from mainstem.dataframes.decode.json_format import JsonFormat
from mainstem.dataframes.decode.text_format import TextFormat
from mainstem.language.base import interval
from mainstem.language.model.decode import OTHER_CASE, Decode
from mainstem.language.model.expectations import CHECKED
from mainstem.language.model.sources import Watermark


METRIC: Final = "mainstem"
MALFORMED_RECORD: Final = "mainstem:MalformedRecord:"
_RECORD: Final = "__mainstem_record"
_DECODED: Final = "__mainstem_decoded"
"""Column, a BOOLEAN: whether a record is decoded, else it is malformed; null for a tombstone that is skipped."""
_WHOLE: Final = "__mainstem_whole"
_AHEAD: Final = "the event time is further ahead of the clock than watermark.maxFuture: "
_SKIP: Final = "set decode.onTombstone to skip"
_LARGEST: Final = 16_384
"""Bytes of a record that is looked at for `OTHER_CASE`."""
_PLACE: Final = ("topic", "partition", "offset", "file")


class DecodedRecords:
    """Parsed records, each decoded, malformed or skipped, counted under the metric `mainstem.<occurrence>`.

    Args:
        raw: the records: the column `value` (BINARY or STRING), and columns that are kept. The columns `FAULT` and
            `FOLDERS` of `file_records` have a meaning of their own.
        decode: the format, and what happens to malformed records.
        occurrence: name of the source's occurrence in the query.
        watermark: the event time; `maxFuture` limits how far ahead of the clock a decoded record may be.
        is_counted: false for a relation that each batch reads again; the counts of records that can fail are then read by
            nobody.
        many: each record is a whole JSON file, with one object or an array of objects; each object counts.
        remedy: what to do if a malformed record fails the query.

    Raises:
        NotReady: a schema file cannot be read, or has no schema.
    """

    def __init__(
        self,
        raw: DataFrame,
        decode: Decode,
        occurrence: str,
        watermark: Watermark | None = None,
        *,
        is_counted: bool = True,
        many: bool = False,
        remedy: str = "set decode.onMalformedRecord to drop or deadLetter",
    ) -> None:
        self._decode = decode
        self._remedy = remedy
        folders = raw.schema[FOLDERS].dataType if FOLDERS in raw.columns else StructType()
        self._folders = folders.fieldNames() if isinstance(folders, StructType) else []
        self._fault = F.col(FAULT) if FAULT in raw.columns else F.lit(None).cast("string")
        self._format = _format(decode, self._folders, many=many)
        record = raw.withColumn(_RECORD, self._format.parse(F.col("value")))
        kind = record.schema[_RECORD].dataType
        fits = self._format.is_whole(F.col(_RECORD), F.col("value"), kind) & self._fault.isNull()
        whole = F.coalesce(fits, F.lit(False))
        if many:
            record = json_format.objects(record.withColumn(_WHOLE, whole), _RECORD, _WHOLE)
            whole = F.col(_WHOLE)
        self._event_time = self._bounded_event_time(record, watermark)
        self._ahead = self._is_ahead(watermark) & whole
        self._records = record.withColumn(_DECODED, self._verdict(whole & ~self._ahead, record.columns))
        if is_counted or decode.on_malformed_record == "fail":
            metric = f"{METRIC}.{occurrence}" if is_counted else f"{CHECKED}{occurrence}"
            self._records = self._records.observe(metric, *self._counts(), *self._warnings(is_counted))

    def rows(self) -> DataFrame:
        """The columns of the decoded records, and the kept columns of Kafka."""
        return self._records.where(F.col(_DECODED)).select(*self._columns(), *self._decode.keep)

    def dead_letters(self) -> DataFrame:
        """The malformed records as dead letters: raw BINARY, topic, partition, offset, file, error, time."""
        place: dict[str, Any] = {"topic": "string", "partition": "int", "offset": "bigint", "file": "string"}
        columns = [
            (F.col(name) if name in self._records.columns else F.lit(None)).cast(kind).alias(name)
            for name, kind in place.items()
        ]
        return self._records.where(~F.col(_DECODED)).select(
            F.col("value").cast("binary").alias("raw"),
            *columns,
            self._error().alias("error"),
            F.current_timestamp().alias("time"),
        )

    def _verdict(self, is_decoded: Column, available: Sequence[str]) -> Column:
        """The column `_DECODED`; with `onMalformedRecord: fail` it raises an error for a malformed record.

        The counts read it for each record. In a filter above them the error would be missed: Spark evaluates what it derives
        from filters of later views first, such as `i IS NOT NULL` from `i > 0`, and a malformed record is null in each column.
        """
        if self._decode.on_malformed_record == "fail":
            is_decoded = F.when(is_decoded, True).otherwise(F.raise_error(self._fail_message(available)))
        if self._decode.on_tombstone == "skip":
            is_decoded = F.when(F.col("value").isNotNull(), is_decoded)
        return is_decoded

    def _counts(self) -> list[Column]:
        """The numbers of records of each kind, by the names that `SourceProgress` has for them."""
        counts = {"decoded": F.col(_DECODED), "malformed": ~F.col(_DECODED)}
        if self._decode.on_tombstone == "skip":
            counts["tombstones"] = F.col(_DECODED).isNull()
        return [F.count_if(count).alias(name) for name, count in counts.items()]

    def _warnings(self, is_counted: bool) -> list[Column]:
        """`OTHER_CASE` of JSON records, from one decoded record in which a column is null, if there is one.

        It is an aggregate: Spark keeps one record of each task, so records that are large are not looked at.
        """
        if not (is_counted and isinstance(self._format, JsonFormat) and self._format.schema.fields):
            return []
        is_null = F.array(*(column.isNull() for column in self._format.columns(F.col(_RECORD))))
        is_candidate = (
            (F.octet_length("value") <= _LARGEST) & F.col(_DECODED) & F.array_contains(is_null, True)
        )
        sample = F.min_by("value", F.when(is_candidate, F.xxhash64("value")))
        return [self._format.other_case(sample).alias(OTHER_CASE)]

    def _columns(self) -> list[Column]:
        """The columns of the relation, in the order of the schema; names of folders have the values of some."""
        values = self._format.columns(F.col(_RECORD))
        if not self._folders:
            return values
        order = columns(self._decode).fieldNames()
        remaining = iter(values)
        return [
            F.col(FOLDERS).getField(name).alias(name) if name in self._folders else next(remaining)
            for name in order
        ]

    def _bounded_event_time(self, record: DataFrame, watermark: Watermark | None) -> Column:
        """The event time if `maxFuture` limits it, else null."""
        if watermark is not None and watermark.max_future is not None:
            available = [*self._columns(), *map(F.col, self._decode.keep)]
            for name, column in zip(record.select(*available).columns, available, strict=True):
                if name.lower() == watermark.column.lower():
                    return column
        return F.lit(None).cast("timestamp")

    def _is_ahead(self, watermark: Watermark | None) -> Column:
        """Whether the event time is further ahead of the batch's clock than `maxFuture`; never null."""
        if watermark is None or watermark.max_future is None:
            return F.lit(False)
        latest = F.current_timestamp() + F.expr(f"INTERVAL {interval(watermark.max_future)}")
        return F.coalesce(self._event_time > latest, F.lit(False))

    def _fail_message(self, available: Sequence[str]) -> Column:
        places = [
            F.concat(F.lit(f" {name} "), F.col(name).cast("string")) for name in _PLACE if name in available
        ]
        ahead = F.concat(F.lit(f" {_AHEAD}"), self._event_time.cast("string"), F.lit(";"))
        error = F.when(self._ahead, ahead).otherwise(" a record does not parse:")
        detail = F.coalesce(F.when(~self._ahead, F.concat(F.lit(": "), self._error())), F.lit(""))
        is_tombstone = F.col("value").isNull() & self._fault.isNull()
        remedy = F.when(is_tombstone, _SKIP).otherwise(self._remedy)
        return F.concat(F.lit(MALFORMED_RECORD), error, *places, detail, F.lit("; "), remedy)

    def _error(self) -> Column:
        ahead = F.concat(F.lit(_AHEAD), self._event_time.cast("string"))
        why = misfits.bound(F.col(_RECORD), lambda record: self._format.error(record, F.col("value")))
        return F.coalesce(self._fault, F.when(self._ahead, ahead).otherwise(why))


def _format(decode: Decode, folders: Sequence[str], *, many: bool) -> RecordFormat:
    declared = columns(decode)
    schema = StructType([field for field in declared if field.name not in folders])
    if decode.json_:
        any_keys = decode.json_.allow_records_without_columns or not schema.fields
        keys = () if any_keys else tuple(declared.fieldNames())
        return JsonFormat(schema, decode.json_.options, many=many, keys=keys)
    if decode.csv:
        return CsvFormat(schema, decode.csv.options)
    if decode.avro:
        schema = schemas.avro(decode.avro.schema_, decode.avro.schema_file)
        return AvroFormat(schema, decode.avro.registry_id, decode.avro.options)
    return TextFormat()
