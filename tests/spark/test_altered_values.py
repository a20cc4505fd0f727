"""What Spark's parsers make of each value, what Mainstem lets pass, and that what is altered is in the page."""

import json
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from documents.altered_values import ALTERED, BAD, CSV, EQUAL, JSON, TODAY, Value
from harness.sampling import only
from mainstem.dataframes.decode.decoding import DecodedRecords
from mainstem.language.model.decode import Decode
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


pytestmark = [pytest.mark.S10, pytest.mark.S12]


NO_COLUMN = ("not valid JSON", "the line does not have ", r"a \u escape is half of a surrogate pair")
"""The error of a record that has no columns."""


def shown(frame: DataFrame, kinds: Sequence[str]) -> DataFrame:
    """The place of each record, and its one column that is not null, as a string."""
    columns = [_shown(f"c{place}", kind) for place, kind in enumerate(kinds)]
    return frame.select("offset", F.coalesce(*columns).alias("value"))


def _shown(column: str, kind: str) -> Any:
    if kind == "BINARY":
        return F.base64(column)
    return F.to_json(F.col(column)) if kind == "VARIANT" else F.col(column).cast("string")


def rows_of(raws: list[bytes], spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(list(enumerate(raws)), "offset BIGINT, raw BINARY").withColumnRenamed(
        "raw", "value"
    )


@pytest.mark.parametrize(
    ("kind", "table"), [("json", JSON), pytest.param("csv", CSV, marks=pytest.mark.full)], ids=["json", "csv"]
)
def test_values_are_exact_or_malformed_or_listed_on_the_page(
    spark: SparkSession, kind: str, table: Sequence[Value]
) -> None:
    kinds = list(dict.fromkeys(value.kind for value in table))
    schema = ", ".join(f"c{place} {name}" for place, name in enumerate(kinds))
    place = {name: place for place, name in enumerate(kinds)}
    raws = [
        f'{{"c{place[value.kind]}":{value.text}}}'
        if kind == "json"
        else "," * place[value.kind] + value.text + "," * (len(kinds) - 1 - place[value.kind])
        for value in table
    ]
    frame = rows_of([raw.encode() for raw in raws], spark)
    today = str(spark.sql("SELECT current_date() AS day").collect()[0].day)

    parse = F.from_json if kind == "json" else F.from_csv
    read = parse(F.col("value").cast("string"), f"{schema}, bad STRING", {"columnNameOfCorruptRecord": "bad"})
    alone = shown(
        frame.select("offset", read.alias("r")).where("r.bad IS NULL").select("offset", "r.*"), kinds
    )
    by_spark = {row.offset: row.value for row in alone.collect()}
    how = {kind: {"schema": schema}, "onMalformedRecord": "deadLetter", "keep": ["offset"]}
    decoded = DecodedRecords(frame, Decode.model_validate(how), "src")
    good = {row.offset: row.value for row in shown(decoded.rows(), kinds).collect()}
    letters = {row.raw.decode(): row.error for row in decoded.dead_letters().collect()}
    unnamed = [raw for raw, error in letters.items() if not error.startswith(("the column 'c", *NO_COLUMN))]

    assert not unnamed, {raw: letters[raw] for raw in unnamed}
    for at, value in enumerate(table):
        wanted = None if value.spark is None else value.spark.replace(TODAY, today)
        assert by_spark.get(at) == wanted, (kind, value, by_spark.get(at))
        if value.outcome == BAD:
            assert at not in good, (kind, value, good[at])
        else:
            assert at in good, (kind, value)
            assert good[at] == wanted, (kind, value, good[at])


def varint(number: int) -> bytes:
    """A number as Avro writes it."""
    left = (number << 1) ^ (number >> 127)
    encoded = bytearray()
    while True:
        encoded.append(left & 0x7F | (0x80 if left > 0x7F else 0))
        left >>= 7
        if not left:
            return bytes(encoded)


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


AMOUNT = logical("bytes", "decimal", precision=4, scale=2)
AVRO: list[tuple[Any, bytes, str | None, str]] = [
    ("int", varint(2**31 - 1), "2147483647", EQUAL),
    ("int", varint(2**31), "0", ALTERED),  # no writer of the schema writes it
    ("long", varint(2**63 - 1), "9223372036854775807", EQUAL),
    ("long", varint(2**70), None, BAD),
    ("boolean", b"\x01", "true", EQUAL),
    ("double", struct.pack("<d", float("inf")), "Infinity", EQUAL),
    ("double", struct.pack("<d", -0.0), "-0.0", EQUAL),
    ("string", b"\x06a\x00b", "a\x00b", EQUAL),
    (logical("int", "date"), varint(15706), "2013-01-01", EQUAL),
    (logical("int", "date"), varint(2932897), "+10000-01-01", EQUAL),
    (logical("long", "timestamp-millis"), varint(1357016400000), "2013-01-01 05:00:00", EQUAL),
    (logical("long", "timestamp-millis"), varint(2**62), None, BAD),
    (logical("long", "timestamp-micros"), varint(253402300800000000), "+10000-01-01 00:00:00", EQUAL),
    (AMOUNT, b"\x04\x04\xd2", "12.34", EQUAL),
    (AMOUNT, b"\x06\x01\xe2\x40", None, BAD),  # 1234.56 has six digits
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, varint(2), None, BAD),
    ({"type": "map", "values": "int"}, b"\x04\x02a\x02\x02a\x04\x00", "{a -> 2}", ALTERED),
]


