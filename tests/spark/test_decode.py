"""What counts as a record and what does not: a table of both, in each of the three ways to treat the bad ones."""

import datetime as dt
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents.ugly_records import BAD, FIVE, FOLLOWED, GOOD, SCHEMA, Bad
from harness.sampling import only, sampled
from mainstem.dataframes.decode.decoding import DecodedRecords
from mainstem.language.model.decode import Decode
from mainstem.runtime.failures.classification import classify
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession


pytestmark = [pytest.mark.S10, pytest.mark.S12]


def treated(way: str, schema: str = SCHEMA, **options: str) -> Decode:
    return Decode.model_validate({"json": {"schema": schema, "options": options}, "onMalformedRecord": way})


def records(spark: SparkSession, raws: list[bytes | None]) -> DataFrame:
    """As Kafka's source gives them; `offset` is the place in the list."""
    rows = [(raw, "t", 3, place) for place, raw in enumerate(raws)]
    return spark.createDataFrame(rows, "value BINARY, topic STRING, partition INT, offset BIGINT")


def kept(
    spark: SparkSession, raws: list[bytes | None], way: str = "drop", **options: str
) -> list[dict[str, Any]]:
    """The good rows, without their nulls."""
    how = treated(way, **options)
    rows = DecodedRecords(records(spark, raws).orderBy("offset"), how, "src").rows().collect()
    return [
        {name: plain(value) for name, value in row.asDict(recursive=True).items() if value is not None}
        for row in rows
    ]


def plain(value: Any) -> Any:
    """PySpark gives timestamps in this machine's zone, without saying so."""
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def same(left: Any, right: Any) -> bool:
    return bool(left == right or (left != left and right != right))


def test_valid_records_are_decoded_whole(spark: SparkSession) -> None:
    rows = kept(spark, [good.raw for good in GOOD])
    assert len(rows) == len(GOOD)
    for good, row in zip(GOOD, rows, strict=True):
        assert row.keys() == good.columns.keys(), good.raw
        assert all(same(row[name], value) for name, value in good.columns.items()), (good.raw, row)


def test_malformed_records_become_dead_letters_with_position_and_reason(spark: SparkSession) -> None:
    raws = [bad.raw for bad in BAD]
    letters = DecodedRecords(records(spark, raws), treated("deadLetter"), "src").dead_letters()
    assert letters.schema.simpleString() == (
        "struct<raw:binary,topic:string,partition:int,offset:bigint,file:string,error:string,time:timestamp>"
    )
    rows = letters.orderBy("offset").collect()
    assert [
        (row.raw and bytes(row.raw), row.offset, row.error[: len(bad.error)])
        for row, bad in zip(rows, BAD, strict=True)
    ] == [(bad.raw, place, bad.error) for place, bad in enumerate(BAD)]
    assert {(row.topic, row.partition, row.file) for row in rows} == {("t", 3, None)}
    assert all(row.time is not None for row in rows)


@pytest.mark.full(
    gate="spark/test_file_records.py::test_files_and_kafka_agree_on_valid_and_malformed_records"
)
def test_decoded_and_malformed_records_are_all_that_was_read(spark: SparkSession) -> None:
    raws = [*(good.raw for good in GOOD), *(bad.raw for bad in BAD), *FOLLOWED]
    letters = DecodedRecords(records(spark, raws), treated("deadLetter"), "src").dead_letters().count()
    assert len(kept(spark, raws)) + letters == len(raws)
    assert letters == len(BAD) + len(FOLLOWED)


@pytest.mark.parametrize(
    "bad", only([BAD[0], BAD[3], BAD[16], BAD[23], BAD[27]], [BAD[27]]), ids=lambda bad: bad.error
)
def test_fail_ends_the_query_with_the_position(spark: SparkSession, bad: Bad) -> None:
    with pytest.raises(PySparkException) as raised:
        kept(spark, [b'{"i":1}', bad.raw, b'{"i":2}'], way="fail")
    failure = classify(raised.value)
    assert failure.reason == "MalformedRecord"
    assert failure.permanent
    assert failure.message.startswith(f"a record does not parse: topic t partition 3 offset 1: {bad.error}")
    remedy = "onTombstone to skip" if bad.raw is None else "onMalformedRecord to drop or deadLetter"
    assert failure.message.endswith(f"; set decode.{remedy}")


