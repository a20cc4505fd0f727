"""CSV, Avro and plain text as records: what counts as one, what does not, and where their schemas come from."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from harness.sampling import only, sampled
from mainstem.dataframes.decode.decoding import DecodedRecords
from mainstem.errors import NotReady
from mainstem.language.model.decode import Decode
from mainstem.runtime.failures.classification import classify
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.types import Row, StructType


pytestmark = [pytest.mark.S10, pytest.mark.S12]

FLIGHT = {
    "type": "record",
    "name": "Flight",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "carrier", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "fare", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "stops", "type": {"type": "array", "items": "string"}},
        {"name": "seats", "type": {"type": "map", "values": "int"}},
        {"name": "plane", "type": {"type": "record", "name": "Plane", "fields": [{"name": "tail", "type": "string"}]}},
        {"name": "next", "type": ["null", "Plane"]},
    ],
}  # fmt: skip
SMALL = {
    "type": "record",
    "name": "Small",
    "fields": [{"name": "a", "type": ["null", "int"]}, {"name": "s", "type": ["null", "string"]}],
}
FIVE = dt.datetime(2013, 1, 1, 5, 0, tzinfo=dt.UTC)


def decoded(
    spark: SparkSession, raws: list[bytes | None], way: str = "deadLetter", **decode: Any
) -> DecodedRecords:
    """The records as Kafka gives them; `offset` is the place in the list."""
    rows = [(raw, "t", 3, place) for place, raw in enumerate(raws)]
    frame = spark.createDataFrame(rows, "value BINARY, topic STRING, partition INT, offset BIGINT")
    return DecodedRecords(
        frame, Decode.model_validate(decode | {"onMalformedRecord": way, "keep": ["offset"]}), "src"
    )


def split(
    spark: SparkSession, raws: list[bytes | None], **decode: Any
) -> tuple[dict[int, Row], dict[int, str]]:
    """Position -> columns of decoded records, and position -> error of malformed ones; together all that was read."""
    records = decoded(spark, raws, **decode)
    good = {row.offset: row for row in records.rows().collect()}
    letters = records.dead_letters().collect()
    assert all(letter.raw == raws[letter.offset] for letter in letters)
    bad = {letter.offset: letter.error for letter in letters}
    assert sorted([*good, *bad]) == list(range(len(raws)))
    return good, bad


CSV = "n INT, s STRING, t TIMESTAMP"
NUMBER = "the line does not have 3 fields: "


def test_csv_lines_with_all_fields_are_decoded(spark: SparkSession) -> None:
    lines = [
        b"1,x,2013-01-01 05:00:00",
        b'2,"a,b",2013-01-01T05:00:00Z',
        b'3,"a\nb",',
        b",,",
        b'4,"say \\"hi\\"",',
        b" 5 , x ,",
        "6,Zürich,".encode(),
        b"8,a\nb,",  # a line break is an ordinary character of the one line
    ]
    good, bad = split(spark, lines, csv={"schema": CSV, "options": {"ignoreLeadingWhiteSpace": "true", "ignoreTrailingWhiteSpace": "true"}})  # fmt: skip
    assert not bad
    assert [(row.n, row.s, row.t and row.t.astimezone(dt.UTC)) for _, row in sorted(good.items())] == [
        (1, "x", FIVE),
        (2, "a,b", FIVE),
        (3, "a\nb", None),
        (None, None, None),
        (4, 'say "hi"', None),
        (5, "x", None),
        (6, "Zürich", None),
        (8, "a\nb", None),
    ]


def test_invalid_csv_lines_are_malformed(spark: SparkSession) -> None:
    lines = {
        None: "the record has no value",
        b"": "the record is empty",
        b"1,x": NUMBER,
        b"1,x,,": NUMBER,
        b"1,x,,1": NUMBER,
        b"one,x,": "the column 'n' must be INT, but its value is 'one'",
        b"1,x,yesterday": "the column 't' must be TIMESTAMP, such as 2024-01-31T12:30:00Z, but its value is 'yesterday'",
        b'1,"x,': NUMBER,  # the quote stays open
        b"1,x,\n2,y,": NUMBER,  # two lines are not one record
        b"\n": NUMBER,
        b"1,\xff,": "not valid UTF-8: 312CFF2C",
        b"1," + b"y," * 30_000: NUMBER,  # more fields than Spark's parser supports
    }
    good, bad = split(spark, list(lines), csv={"schema": CSV})
    assert not good
    assert [bad[place][: len(message)] for place, message in enumerate(lines.values())] == list(
        lines.values()
    )


@pytest.mark.full(gate="spark/test_decode_formats.py::test_invalid_csv_lines_are_malformed")
def test_a_csv_line_too_wide_for_the_parser_would_fail_the_query(spark: SparkSession) -> None:
    wide = spark.createDataFrame([("y," * 30_000,)], "value STRING")
    with pytest.raises(PySparkException, match="MALFORMED_CSV_RECORD"):
        wide.select(F.from_csv("value", "a STRING", {"mode": "PERMISSIVE"})).collect()


OPTIONS = [
    ({"delimiter": "||"}, b"1||x||", "x"),
    ({"timestampFormat": "dd.MM.yyyy HH:mm"}, b"1,x,01.01.2013 05:00", "x"),
    ({"sep": ";"}, b'1;"a;b";', "a;b"),
    ({"escape": '"'}, b'1,"a ""b""",', 'a "b"'),
    ({"quote": "'"}, b"1,'a,b',", "a,b"),
    ({"nullValue": "NA"}, b"1,NA,NA", None),
]