def test_avro_values_are_exact_or_malformed(spark: SparkSession) -> None:
    kinds = list({json.dumps(kind): kind for kind, *_ in AVRO}.values())
    fields = [{"name": f"c{place}", "type": ["null", kind]} for place, kind in enumerate(kinds)]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    raws = [
        b"".join(b"\x02" + raw if other == kind else b"\x00" for other in kinds) for kind, raw, _, _ in AVRO
    ]
    how = Decode.model_validate(
        {"avro": {"schema": schema}, "onMalformedRecord": "deadLetter", "keep": ["offset"]}
    )
    decoded = DecodedRecords(rows_of(raws, spark), how, "src")
    good = {row.offset: row.value for row in shown(decoded.rows(), ["STRING"] * len(kinds)).collect()}
    for at, (kind, raw, wanted, outcome) in enumerate(AVRO):
        actual = good.get(at), at in good
        assert actual == (wanted, outcome != BAD), (kind, raw, actual)


ESCAPES = [
    (r'{"s":"\\\ud83d"}', False),
    (r'{"s":"\\\ud83d\udeb2 \\\\udeb2"}', True),
    (r'{"s":"\ud83d\udeb2"}', True),
    (r'{"s":"\\ud83d"}', True),
    (r'{"s":"\uD83D\uD83D\uDEB2"}', False),
    (r'{"unknown":"\udeb2"}', False),
    (r'{"\udeb2":1}', False),
]
"""Text, and whether all its characters are whole; the first two have odd and even numbers of backslashes."""


@pytest.mark.parametrize(("text", "whole"), only(ESCAPES, ESCAPES[:2]))
def test_an_escape_of_half_a_character_is_malformed(spark: SparkSession, text: str, *, whole: bool) -> None:
    how = Decode.model_validate({"json": {"schema": "s STRING"}, "onMalformedRecord": "deadLetter"})
    letters = DecodedRecords(rows_of([text.encode()], spark), how, "src").dead_letters().collect()
    assert [letter.error for letter in letters] == (
        [] if whole else [r"a \u escape is half of a surrogate pair"]
    )


def test_nested_values_follow_the_same_rules(spark: SparkSession) -> None:
    schema = "a ARRAY<DATE>, m MAP<STRING, TIMESTAMP>, o STRUCT<b: TINYINT, l: ARRAY<STRUCT<d: DOUBLE>>>, h SMALLINT"
    raws = [
        b'{"a":["2013-01-01",null],"m":{"x":0,"y":null},"o":{"b":-128,"l":[{"d":1e3},null]},"h":200}',
        b'{"a":["2013-01-01 x"]}',
        b'{"m":{"x":1357016400000}}',
        b'{"m":{"x":0,"x":0}}',
        b'{"o":{"b":200}}',
        b'{"o":{"b":1,"l":[{"d":1},{"d":-1e999}]}}',
        b'{"o":{"l":[{"d":1},{"d":"-Infinity"}]}}',
    ]
    how = {"json": {"schema": schema}, "onMalformedRecord": "drop", "keep": ["offset"]}
    rows = DecodedRecords(rows_of(raws, spark), Decode.model_validate(how), "src").rows().collect()
    assert [row.offset for row in rows] == [0, 6]
    assert (rows[0].o.b, rows[0].h) == (-128, 200)


OPTIONS = [
    ("json", {"dateFormat": "dd.MM.yyyy"}, "v DATE", b'{"v":"31.12.2013"}'),
    ("csv", {"DATEFORMAT": "dd.MM.yyyy"}, "v DATE", b"31.12.2013"),
    ("csv", {"positiveInf": "oo"}, "v DOUBLE", b"oo"),
    ("csv", {"locale": "de-DE"}, "v DECIMAL(10,2)", b'"1.234,5"'),
]


@pytest.mark.parametrize(("kind", "options", "schema", "raw"), only(OPTIONS, OPTIONS[:2]))
def test_parser_options_apply_to_values(
    spark: SparkSession, kind: str, options: dict[str, str], schema: str, raw: bytes
) -> None:
    how = Decode.model_validate({kind: {"schema": schema, "options": options}, "onMalformedRecord": "drop"})
    assert DecodedRecords(rows_of([raw], spark), how, "src").rows().count() == 1


def test_only_the_listed_values_are_altered() -> None:
    """Every row of the table is a different value, so that none hides another."""
    for table in (JSON, CSV):
        assert len({(value.kind, value.text) for value in table}) == len(table)
        assert {value.outcome for value in table} == {EQUAL, BAD, ALTERED}