@pytest.mark.parametrize("way", only(["fail", "drop", "deadLetter"], ["deadLetter"]))
def test_a_tombstone_can_be_skipped_while_a_malformed_record_is_not(spark: SparkSession, way: str) -> None:
    raws = [b'{"i":1}', None, b"", None, b'{"i":2}']
    how = treated(way).model_copy(update={"on_tombstone": "skip"})

    def decoded(values: list[bytes | None]) -> DecodedRecords:
        return DecodedRecords(records(spark, values), how, "src")

    if way == "fail":
        assert [row.i for row in decoded([raws[0], *raws[3:]]).rows().collect()] == [1, 2]
        with pytest.raises(PySparkException) as raised:
            decoded(raws).rows().collect()
        assert "offset 2: the record is empty; set decode.onMalformed" in classify(raised.value).message
        with pytest.raises(PySparkException) as refused:
            kept(spark, raws[:2], way="fail")
        message = "offset 1: the record has no value; set decode.onTombstone to skip"
        assert classify(refused.value).message.endswith(message)
    else:
        assert [row.i for row in decoded(raws).rows().collect()] == [1, 2]
        assert [row.offset for row in decoded(raws).dead_letters().collect()] == [2]


@pytest.mark.full(gate="spark/test_decode.py::test_fail_ends_the_query_with_the_position")
def test_fail_lets_valid_records_pass(spark: SparkSession) -> None:
    assert kept(spark, [b'{"i":1}', b'{"i":2}'], way="fail") == [{"i": 1}, {"i": 2}]


@pytest.mark.full(
    gate="spark/test_decode_formats.py::test_each_format_supports_each_policy_for_malformed_records"
)
@pytest.mark.parametrize("way", ["drop", "deadLetter"])
def test_the_other_records_are_decoded(spark: SparkSession, way: str) -> None:
    assert kept(spark, [b'{"i":1}', b"{", None, b'{"i":2}'], way=way) == [{"i": 1}, {"i": 2}]


def test_text_after_the_object_is_malformed(spark: SparkSession) -> None:
    assert kept(spark, FOLLOWED) == []
    letters = (
        DecodedRecords(records(spark, FOLLOWED), treated("deadLetter"), "src")
        .dead_letters()
        .orderBy("offset")
        .collect()
    )
    assert [letter.error for letter in letters] == ["something follows the JSON object"] * len(FOLLOWED)


OPTIONS = [
    ({"timestampFormat": "dd.MM.yyyy HH:mm X"}, b'{"t":"01.01.2013 06:00 +01"}', {"t": FIVE}),
    ({"allowComments": "true"}, b'{"i":1} // one', {"i": 1}),
    ({"timestampFormat": "yyyy-MM-dd HH"}, b'{"t":"2013-01-01 05"}', {"t": FIVE}),
    ({"dateFormat": "dd.MM.yyyy"}, b'{"day":"31.12.2013"}', {"day": dt.date(2013, 12, 31)}),
    ({"timeZone": "Europe/Zurich"}, b'{"t":"2013-01-01T06:00:00"}', {"t": FIVE}),
    ({"allowUnquotedFieldNames": "true"}, b"{i:1}", {"i": 1}),
    ({"allowNumericLeadingZeros": "true"}, b'{"i":01}', {"i": 1}),
]
"""The first two go to the two parts that take options: the formats of values, and the parser."""


@pytest.mark.parametrize(("options", "raw", "row"), only(OPTIONS, OPTIONS[:2]))
def test_options_of_the_reader_apply(
    spark: SparkSession, options: dict[str, str], raw: bytes, row: dict[str, Any]
) -> None:
    assert kept(spark, [raw], **options) == [row]


@pytest.mark.parametrize(
    ("options", "raw"),
    sampled(
        [
            ({"timestampFormat": "yyyy-MM-dd HH"}, b'{"t":"2013-01-01T05:00:00Z"}'),
            ({"allowSingleQuotes": "false"}, b"{'i':1}"),
            ({"allowNonNumericNumbers": "false"}, b'{"d":NaN}'),
        ],
        every=3,
    ),
)
def test_options_of_the_reader_reject(spark: SparkSession, options: dict[str, str], raw: bytes) -> None:
    assert kept(spark, [raw], **options) == []


