"""Records to columns, and the records that are none.

Whether a record parses is asked once, counted in the same pass (`observe`), and answered the same way for every
reader: what is not good is bad, so that good + bad is what was read.
"""

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem.build import schemas
from mainstem.build.decode import misfits
from mainstem.build.decode.avroformat import AvroFormat
from mainstem.build.decode.csvformat import CsvFormat
from mainstem.build.decode.format import Format
from mainstem.build.decode.jsonformat import JsonFormat
from mainstem.build.decode.textformat import TextFormat
from mainstem.spec.base import interval
from mainstem.spec.decode import Decode
from mainstem.spec.sources import Watermark


METRIC: Final = "mainstem"
BAD_RECORD: Final = "mainstem:BadRecord:"
_RECORD: Final = "__mainstem_record"
_GOOD: Final = "__mainstem_good"
_AHEAD: Final = "the event time is further ahead of the clock than watermark.maxFuture: "
_DAMAGED: Final = "the file is truncated or damaged: what follows the last record cannot be read"
"""Of the null that stands for the rest of a file; a line of text is never null."""
_PLACE: Final = ("topic", "partition", "offset", "file")


class Decoded:
    """Records, parsed and counted under `mainstem.<occurrence>`; some of them are good, the others are bad.

    Args:
        raw: has `value` (BINARY or STRING); further columns are kept.
        decode: the format, and what becomes of bad records.
        occurrence: name of the source's occurrence in the query.
        watermark: the event time, which may bound how far ahead of the clock a good record is.

    Raises:
        NotReady: a schema's file cannot be read, or holds none.
    """

    def __init__(
        self, raw: DataFrame, decode: Decode, occurrence: str, watermark: Watermark | None = None
    ) -> None:
        self._decode = decode
        self._format = _format(decode)
        value = F.col("value")
        record = raw.withColumn(_RECORD, self._format.parse(value))
        kind = record.schema[_RECORD].dataType
        whole = F.coalesce(self._format.is_whole(F.col(_RECORD), value, kind), F.lit(False))
        self._event_time = self._bounded_event_time(record, watermark)
        self._ahead = self._is_ahead(watermark) & whole
        good = whole & ~self._ahead
        self._records = record.withColumn(_GOOD, good).observe(
            f"{METRIC}.{occurrence}",
            F.count_if(F.col(_GOOD)).alias("good"),
            F.count_if(~F.col(_GOOD)).alias("bad"),
        )

    def good(self) -> DataFrame:
        """The columns of the good records, and those of Kafka that are kept; `fail` raises at the first bad record."""
        records = self._records
        if self._decode.on_bad_record == "fail":
            records = records.where(F.assert_true(F.col(_GOOD), self._fail_message()).isNull())
        else:
            records = records.where(F.col(_GOOD))
        return records.select(*self._format.columns(F.col(_RECORD)), *self._decode.keep)

    def bad(self) -> DataFrame:
        """The dead letters: raw BINARY, topic, partition, offset, file, error, time."""
        place: dict[str, Any] = {"topic": "string", "partition": "int", "offset": "bigint", "file": "string"}
        columns = [
            (F.col(name) if name in self._records.columns else F.lit(None)).cast(kind).alias(name)
            for name, kind in place.items()
        ]
        return self._records.where(~F.col(_GOOD)).select(
            F.col("value").cast("binary").alias("raw"),
            *columns,
            misfits.aside(self._why()).alias("error"),
            F.current_timestamp().alias("time"),
        )

    def _bounded_event_time(self, record: DataFrame, watermark: Watermark | None) -> Column:
        """The event time, where something bounds it, else null."""
        if watermark is not None and watermark.max_future is not None:
            columns = [*self._format.columns(F.col(_RECORD)), *map(F.col, self._decode.keep)]
            for name, column in zip(record.select(*columns).columns, columns, strict=True):
                if name.lower() == watermark.column.lower():
                    return column
        return F.lit(None).cast("timestamp")

    def _is_ahead(self, watermark: Watermark | None) -> Column:
        """Whether the event time is further ahead of the batch's clock than it may be; never null."""
        if watermark is None or watermark.max_future is None:
            return F.lit(False)
        latest = F.current_timestamp() + F.expr(f"INTERVAL {interval(watermark.max_future)}")
        return F.coalesce(self._event_time > latest, F.lit(False))

    def _fail_message(self) -> Column:
        records = self._records
        places = [
            F.concat(F.lit(f" {name} "), F.col(name).cast("string"))
            for name in _PLACE
            if name in records.columns
        ]
        ahead = F.concat(F.lit(f" {_AHEAD}"), self._event_time.cast("string"), F.lit(";"))
        what = F.when(self._ahead, ahead).otherwise(" a record does not parse:")
        why = F.when(~self._ahead, F.concat(F.lit(": "), misfits.aside(self._why())))
        return F.concat(F.lit(BAD_RECORD), what, *places, F.coalesce(why, F.lit("")))

    def _why(self) -> Column:
        ahead = F.concat(F.lit(_AHEAD), self._event_time.cast("string"))
        why = F.when(self._ahead, ahead).otherwise(self._format.why(F.col(_RECORD), F.col("value")))
        if "file" not in self._records.columns:
            return why
        return F.when(F.col("value").isNull(), _DAMAGED).otherwise(why)


def _format(decode: Decode) -> Format:
    if decode.json_:
        return JsonFormat(
            schemas.columns(decode.json_.schema_, decode.json_.schema_file), decode.json_.options
        )
    if decode.csv:
        return CsvFormat(schemas.columns(decode.csv.schema_, decode.csv.schema_file), decode.csv.options)
    if decode.avro:
        schema = schemas.avro(decode.avro.schema_, decode.avro.schema_file)
        return AvroFormat(schema, decode.avro.registry_id, decode.avro.options)
    return TextFormat()