@pytest.mark.parametrize(("options", "line", "value"), only(OPTIONS, OPTIONS[:1]))
def test_options_of_the_csv_reader_apply(
    spark: SparkSession, options: dict[str, str], line: bytes, value: str | None
) -> None:
    good, bad = split(spark, [line], csv={"schema": CSV, "options": options})
    assert not bad
    assert (good[0].n, good[0].s) == (1, value)


def test_any_valid_utf8_text_is_decoded(spark: SparkSession) -> None:
    good, bad = split(spark, [b"5", b"", "Zürich\n".encode(), b"\xff\xfe", None], text={})
    assert {place: row.value for place, row in good.items()} == {0: "5", 1: "", 2: "Zürich\n"}
    assert bad == {3: "not valid UTF-8: FFFE", 4: "the record has no value"}


@pytest.fixture(scope="module")
def flights(spark: SparkSession) -> list[bytes]:
    """Three flights as Avro's own writer has them."""
    plane = "named_struct('tail', concat('N', id))"
    rows = spark.range(3).selectExpr(
        "id", "if(id = 1, null, 'UA') AS carrier", "timestamp'2013-01-01 05:00:00' + make_interval(0, 0, 0, 0, id) AS at",
        "cast(id + 0.25 AS DECIMAL(9,2)) AS fare", "slice(array('JFK', 'BOS'), 1, cast(id AS INT)) AS stops",
        "map('eco', cast(id AS INT)) AS seats", f"{plane} AS plane", f"if(id = 0, null, {plane}) AS next",
    )  # fmt: skip
    encoded = rows.select(to_avro(F.struct("*"), json.dumps(FLIGHT)).alias("value")).collect()
    return [bytes(row.value) for row in encoded]


def expected(place: int) -> dict[str, Any]:
    return {
        "id": place,
        "carrier": None if place == 1 else "UA",
        "at": FIVE + dt.timedelta(hours=place),
        "fare": Decimal(place) + Decimal("0.25"),
        "stops": ["JFK", "BOS"][:place],
        "seats": {"eco": place},
        "plane": {"tail": f"N{place}"},
        "next": None if place == 0 else {"tail": f"N{place}"},
        "offset": place,
    }


def plain(row: Row) -> dict[str, Any]:
    values = row.asDict(recursive=True)
    return values | {"at": values["at"].astimezone(dt.UTC)}


def test_avro_records_are_decoded_whole(spark: SparkSession, flights: list[bytes]) -> None:
    good, bad = split(spark, [*flights], avro={"schema": json.dumps(FLIGHT)})
    assert not bad
    assert [plain(good[place]) for place in range(3)] == [expected(place) for place in range(3)]


def test_truncated_or_extended_avro_records_are_malformed(spark: SparkSession, flights: list[bytes]) -> None:
    whole = flights[2]
    cuts = [whole[:length] for length in range(len(whole))]
    followed = [whole + more for more in (b"\x00", b"\x01", bytes(15), bytes(15) + b"\x01", whole)]
    good, bad = split(spark, [*cuts, *followed, None], avro={"schema": json.dumps(FLIGHT)})
    # Behind bytes that are our mark itself, the record looks whole: none but somebody who knows it writes them.
    assert list(good) == [len(cuts) + 3]
    assert bad.pop(len(cuts) + len(followed)) == "the record has no value"
    assert all(
        error.startswith("the record does not match the Avro schema 'Flight': ") for error in bad.values()
    )
    assert max(map(len, bad.values())) < 100