def test_a_field_may_have_the_name_of_an_internal_column(spark: SparkSession) -> None:
    assert kept(spark, [b'{"__mainstem_corrupt":"x","value":1,"i":1}']) == [{"i": 1}]


def test_kept_columns_are_beside_the_decoded_ones(spark: SparkSession) -> None:
    how = Decode.model_validate(
        {"json": {"schema": "i INT"}, "onMalformedRecord": "drop", "keep": ["topic", "offset"]}
    )
    frame = DecodedRecords(records(spark, [b"{", b'{"i":7}']), how, "src").rows()
    assert [row.asDict() for row in frame.collect()] == [{"i": 7, "topic": "t", "offset": 1}]


@pytest.mark.full(
    gate="spark/test_decode.py::test_a_dead_letter_names_the_column_its_value_and_the_expected_type"
)
def test_deep_and_long_records_beyond_the_limits_are_malformed(spark: SparkSession) -> None:
    """The parser has limits of its own; beyond them a record is bad, and nothing fails."""
    deep = b'{"s":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    long = b'{"s":"' + b"x" * 3_000_000 + b'"}'
    digits = b'{"n":' + b"9" * 5_000 + b"}"
    raws: list[bytes | None] = [deep, long, digits]
    letters = DecodedRecords(records(spark, raws), treated("deadLetter"), "src").dead_letters()
    assert [row.offset for row in letters.orderBy("offset").collect()] == [0, 2]
    assert [len(row["s"]) for row in kept(spark, raws)] == [3_000_000]


