"""Records to columns, and the records that are none.

Whether a record parses is asked once, counted in the same pass (`observe`), and answered the same way for every
reader: what is not good is bad, so that good + bad is what was read.
"""

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import BooleanType, StringType, StructType

from mainstem.spec.sources import Decode, JsonDecode


METRIC: Final = "mainstem"
BAD_RECORD: Final = "mainstem:BadRecord:"
_CORRUPT: Final = "__mainstem_corrupt"
_RECORD: Final = "__mainstem_record"
_OBJECT: Final = "__mainstem_object"
_END: Final = "__mainstem_end"
_GOOD: Final = "__mainstem_good"
_PLACE: Final = ("topic", "partition", "offset", "file")


def parsed(raw: DataFrame, json: JsonDecode, occurrence: str) -> DataFrame:
    """`raw` with the record as one struct and whether it is good, both counted under `mainstem.<occurrence>`.

    Args:
        raw: has `value` (BINARY or STRING); further columns are kept.
        json: the schema and the reader's options.
        occurrence: name of the source's occurrence in the query.
    """
    text = F.col("value").cast("string")
    schema = StructType().add(_OBJECT, StructType.fromDDL(json.schema_)).add(_END, BooleanType())
    options = dict(json.options) | {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    record = raw.withColumn(_RECORD, F.from_json(_framed(text), schema.add(_CORRUPT, StringType()), options))
    counted = record.withColumn(_GOOD, _is_good(text))
    return counted.observe(
        f"{METRIC}.{occurrence}",
        F.count_if(F.col(_GOOD)).alias("good"),
        F.count_if(~F.col(_GOOD)).alias("bad"),
    )


def good(records: DataFrame, decode: Decode) -> DataFrame:
    """The decoded columns of the good records, and the record's own that are kept; `fail` raises at the first bad one."""
    if decode.on_bad_record == "fail":
        records = records.where(F.assert_true(F.col(_GOOD), _fail_message(records)).isNull())
    else:
        records = records.where(F.col(_GOOD))
    kind: Any = records.schema[_RECORD].dataType
    fields = kind[_OBJECT].dataType.fieldNames()
    columns = [F.col(_RECORD).getField(_OBJECT).getField(name).alias(name) for name in fields]
    return records.select(*columns, *decode.keep)


def bad(records: DataFrame) -> DataFrame:
    """The dead letters: raw BINARY, topic, partition, offset, file, error, time."""
    place: dict[str, Any] = {"topic": "string", "partition": "int", "offset": "bigint", "file": "string"}
    columns = [
        (F.col(name) if name in records.columns else F.lit(None)).cast(kind).alias(name)
        for name, kind in place.items()
    ]
    return records.where(~F.col(_GOOD)).select(
        F.col("value").cast("binary").alias("raw"),
        *columns,
        _why().alias("error"),
        F.current_timestamp().alias("time"),
    )


def _framed(text: Column) -> Column:
    """The record as a field of an object that ends behind it.

    Spark's parser stops behind the first object and leaves out what follows; within a frame that does not parse, or
    the frame's end is not seen. The line break ends a comment, where the document's options allow them. What passes is
    a record that goes on as the inside of an object would: `{"a": 1}, "b": {"c": 2}`.
    """
    return F.concat(F.lit(f'{{"{_OBJECT}":'), text, F.lit(f'\n,"{_END}":true}}'))


def _is_good(text: Column) -> Column:
    """A whole, well-formed object in UTF-8, and nothing else, whose fields fit the schema.

    Spark's from_json alone would take the first object of an array or of several, replace bytes that are no UTF-8, and
    give null for an empty text: ways to lose a record without a word.
    """
    record = F.col(_RECORD)
    fits = record.getField(_CORRUPT).isNull() & record.getField(_OBJECT).isNotNull() & record.getField(_END)
    return F.coalesce(fits & F.is_valid_utf8(text), F.lit(False))


def _why() -> Column:
    text = F.col("value").cast("string")
    tree = F.try_parse_json(text)
    framed_end = F.try_variant_get(F.try_parse_json(_framed(text)), f"$.{_END}", "boolean")
    return (
        F.when(text.isNull(), "the record has no value")
        .when(~F.is_valid_utf8(text), "not valid UTF-8")
        .when(F.trim(text) == "", "the record is empty")
        .when(tree.isNull(), "not valid JSON")
        .when(~F.schema_of_variant(tree).startswith("OBJECT"), "not a JSON object")
        .when(framed_end.isNull(), "something follows the JSON object")
        .otherwise("a field does not fit the schema")
    )


def _fail_message(records: DataFrame) -> Column:
    parts = [
        F.concat(F.lit(f" {name} "), F.col(name).cast("string")) for name in _PLACE if name in records.columns
    ]
    return F.concat(F.lit(BAD_RECORD), F.lit("a record does not parse:"), *parts)
