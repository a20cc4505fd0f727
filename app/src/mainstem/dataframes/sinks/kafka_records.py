"""Turns rows into Kafka records: value, key, topic and headers."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import BinaryType, MapType

from mainstem.dataframes.column_names import resolved
from mainstem.language.model.connectors.kafka_sink import KafkaSink


TIME_FORMATS: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
"""Formats of times in JSON and CSV that keep each value. Those of Spark cut microseconds, and the seconds of an offset, which zones had
until about 1900."""


def records(frame: DataFrame, sink: KafkaSink) -> DataFrame:
    """The columns that Spark's Kafka sink takes: `value`, and `key`, `topic`, `headers` if the document sets them."""
    value = (
        _as_kafka_value(frame, sink.value_column) if sink.value_column else _json(frame, sink.value or ("*",))
    )
    columns = [value.alias("value")]
    if sink.key_column:
        columns.append(_as_kafka_value(frame, sink.key_column).alias("key"))
    elif sink.key:
        columns.append(_json(frame, sink.key).alias("key"))
    if sink.topic_column:
        columns.append(F.col(resolved(frame, sink.topic_column)).cast("string").alias("topic"))
    if sink.headers:
        columns.append(_headers(frame, sink.headers).alias("headers"))
    elif sink.headers_column:
        columns.append(_as_header_list(frame, sink.headers_column).alias("headers"))
    return frame.select(*columns)


def _json(frame: DataFrame, columns: tuple[str, ...]) -> Column:
    return F.to_json(F.struct(*(resolved(frame, name) for name in columns)), TIME_FORMATS)


def _as_kafka_value(frame: DataFrame, name: str) -> Column:
    """A column in the form that Kafka takes: BINARY unchanged, any other type as a string."""
    column = F.col(resolved(frame, name))
    binary = isinstance(frame.select(column).schema[0].dataType, BinaryType)
    return column if binary else column.cast("string")


def _headers(frame: DataFrame, headers: dict[str, str]) -> Column:
    pairs = [
        F.struct(F.lit(header).alias("key"), _as_kafka_value(frame, column).cast("binary").alias("value"))
        for header, column in sorted(headers.items())  # the API server keeps no order of a map
    ]
    return F.array(*pairs)


def _as_header_list(frame: DataFrame, name: str) -> Column:
    """A column of headers in Spark's form; a map becomes an array."""
    column = F.col(resolved(frame, name))
    if not isinstance(frame.select(column).schema[0].dataType, MapType):
        return column
    return F.transform(
        F.map_entries(column),
        lambda entry: F.struct(
            entry["key"].cast("string").alias("key"), entry["value"].cast("binary").alias("value")
        ),
    )
