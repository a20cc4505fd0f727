"""Files of JSON and CSV are decoded and counted as Kafka's records are, however their records lie in them."""

import csv
import gzip
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from documents.ugly_records import BAD, FOLLOWED, GOOD, SCHEMA
from harness.sampling import only
from mainstem.dataframes.decode import file_records
from mainstem.dataframes.decode.decoding import DecodedRecords
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sources import static
from mainstem.dataframes.sources.streaming import Reader, dead_letters, relation
from mainstem.language.model.connectors.static_sources import StaticSource
from mainstem.language.model.decode import OTHER_CASE, Decode
from mainstem.language.model.sources import Source
from mainstem.runtime.failures.classification import classify
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession


pytestmark = [pytest.mark.S06, pytest.mark.S10]

CSV_LINES = [
    b"1,x", b'2,"a,b"', b",", b"3,", b'4,"a ""b"""', "5,Zürich".encode(), b"", b"  ", b"6", b"7,x,y", b"x,y", b'8,"x',
    b"9,\xff", b"1.5,x", b"2147483648,x", b'"10",x', b"\xef\xbb\xbf11,x", b"12;x", b"# 13,x", b"14,a\x00b",
]  # fmt: skip


SEPARATORS = [
    {"sep": r"\t"},
    {"sep": r"\"", "quote": "'"},
    *({"sep": sep} for sep in ("\t", r"\\", r"\'", r"\f", r"\t\t", r"|\t", "||", ";")),
    {"delimiter": r"\t"},
    {"sep": r"\t", "quote": "'", "escape": "'"},
    {"quote": "\t"},
    {"escape": "~"},
]


class Done(NamedTuple):
    """What became of a stream: its counts, and rows."""

    counts: dict[str, int]
    rows: list[Any]


def source(path: Path, **files: Any) -> Source:
    return Source.model_validate({"name": "src", "files": {"path": str(path), **files}})


def run(frame: DataFrame, checkpoint: Path) -> Done:
    rows: list[Any] = []
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    progress = next(p for p in reversed(query.recentProgress) if p["numInputRows"])
    return Done(progress["observedMetrics"]["mainstem.src"].asDict(), rows)


@pytest.mark.S12
@pytest.mark.parametrize("kind", only(["json", "csv"], ("json",)))
def test_files_and_kafka_agree_on_valid_and_malformed_records(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    corpus = [*(good.raw for good in GOOD), *(bad.raw for bad in BAD if bad.raw is not None), *FOLLOWED]
    raws = [raw for raw in corpus if not {b"\n", b"\r"} & {raw[at : at + 1] for at in range(len(raw))}]
    schema = SCHEMA if kind == "json" else "n INT, s STRING"
    raws = raws if kind == "json" else CSV_LINES
    how = Decode.model_validate({kind: {"schema": schema}, "onMalformedRecord": "deadLetter"})
    kafka = DecodedRecords(spark.createDataFrame([(raw,) for raw in raws], "value BINARY"), how, "src")
    expected = sorted((bytes(row.raw), row.error) for row in kafka.dead_letters().collect())

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"".join(raw + b"\n" for raw in raws))
    files = source(tmp_path / "in", format=kind, schema=schema, onMalformedRecord="deadLetter")
    session = spark.newSession()
    done = run(dead_letters(Reader(Connections()), session, files, "src"), tmp_path / "checkpoint")
    assert sorted((bytes(row.raw), row.error) for row in done.rows) == expected
    assert done.counts == {
        "decoded": len(raws) - len(expected),
        "malformed": len(expected),
        **({OTHER_CASE: None} if kind == "json" else {}),
    }
    assert {row.file for row in done.rows} == {f"file:{tmp_path}/in/a"}