@pytest.fixture
def streamed(spark: SparkSession, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs good or malformed records of a folder through a stream, and returns its last progress and its rows."""

    def run(lines: list[str], how: Decode, *, bad: bool = False) -> dict[str, Any]:
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        raw = spark.readStream.format("text").name("src").load(str(tmp_path / "in"))
        decoded = DecodedRecords(raw.selectExpr("value", "_metadata.file_path AS file"), how, "src")
        frame = decoded.dead_letters() if bad else decoded.rows()
        rows: list[Any] = []
        query = (
            frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
        progress = next(p for p in reversed(query.recentProgress) if p["numInputRows"])
        return {"metrics": progress["observedMetrics"]["mainstem.src"], "rows": rows}

    return run


def test_a_stream_counts_decoded_and_malformed_records_in_one_pass(
    streamed: Callable[..., dict[str, Any]],
) -> None:
    done = streamed(['{"i":1}', '{"i":', "", '{"i":2}'], treated("drop", "i INT"))
    assert done["metrics"].asDict() == {"decoded": 2, "malformed": 2, "otherCase": None}
    assert [row.i for row in done["rows"]] == [1, 2]


@pytest.mark.full(
    gate="spark/test_file_records.py::test_files_and_kafka_agree_on_valid_and_malformed_records"
)
def test_dead_letters_of_files_name_the_file(streamed: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    done = streamed(['{"i":1}', '{"i":'], treated("deadLetter", "i INT"), bad=True)
    assert done["metrics"].asDict() == {"decoded": 1, "malformed": 1, "otherCase": None}
    [row] = done["rows"]
    assert bytes(row.raw) == b'{"i":'
    assert row.file == f"file:{tmp_path}/in/a.txt"
    assert (row.topic, row.partition, row.offset) == (None, None, None)


@pytest.mark.full(gate="spark/test_file_records.py::test_a_malformed_line_ends_a_query_by_default")
def test_a_failed_stream_names_the_file(streamed: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    with pytest.raises(StreamingQueryException) as raised:
        streamed(['{"i":1}', '{"i":'], treated("fail", "i INT"))
    failure = classify(raised.value)
    assert failure.reason == "MalformedRecord"
    assert failure.message.startswith(
        f"a record does not parse: file file:{tmp_path}/in/a.txt: not valid JSON: "
    )


WIDE = """s STRING, a ARRAY<INT>, n BIGINT, api_token INT, o STRUCT<x INT>, l ARRAY<STRUCT<a: INT>>,
    m MAP<STRING, STRUCT<a: DATE>>, d ARRAY<STRUCT<o: STRUCT<b: ARRAY<STRUCT<c: INT>>>>>, k ARRAY<STRUCT<api_key: INT>>,
    tokens MAP<STRING, STRUCT<a: INT>>, apis MAP<STRING, STRUCT<key: INT>>"""
NAMED = {
    b'{"a":[1,null],"n":"12 apples"}': "the column 'n' must be BIGINT, but its value is '12 apples'",
    b'{"n":"' + b"y" * 5000 + b'"}': f"the column 'n' must be BIGINT, but its value is '{'y' * 40}...'",
    b'{"n":"two\\nlines"}': "the column 'n' must be BIGINT, but its value is 'two lines'",
    b'{"api_token":"hunter2"}': "the column 'api_token' must be INT, but its value is '*****'",
    b'{"o":{"x":"q"}}': "the column 'o.x' must be INT, but its value is 'q'",
    b'{"o":[1]}': "the column 'o' must be STRUCT<x: INT>, but its value is '[1]'",
    b'{"l":[{"a":1},5]}': "the column 'l' must be ARRAY<STRUCT<a: INT>>, but its value is '[{\"a\":1},5]'",
    b'{"l":[{"a":1},null,{"a":"x"}]}': "the column 'l[2].a' must be INT, but its value is 'x'",
    b'{"m":{"u":{"a":"2024-01-31"},"v":{"a":"today"}}}': "the column 'm[\"v\"].a' must be DATE, such as 2024-01-31, but its value is 'today'",
    b'{"m":{"v":[2]}}': "the column 'm' must be MAP<STRING, STRUCT<a: DATE>>, but its value is '{\"v\":[2]}'",
    b'{"d":[{},{"o":{"b":[{"c":1},{"c":2.50}]}}]}': "the column 'd[1].o.b[1].c' must be INT, but its value is '2.50'",
    b'{"k":[{"api_key":"hunter2"}]}': "the column 'k[0].api_key' must be INT, but its value is '*****'",
    b'{"m":{"access_key":{"a":"hunter2"}}}': "the column 'm[\"*****\"].a' must be DATE, such as 2024-01-31, but its value is '*****'",
    b'{"m":{"a\\"].b\\\\":{"a":"x"}}}': r"""the column 'm["a\"].b\\"].a' must be DATE, such as 2024-01-31, but its value is 'x'""",
    b'{"m":{"'
    + b"k" * 60
    + b'password":{"a":"hunter2"}}}': "the column 'm[\"*****\"].a' must be DATE, such as 2024-01-31, but its value is '*****'",
    b'{"tokens":{"hunter2":{"a":"x"}}}': "the column 'tokens[\"*****\"].a' must be INT, but its value is '*****'",
    b'{"apis":{"api":{"key":"hunter2"}}}': "the column 'apis[\"*****\"].key' must be INT, but its value is '*****'",
    b'{"k":["hunter2"]}': "the column 'k' must be ARRAY<STRUCT<api_key: INT>>, but its value is '*****'",
    b'{"s":"' + b"z" * 100: f'not valid JSON: \'{{"s":"{"z" * 34}...\'',
    b'{"s":'
    + b"[" * 1200
    + b"]" * 1200
    + b"}": "not valid JSON, or nested deeper than 1000 (maxNestingDepth): ",
    b'{"n":' + b"1" * 1200 + b"}": "not valid JSON, or a number of more than 1000 digits (maxNumLen): ",
}
LONG = {
    b'{"s":"'
    + b"x" * 20_000_001
    + b'"}': "not valid JSON, or a string of more than 20000000 characters (maxStringLen): ",
}


@pytest.mark.parametrize("named", sampled([NAMED, LONG], every=2), ids=["", "a long string"])
def test_a_dead_letter_names_the_column_its_value_and_the_expected_type(
    spark: SparkSession, named: dict[bytes, str]
) -> None:
    letters = DecodedRecords(records(spark, list(named)), treated("deadLetter", WIDE), "src").dead_letters()
    errors = [row.error for row in letters.orderBy("offset").collect()]
    assert [error[: len(message)] for error, message in zip(errors, named.values(), strict=True)] == list(
        named.values()
    )
    assert max(map(len, errors)) < 250
    assert not any("hunter2" in error for error in errors)


NUMBERS = {
    '{"n":99999999.999}': "99999999.999",
    '{"n":1e5}': "1e5",
    '{"s":"1 and 2.5","n":-1.50}': "-1.50",
    '{"n":1E+2}': "1E+2",
    '{"n":0.10}': "0.10",
    '{"n":1.0e-7}': "1.0e-7",
    '{"n":"2.50"}': "2.50",
    '{"s":"1e5","n":"1e5"}': "1e5",
    '{"s":"1e7","n":1.00E7}': "1.0E7",
    '{"s":"0.30000000000000004","n":0.30000000000000003}': "0.30000000000000004",
    '{"s":"123456789012345678901","n":123456789012345678901.5}': "1.2345678901234568E20",
    '{"n":1e400}': '"Infinity"',
}
"""Record -> how its number is shown: with its digits there, if no other number of the record has its value."""


def test_a_dead_letter_shows_a_number_with_the_digits_of_the_record_or_as_spark_does(
    spark: SparkSession,
) -> None:
    raws = [record.encode() for record in NUMBERS]
    letters = DecodedRecords(
        records(spark, raws), treated("deadLetter", "s STRING, n INT"), "src"
    ).dead_letters()
    errors = [row.error for row in letters.orderBy("offset").collect()]
    assert errors == [f"the column 'n' must be INT, but its value is '{shown}'" for shown in NUMBERS.values()]


_FULL_DEPTH = pytest.mark.full(
    gate="spark/test_decode.py::test_a_value_that_does_not_fit_is_named_at_every_depth"
)
NESTINGS = {
    "s": ("STRUCT<f: {}>", '{{"f":{}}}', ".f"),
    "a": ("ARRAY<{}>", "[{}]", "[0]"),
    "m": ("MAP<STRING, {}>", '{{"k":{}}}', '["k"]'),
}


@pytest.mark.parametrize("depth", [2, pytest.param(3, marks=_FULL_DEPTH)])
def test_a_value_that_does_not_fit_is_named_at_every_depth(spark: SparkSession, depth: int) -> None:
    """The shortest path that shows the value: Spark makes a whole column null, or only the part that does not fit."""
    columns = {}
    shapes = (itertools.product("sam", repeat=size) for size in range(1, depth + 1))
    for shape in itertools.chain.from_iterable(shapes):
        kind, value = "INT", '"x"'
        for each in reversed(shape):
            kind, value = NESTINGS[each][0].format(kind), NESTINGS[each][1].format(value)
        columns["".join(shape)] = kind, value
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    raws = [f'{{"{name}":{value}}}'.encode() for name, (_, value) in columns.items()]
    letters = DecodedRecords(records(spark, raws), treated("deadLetter", schema), "src").dead_letters()
    errors = [row.error for row in letters.orderBy("offset").collect()]
    for name, error in zip(columns, errors, strict=True):
        path = f"{name}{''.join(NESTINGS[each][2] for each in name)}"
        named = re.match(r"the column '([^']*)' must be .*, but its value is '.*x", error)
        assert named is not None, error
        assert path.startswith(named[1])
        assert named[1] != name or "s" not in name, "a field of a struct is named itself"


def test_the_pattern_of_the_options_is_the_expected_format(spark: SparkSession) -> None:
    how = treated("deadLetter", "t TIMESTAMP, d DATE", timestampFormat="dd.MM.yyyy HH:mm")
    raws: list[bytes | None] = [b'{"t":"2013-01-01T05:00:00Z"}', b'{"d":"01.02.2013"}']
    errors = [
        row.error
        for row in DecodedRecords(records(spark, raws), how, "src").dead_letters().orderBy("offset").collect()
    ]
    assert errors == [
        "the column 't' must be TIMESTAMP of the timestampFormat dd.MM.yyyy HH:mm, but its value is '2013-01-01T05:00:00Z'",
        "the column 'd' must be DATE, such as 2024-01-31, but its value is '01.02.2013'",
    ]


@pytest.mark.full(gate="spark/test_decode.py::test_fail_ends_the_query_with_the_position")
def test_a_failed_query_reports_a_record_as_a_dead_letter_does(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as raised:
        DecodedRecords(records(spark, [b'{"n":"12 apples"}']), treated("fail", WIDE), "src").rows().collect()
    failure = classify(raised.value)
    assert failure.message == (
        "a record does not parse: topic t partition 3 offset 0: the column 'n' must be BIGINT, but its value is '12 apples'; "
        "set decode.onMalformedRecord to drop or deadLetter"
    )