@pytest.mark.full(gate="spark/test_decode_formats.py::test_truncated_or_extended_avro_records_are_malformed")
def test_invalid_avro_fails_neither_the_query_nor_the_jvm(spark: SparkSession) -> None:
    garbage = [
        b'{"a":1}',
        b"\x00\x00\x00\x00\x07\x02\x02",
        b"\xff" * 40,
        b"\x02\x02\x02\xfe\xff\xff\xff\x0f",  # a string of two thousand million letters
        b"\x02\x02\x02\x80\x90\xd3\x83\x0bxx",
        b"\x04\x02x",
    ]
    good, bad = split(spark, [*garbage], avro={"schema": json.dumps(SMALL)})
    assert not good
    assert bad[0] == "the record does not match the Avro schema 'Small': 7B2261223A317D"
    assert all(
        error.startswith("the record does not match the Avro schema 'Small': ") for error in bad.values()
    )


def test_an_avro_record_of_nulls_is_decoded(spark: SparkSession) -> None:
    good, bad = split(spark, [b"\x00\x00", b"\x00", b""], avro={"schema": json.dumps(SMALL)})
    assert good == {0: Row(a=None, s=None, offset=0)}
    assert list(bad) == [1, 2]
    # Spark alone cannot tell these apart.
    frame = spark.createDataFrame([(b"\x00\x00",), (b"\x00",)], "value BINARY")
    alone = frame.select(from_avro("value", json.dumps(SMALL), {"mode": "PERMISSIVE"}).alias("r")).collect()
    assert [row.r for row in alone] == [Row(a=None, s=None)] * 2