@pytest.mark.S12
def test_a_malformed_line_ends_a_query_by_default(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"n":1}\n{"n":\n')
    frame = relation(Reader(Connections()), spark.newSession(), source(tmp_path / "in", format="json", schema="n INT"), "src")  # fmt: skip
    with pytest.raises(PySparkException) as raised:
        run(frame, tmp_path / "checkpoint")
    failure = classify(raised.value)
    assert failure.reason == "MalformedRecord"
    assert failure.message == (
        f"a record does not parse: file file:{tmp_path}/in/a.json: not valid JSON: '{{\"n\":'; set files.onMalformedRecord to drop or deadLetter"
    )


@pytest.mark.S12
@pytest.mark.parametrize("options", only(SEPARATORS, SEPARATORS[:2]), ids=str)
def test_separators_are_written_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """Spark's own reader of CSV reads what its own writer writes; a quoted field holds every letter that is special."""
    names = {"a": r"back\slash", "b": "tab\tbed", "c": "it's", "d": 'a "quote"', "e": "|;,\f", "f": "plain"}
    rows = [tuple(names.values()), tuple(reversed(names.values()))]
    schema = ", ".join(f"{name} STRING" for name in names)
    folder = tmp_path / "in"
    spark.createDataFrame(rows, schema).coalesce(1).write.options(**options).csv(str(folder))
    theirs = [tuple(row) for row in spark.read.options(**options).schema(schema).csv(str(folder)).collect()]
    assert "plain" in theirs[0]
    files = source(folder, format="csv", schema=schema, options=options, onMalformedRecord="deadLetter")
    done = run(relation(Reader(Connections()), spark.newSession(), files, "src"), tmp_path / "checkpoint")
    assert sorted(tuple(row) for row in done.rows) == sorted(theirs)


class Case(NamedTuple):
    """Files, how they are read, and what comes of them: values of the good rows; raw of the malformed records, and how their errors begin."""

    files: Mapping[str, bytes]
    kind: str
    schema: str
    options: Mapping[str, str]
    good: list[tuple[Any, ...]]
    bad: Sequence[tuple[bytes | None, str]] = ()


FIELDS = "the line does not have 2 fields: "
NAMES = "the file's header has the columns [s, n], the schema has [n, s]"
NS = "n INT, s STRING"
LAYOUTS = {
    "CRLF": Case({"a": b'{"n":1}\r\n{"n":2}\r\n'}, "json", "n INT", {}, [(1,), (2,)]),
    "no line break at the end": Case({"a": b'{"n":1}\n{"n":2}'}, "json", "n INT", {}, [(1,), (2,)]),
    "byte order mark": Case({"a": b'\xef\xbb\xbf{"n":1}\n{"n":2}\n'}, "json", "n INT", {}, [(1,), (2,)]),
    "byte order mark before a header": Case({"a": b"\xef\xbb\xbfn,s\n1,x\n"}, "csv", NS, {"header": "true"}, [(1, "x")]),
    "empty file": Case({"a": b"", "b": b"n,s\n"}, "csv", NS, {"header": "true"}, []),
    "an empty line": Case({"a": b'{"n":1}\n\n'}, "json", "n INT", {}, [(1,)], [(b"", "the record is empty")]),
    "compressed": Case({"a.gz": gzip.compress(b"n,s\n1,x\n2,\n")}, "csv", NS, {"header": "TRUE"}, [(1, "x"), (2, None)]),
    "truncated": Case({"a.gz": gzip.compress(b"1,x\n")[:12]}, "csv", NS, {}, [], [(None, "the file is truncated or damaged: the part after the last record cannot be read")]),
    "header of other columns": Case({"a": b"s,n\nx,1\ny,2\n", "b": b"N,S\n3,z\n"}, "csv", NS, {"header": "true"}, [(3, "z")], [(b"x,1", NAMES), (b"y,2", NAMES)]),
    "header of others, and the schema is forced": Case({"a": b"a,b\n1,x\n"}, "csv", NS, {"header": "true", "enforceSchema": "true"}, [(1, "x")]),
    "header behind comments": Case({"a": b'# made by hand\n\n"n";s\n#1;no\n1;x\n'}, "csv", NS, {"header": "true", "comment": "#", "sep": ";"}, [(1, "x")]),
    "Latin-1": Case({"a": "1,Zürich\n".encode("latin-1")}, "csv", NS, {"encoding": "ISO-8859-1"}, [(1, "Zürich")]),
    "Windows": Case({"a": '{"s":"5 €"}\n'.encode("cp1252")}, "json", "s STRING", {"charset": "windows-1252"}, [("5 €",)]),
    "not of the encoding": Case({"a": b"1,x\n2,\x81\n"}, "csv", NS, {"encoding": "windows-1252"}, [(1, "x")], [(b"2,\x81", "not valid windows-1252")]),
    "not UTF-8": Case({"a": b"1,x\n2,\xe9\n"}, "csv", NS, {}, [(1, "x")], [(b"2,\xe9", "not valid UTF-8")]),
    "folders": Case({"code=007/a": b'{"n":1,"code":"own"}\n', "code=08/a": b'{"n":2}\n{"n"\n'}, "json", "code STRING, n INT", {}, [("007", 1), ("08", 2)], [(b'{"n"', "not valid JSON")]),
    "folders and a header": Case({"day=2013-01-02/a": b"n,s\n1,x\n"}, "csv", "n INT, day DATE, s STRING", {"header": "true"}, [(1, "2013-01-02", "x")]),
    "folders that the schema does not name": Case({"code=1/a": b"1,x\n"}, "csv", NS, {}, [(1, "x")]),
    "lines within quotes": Case({"a": b'n,s\n1,"a\nb"\r\n2,"c ""d"",\n\ne"\n3,"f"\n'}, "csv", NS, {"header": "true", "multiLine": "true", "escape": '"'}, [(1, "a\nb"), (2, 'c "d",\n\ne'), (3, "f")]),
    "a quote that stays open": Case({"a": b'1,"a\n2,b\n3,c\n'}, "csv", NS, {"multiLine": "true"}, [(2, "b"), (3, "c")], [(b'1,"a', FIELDS)]),
    "carriage returns within quotes": Case({"a": b'1,"a\r\nb\rc\nd"\r\n2,"\r"\r3,"\r\n"\n4,x\r\r\n'}, "csv", NS, {"multiLine": "true"}, [(1, "a\r\nb\rc\nd"), (2, "\r"), (3, "\r\n"), (4, "x")], [(b"", "the record is empty")]),
    "carriage returns after an open quote": Case({"a": b'1,"a\r\n2,b\r3,c\r'}, "csv", NS, {"multiLine": "true"}, [(2, "b"), (3, "c")], [(b'1,"a', FIELDS)]),
    "lines with another end": Case({"a": b'1,"a;b\r\nc";2,"d";'}, "csv", NS, {"multiLine": "true", "lineSep": ";"}, [(1, "a;b\r\nc"), (2, "d")]),
    "a quote within a field": Case({"a": b'1,5" disk\n2,b\n'}, "csv", NS, {"multiLine": "true"}, [(1, '5" disk'), (2, "b")]),
    "an array in a file": Case({"a": b'\xef\xbb\xbf [ {"n":1},\n {"n":\n2} ]\n', "b": b"[]", "c": b'{\n"n":3}\n'}, "json", "n INT", {"multiLine": "true"}, [(1,), (2,), (3,)]),
    "one bad object in a file": Case({"a": b'[{"n":1},\n{"n":"x"}]', "b": b"[1]", "c": b'{"n":1}\n{"n":2}', "d": b"[null]"}, "json", "n INT", {"multiLine": "true"}, [], [(b'[{"n":1},\n{"n":"x"}]', "the column 'n' must be INT, but its value is 'x'"), (b"[1]", "not a JSON object, or an array of them"), (b"[null]", "not a JSON object, or an array of them"), (b'{"n":1}\n{"n":2}', "something follows the JSON object")]),
}  # fmt: skip


IN_THE_GATE = (
    "byte order mark before a header",
    "truncated",
    "header of other columns",
    "not of the encoding",
    "folders",
    "carriage returns within quotes",
    "one bad object in a file",
)


@pytest.mark.parametrize("case", only(LAYOUTS.values(), [LAYOUTS[name] for name in IN_THE_GATE]), ids=LAYOUTS)
def test_records_of_files_are_split_and_decoded(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    for name, content in case.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    session = spark.newSession()
    files = source(tmp_path, format=case.kind, schema=case.schema, options=dict(case.options))
    assert files.files is not None
    how = files.decoding
    assert how is not None
    how = how.model_copy(update={"on_malformed_record": "deadLetter"})
    raw = file_records.table(session, str(tmp_path), how, files.files.options)
    many = case.kind == "json" and file_records.is_many(files.files.options)
    decoded = DecodedRecords(raw, how, "src", is_counted=False, many=many)
    rows = decoded.rows().selectExpr(*map(shown, decoded.rows().columns)).collect()
    letters = decoded.dead_letters().collect()
    assert sorted(map(tuple, rows)) == case.good
    letters = sorted((row.raw and bytes(row.raw), row.error) for row in letters)
    assert [raw for raw, _ in letters] == [raw for raw, _ in sorted(case.bad)]
    for (_, error), (_, begins) in zip(letters, sorted(case.bad), strict=True):
        assert error.startswith(begins)


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_each_text_within_quotes_stays_as_it_is(spark: SparkSession, tmp_path: Path, line_break: str) -> None:
    texts = ["".join(text) for length in (1, 2, 3) for text in itertools.product('a,"\r\n', repeat=length)]
    with (tmp_path / "a.csv").open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator=line_break)
        writer.writerows([number, text] for number, text in enumerate(texts))
    options = {"multiLine": "true", "escape": '"'}
    files = source(tmp_path, format="csv", schema=NS, options=options)
    assert files.files is not None
    assert files.decoding is not None
    raw = file_records.table(spark.newSession(), str(tmp_path), files.decoding, files.files.options)
    rows = DecodedRecords(raw, files.decoding, "src", is_counted=False).rows()
    assert [row.s for row in rows.orderBy("n").collect()] == texts


@pytest.mark.parametrize("kind", ["json", "csv"])
@pytest.mark.parametrize("on_malformed_record", ["fail", "deadLetter"])
def test_the_plan_grows_with_the_columns_and_not_with_their_sets(
    spark: SparkSession, tmp_path: Path, kind: str, on_malformed_record: str
) -> None:
    """Spark infers what holds for columns; from a message with all columns it inferred something for each set of them."""

    def inferred(count: int) -> int:
        names = [f"c{number}" for number in range(count)]
        schema = ", ".join(
            f"{name} {('INT', 'STRING', 'DATE', 'DECIMAL(10,2)')[index % 4]}"
            for index, name in enumerate(names)
        )
        files = source(tmp_path, format=kind, schema=schema, onMalformedRecord=on_malformed_record)
        assert files.files is not None
        assert files.decoding is not None
        raw = file_records.table(spark.newSession(), str(tmp_path), files.decoding, files.files.options)
        rows = DecodedRecords(raw, files.decoding, "src", is_counted=False).rows()
        return int(rows._jdf.queryExecution().optimizedPlan().validConstraints().size())

    assert inferred(10) <= 2 * inferred(5) + 10


def shown(column: str) -> str:
    return "CAST(day AS STRING)" if column == "day" else column


def test_each_part_of_a_large_file_is_checked_against_its_header(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    lines = "".join(f"{number},x\n" for number in range(10_000))
    for name, header in (("a", "n,s"), ("b", "s,n")):
        (tmp_path / name).write_text(f"{header}\n{lines}")
    how = Decode.model_validate({"csv": {"schema": NS}, "onMalformedRecord": "drop"})
    raw = file_records.table(session, str(tmp_path), how, {"header": "true"})
    assert raw.rdd.getNumPartitions() > 4
    decoded = DecodedRecords(raw, how, "src", is_counted=False)
    assert sorted(row.n for row in decoded.rows().collect()) == list(range(10_000))
    assert decoded.dead_letters().count() == 10_000


def table(spark: SparkSession, **kind: Any) -> DataFrame:
    return static.table(spark.newSession(), "side", "side", StaticSource.model_validate(kind), Connections())


@pytest.mark.S07
def test_a_side_input_with_a_malformed_line_ends_the_query(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,x\n2\n")
    for schema in ({"schema": "id INT, name STRING"}, {}):
        with pytest.raises(PySparkException) as raised:
            table(spark, csv={"path": str(tmp_path / "a.csv"), "header": True, **schema}).collect()
        failure = classify(raised.value)
        assert failure.reason == "MalformedRecord"
        assert failure.message == (
            f"a record does not parse: file file:{tmp_path}/a.csv: the line does not have 2 fields: '2'; "
            "correct the record: side is a side input, and all its records must be valid"
        )
    (tmp_path / "a.json").write_text('{"id":1}\n{"id":\n')
    with pytest.raises(PySparkException, match="MalformedRecord"):
        table(spark, json={"path": str(tmp_path / "a.json")}).collect()


@pytest.mark.S07
def test_side_inputs_are_read_in_all_formats(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,the name\n1,x\n\n2,\n")
    rows = table(spark, csv={"path": str(tmp_path / "a.csv"), "header": True}).collect()
    assert [row.asDict() for row in rows] == [{"id": "1", "the name": "x"}, {"id": "2", "the name": None}]
    (tmp_path / "b.json").write_text(
        json.dumps([{"id": 1, "in": {"a": [1], "b-c d": 2}}, {"id": 2, "in": None}], indent=1)
    )
    rows = table(spark, json={"path": str(tmp_path / "b.json"), "options": {"multiLine": "true"}}).collect()
    assert [row.id for row in rows] == [1, 2]
    assert rows[0]["in"].a == [1]
    (tmp_path / "c.json").write_text("")
    assert table(spark, json={"path": str(tmp_path / "c.json")}).collect() == []