TEXTS = {
    "type": "record",
    "name": "Texts",
    "fields": [
        {"name": "plain", "type": "string"},
        {"name": "nullable", "type": ["null", "string"]},
        {"name": "nested", "type": {"type": "record", "name": "Inner", "fields": [{"name": "deep", "type": "string"}]}},
        {"name": "list", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "lists", "type": {"type": "array", "items": {"type": "array", "items": "Inner"}}},
        {"name": "map", "type": {"type": "map", "values": "string"}},
        {"name": "either", "type": ["string", "int"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "raw", "type": "bytes"},
    ],
}  # fmt: skip
PLACES = ("plain", "nullable", "deep", "item", "inner", "key", "value", "member")


def test_avro_with_a_string_that_is_not_utf8_is_malformed(spark: SparkSession) -> None:
    whole = dict.fromkeys(PLACES, "ü".encode())
    raws = [avro_of(**whole), *(avro_of(**whole | {place: b"a\xff"}) for place in PLACES)]
    good, bad = split(spark, [*raws], avro={"schema": json.dumps(TEXTS)})
    assert [(place, row.plain, row.raw) for place, row in good.items()] == [(0, "ü", b"\xff")]
    assert bad == dict.fromkeys(range(1, len(raws)), "a string is not valid UTF-8")


def avro_of(**texts: bytes) -> bytes:
    """A record of the schema TEXTS, with a null in its list."""
    string = {name: bytes([2 * len(text)]) + text for name, text in texts.items()}
    fields = (
        string["plain"],
        b"\x02" + string["nullable"],
        string["deep"],
        b"\x04\x02" + string["item"] + b"\x00\x00",
        b"\x02\x02" + string["inner"] + b"\x00\x00",
        b"\x02" + string["key"] + string["value"] + b"\x00",
        b"\x00" + string["member"],
        b"\x02",
        b"\x02\xff",
    )
    return b"".join(fields)


def test_avro_after_a_confluent_header_shows_its_schema_id(spark: SparkSession) -> None:
    body = b"\x02\x02\x02\x02x"
    raws = [
        b"\x00\x00\x00\x01\x00" + body,
        b"\x00\x00\x00\x01\x01" + body,
        b"\x01\x00\x00\x01\x00" + body,
        body,
        b"\x00",
    ]
    good, bad = split(spark, [*raws], avro={"schema": json.dumps(SMALL), "registryId": 256})
    assert good == {0: Row(a=1, s="x", offset=0)}
    shown = {
        place: f"the record has no Confluent header with the schema id 256: {raws[place].hex().upper()}"
        for place in range(1, 5)
    }
    assert bad == shown


@pytest.mark.parametrize(
    ("decode", "good", "bad"),
    sampled(
        [
            ({"avro": {"schema": json.dumps(SMALL)}}, b"\x00\x00", b"\x00"),
            ({"csv": {"schema": "a INT"}}, b"1", b"x"),
            ({"text": {}}, b"1", b"\xff"),
        ],
        every=3,
    ),
    ids=["avro", "csv", "text"],
)
def test_each_format_supports_each_policy_for_malformed_records(
    spark: SparkSession, decode: dict[str, Any], good: bytes, bad: bytes
) -> None:
    raws: list[bytes | None] = [good, bad, good]
    for way in ("drop", "deadLetter"):
        assert [row.offset for row in decoded(spark, raws, way, **decode).rows().collect()] == [0, 2]
    with pytest.raises(PySparkException) as raised:
        decoded(spark, raws, "fail", **decode).rows().collect()
    failure = classify(raised.value)
    assert (failure.reason, failure.permanent) == ("MalformedRecord", True)
    assert failure.message.startswith("a record does not parse: topic t partition 3 offset 1: ")


NESTED = "devices STRUCT<cameras MAP<STRING, STRUCT<id STRING, seen ARRAY<TIMESTAMP>>>>"
CAMERA = (
    b'{"devices":{"cameras":{"a":{"id":"a","seen":["2013-01-01T05:00:00.000Z"]},"b":{"id":null,"seen":[]}}}}'
)


@pytest.mark.full(gate="spark/test_decode_formats.py::test_avro_and_csv_accept_schema_files")
def test_a_schema_file_works_like_ddl(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "schema.json"
    file.write_text(StructType.fromDDL(NESTED).json())
    options = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"}
    for schema in ({"schemaFile": str(file)}, {"schemaFile": f"file:{file}"}, {"schema": NESTED}):
        good, bad = split(spark, [CAMERA, b'{"devices":{"cameras":[]}}'], json=schema | {"options": options})
        cameras = good[0].devices.cameras
        assert [moment.astimezone(dt.UTC) for moment in cameras["a"].seen] == [FIVE]
        assert (cameras["a"].id, cameras["b"].id, cameras["b"].seen) == ("a", None, [])
        assert list(bad) == [1]


def test_avro_and_csv_accept_schema_files(spark: SparkSession, tmp_path: Path) -> None:
    avsc, struct = tmp_path / "small.avsc", tmp_path / "line.json"
    avsc.write_text(json.dumps(SMALL))
    struct.write_text(StructType.fromDDL("`n``o` INT, s STRING").json())
    assert split(spark, [b"\x02\x02\x02\x02x"], avro={"schemaFile": str(avsc)})[0] == {
        0: Row(a=1, s="x", offset=0)
    }
    good, _ = split(spark, [b"1,x"], csv={"schemaFile": str(struct)})
    assert good[0].asDict() == {"n`o": 1, "s": "x", "offset": 0}


SCHEMA_FILES = [
    ("json", None, "SchemaFileNotReadable"),
    ("json", '{"type": "struct", "fields": [{"name": "a", "type": "integr"}]}', "SchemaFileInvalid"),
    ("csv", "a INT", "SchemaFileInvalid"),
    ("avro", '"string"', "SchemaFileInvalid"),
    ("json", "", "SchemaFileInvalid"),
    ("json", "[1]", "SchemaFileInvalid"),
    ("json", '{"type": "struct"}', "SchemaFileInvalid"),
    ("json", json.dumps(SMALL), "SchemaFileInvalid"),
    ("avro", None, "SchemaFileNotReadable"),
    ("avro", '{"type": "struct", "fields": []}', "SchemaFileInvalid"),
]
"""The first four: no file, an unknown type, a text that is no JSON, and an Avro schema of no record."""


@pytest.mark.parametrize(("kind", "content", "reason"), only(SCHEMA_FILES, SCHEMA_FILES[:4]))
def test_an_invalid_schema_file_is_reported(
    spark: SparkSession, tmp_path: Path, kind: str, content: str | None, reason: str
) -> None:
    file = tmp_path / "schema"
    if content is not None:
        file.write_text(content)
    with pytest.raises(NotReady) as raised:
        decoded(spark, [b""], **{kind: {"schemaFile": str(file)}})
    assert raised.value.reason == reason
    assert str(file) in raised.value.message


@pytest.fixture
def counted(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A stream of lines."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("1,x\noops\n2,y\n")
    return spark.newSession().readStream.format("text").name("src").load(str(tmp_path / "in"))


@pytest.mark.full(gate="spark/test_decode.py::test_a_stream_counts_decoded_and_malformed_records_in_one_pass")
def test_a_stream_of_csv_counts_decoded_and_malformed_records_in_one_pass(
    counted: DataFrame, tmp_path: Path
) -> None:
    rows: list[Row] = []
    how = Decode.model_validate({"csv": {"schema": "n INT, s STRING"}, "onMalformedRecord": "drop"})
    query = (
        DecodedRecords(counted, how, "src").rows()
        .writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )  # fmt: skip
    query.awaitTermination(120)
    progress = next(p for p in reversed(query.recentProgress) if p["numInputRows"])
    assert progress["observedMetrics"]["mainstem.src"].asDict() == {"decoded": 2, "malformed": 1}
    assert sorted(rows) == [Row(n=1, s="x"), Row(n=2, s="y")]
