"""Files, generated rows and sockets as streams, as documents say them."""

import contextlib
import json
import os
import re
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from harness.documents import pipeline_head
from harness.sampling import only
from harness.waiting import within
from mainstem.dataframes.query import build, start
from mainstem.dataframes.views.builder import Builder
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType


HEAD = pipeline_head("streams")


def graph(folder: Path, source: dict[str, Any], *sql: str, **query: Any) -> Graph:
    """The source `src`, views `v0`, `v1`, ..., and the query `q` over the last of them."""
    views = [{"name": f"v{index}", "sql": text} for index, text in enumerate(sql)]
    asked = {"name": "q", "from": views[-1]["name"] if views else "src", "to": [{"name": "out", "console": {}}], "state": {"partitions": 1}}  # fmt: skip
    spec = {
        "sources": [{"name": "src", **source}],
        "views": views,
        "queries": [asked | query],
        "checkpoints": {"location": str(folder / "checkpoints")},
    }
    [document] = read_text(json.dumps(HEAD | {"spec": spec}))
    return document.graph


def batches(spark: SparkSession, folder: Path, source: dict[str, Any]) -> list[list[tuple[Any, ...]]]:
    """The rows of each batch of all that is there."""
    read_batches: list[list[tuple[Any, ...]]] = []
    frame = Builder(spark.newSession(), graph(folder, source)).relation("src")
    query = (
        frame.writeStream.foreachBatch(
            lambda batch, _: read_batches.append(sorted(map(tuple, batch.collect())))
        )
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    return read_batches


def put(folder: Path, name: str, text: str, age: int = 0) -> None:
    """A file, so many seconds older than the test."""
    (folder / "in").mkdir(exist_ok=True)
    path = folder / "in" / name
    path.write_text(text)
    then = 1_700_000_000 - age
    os.utime(path, (then, then))


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "in").iterdir()}


@pytest.mark.S06
def test_new_files_are_read_once_within_the_limit_of_bytes_a_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "schema.json").write_text(StructType.fromDDL("n INT, s STRING").json())
    source = {
        "files": {
            "path": str(tmp_path / "in"),
            "format": "csv",
            "schemaFile": str(tmp_path / "schema.json"),
            "maxBytesPerTrigger": 8,
            "latestFirst": True,
            "pathGlobFilter": "*.csv",
            "options": {"sep": ";"},
        }
    }
    for age in range(3):
        put(tmp_path, f"{age}.csv", f"{age};x\n", age)
    put(tmp_path, "other.txt", "9;x\n")
    assert batches(spark, tmp_path, source) == [[(0, "x"), (1, "x")], [(2, "x")]]
    put(tmp_path, "3.csv", "3;x\n", 3)
    assert batches(spark, tmp_path, source) == [[(3, "x")]]


@pytest.mark.S06
def test_a_missing_schema_file_is_reported_when_the_query_is_built(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = {"files": {"path": str(tmp_path), "format": "json", "schemaFile": str(tmp_path / "none.json")}}
    with pytest.raises(NotReady, match=r"none\.json") as raised:
        Builder(spark.newSession(), graph(tmp_path, source)).relation("src")
    assert raised.value.reason == "SchemaFileNotReadable"


@pytest.mark.S06
@pytest.mark.parametrize("kind", only(["delete", "archive"], {"archive"}))
def test_files_are_cleaned_up_after_reading(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    clean = {"delete": True} if kind == "delete" else {"archive": str(tmp_path / "old")}
    source = {"files": {"path": str(tmp_path / "in"), "maxFilesPerTrigger": 1, "cleanSource": clean}}
    for name in "ab":
        put(tmp_path, name, name)
    assert sorted(row for batch in batches(spark, tmp_path, source) for row in batch) == [("a",), ("b",)]
    # Spark cleans a batch's files while it goes on to the next: the last ones' turn comes with the next batch.
    put(tmp_path, "c", "c")
    assert batches(spark, tmp_path, source) == [[("c",)]]
    within(20, "a and b are gone", lambda: not {"a", "b"} & names(tmp_path))
    moved = {path.name for path in (tmp_path / "old").rglob("*") if path.is_file() and path.suffix != ".crc"}
    assert moved >= {"a", "b"} if kind == "archive" else not moved


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
@pytest.mark.S06
def test_files_that_one_query_cleans_up_are_missing_for_another(spark: SparkSession, tmp_path: Path) -> None:
    """Why the document is refused."""
    source = {
        "files": {"path": str(tmp_path / "in"), "maxFilesPerTrigger": 1, "cleanSource": {"delete": True}}
    }
    for name in "ab":
        put(tmp_path, name, name)
    assert len(batches(spark, tmp_path, source)) == 2
    put(tmp_path, "c", "c")
    batches(spark, tmp_path, source)
    within(20, "a is gone", lambda: "a" not in names(tmp_path))
    shutil.rmtree(tmp_path / "checkpoint")  # another query is one with another checkpoint
    assert ("a",) not in [row for batch in batches(spark, tmp_path, source) for row in batch]


@pytest.mark.full(gate="unit/test_bad_documents.py::test_a_bad_document_is_rejected_with_exactly_these_words")
@pytest.mark.S06
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1"}, "can't be both set"),
        ({"cleanSource": "archive", "sourceArchiveDir": "{folder}/in/old"}, "archive"),
        ({"cleanSource": "archive", "sourceArchiveDir": "{folder}"}, "archive"),
    ],
)
def test_spark_would_reject_what_the_rules_reject(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], words: str
) -> None:
    put(tmp_path, "a", "a")
    given = {key: value.format(folder=tmp_path) for key, value in options.items()}
    with pytest.raises(PySparkException, match=words):  # noqa: PT012 - Spark opens its sources only once a query runs
        frame = (
            spark.newSession()
            .readStream.format("text")
            .options(**given)
            .name("src")
            .load(str(tmp_path / "in"))
        )
        query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c")).start()
        query.processAllAvailable()


@pytest.mark.S08
def test_generated_rows_by_batch_repeat_exactly(spark: SparkSession, tmp_path: Path) -> None:
    made = {"rowsPerBatch": 2, "numPartitions": 1, "startTimestamp": 1000, "advancePerBatch": "1 minute"}
    frame = Builder(spark.newSession(), graph(tmp_path, {"rateMicroBatch": made})).relation("src")
    assert frame.columns == ["timestamp", "value"]
    by_batch: dict[int, list[tuple[float, int]]] = {}

    def keep(batch: Any, number: int) -> None:
        by_batch[number] = sorted((row.timestamp.timestamp(), row.value) for row in batch.collect())

    query = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path / "c")).start()
    within(60, "two batches", lambda: len(by_batch) >= 2)
    query.stop()
    assert by_batch[0] == [(1.0, 0), (1.0, 1)]
    assert by_batch[1] == [(61.0, 2), (61.0, 3)]


@pytest.mark.S08
def test_a_rate_ramps_up(spark: SparkSession, tmp_path: Path) -> None:
    source = {"rate": {"rowsPerSecond": 1000, "rampUpTime": "1 hour", "numPartitions": 1}}
    session = spark.newSession()
    frame = Builder(session, graph(tmp_path, source)).relation("src")
    values: list[int] = []
    query = (
        frame.writeStream.foreachBatch(lambda batch, _: values.extend(row.value for row in batch.collect()))
        .option("checkpointLocation", str(tmp_path / "c"))
        .start()
    )
    within(60, "a few rows", lambda: values or (query.lastProgress and query.lastProgress["batchId"] > 0))
    query.stop()
    assert len(values) < 100


class Lines:
    """A server whose one client reads the lines that a test sends."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._clients: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._clients.append(self._server.accept()[0])

    def send(self, line: str) -> None:
        within(30, "a client", lambda: self._clients)
        self._clients[-1].sendall(f"{line}\n".encode())

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        for open_socket in (self._server, *self._clients):
            open_socket.close()
        self._thread.join()


@pytest.fixture
def lines() -> Iterator[Lines]:
    server = Lines()
    yield server
    server.close()


SENT_LINES = ["blue blue blue blue blue green green green", "gohawks", "green green"]
WORDS = "SELECT explode(split(value, ' ')) AS word FROM src"
COUNTS = "SELECT word, count(*) AS n FROM v0 GROUP BY word"
RUNNING = [
    {"blue": 5, "green": 3},
    {"blue": 5, "green": 3, "gohawks": 1},
    {"blue": 5, "green": 5, "gohawks": 1},
]


@pytest.mark.full(gate="spark/test_streams.py::test_words_of_a_socket_are_counted_over_all_batches")
@pytest.mark.S16
def test_words_of_a_socket_are_counted_per_batch(spark: SparkSession, tmp_path: Path, lines: Lines) -> None:
    session = spark.newSession()
    document = graph(tmp_path, {"socket": {"host": "127.0.0.1", "port": lines.port}}, WORDS)
    frame = Builder(session, document).relation("v0")
    counts: list[dict[str, int]] = []

    def count(batch: Any, _number: int) -> None:
        rows = batch.groupBy("word").count().collect()
        if rows:
            counts.append({row["word"]: row["count"] for row in rows})

    query = frame.writeStream.foreachBatch(count).option("checkpointLocation", str(tmp_path / "c")).start()
    send_lines(lines, lambda: len(counts))
    query.stop()
    assert counts == [{"blue": 5, "green": 3}, {"gohawks": 1}, {"green": 2}]


@pytest.mark.S16
@pytest.mark.parametrize("mode", only(["update", "complete"], {"complete"}))
def test_words_of_a_socket_are_counted_over_all_batches(
    spark: SparkSession, tmp_path: Path, lines: Lines, mode: str
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    document = graph(
        tmp_path, {"socket": {"host": "127.0.0.1", "port": lines.port}}, WORDS, COUNTS, outputMode=mode
    )
    frame = Builder(session, document).relation("v1")
    counts: list[dict[str, int]] = []

    def keep(batch: Any, _number: int) -> None:
        rows = {row.word: row.n for row in batch.collect()}
        if rows and (mode == "update" or not counts or rows != counts[-1]):
            counts.append(rows)

    query = (
        frame.writeStream.outputMode(mode)
        .foreachBatch(keep)
        .option("checkpointLocation", str(tmp_path / "c"))
        .start()
    )
    send_lines(lines, lambda: len(counts))
    query.stop()
    changed = [RUNNING[0], {"gohawks": 1}, {"green": 5}]
    assert counts == (RUNNING if mode == "complete" else changed)


@pytest.mark.full(gate="spark/test_streams.py::test_words_of_a_socket_are_counted_over_all_batches")
@pytest.mark.S16
def test_words_of_a_socket_are_shown_on_the_console(
    spark: SparkSession, tmp_path: Path, lines: Lines, capsys: pytest.CaptureFixture[str]
) -> None:
    session = spark.newSession()
    document = graph(
        tmp_path, {"socket": {"host": "127.0.0.1", "port": lines.port}}, WORDS, COUNTS, outputMode="complete"
    )
    [query] = document.spec.queries
    handle = start(session, build(session, document, query), query)

    def done() -> int:
        return sum(1 for progress in handle.recentProgress if progress["numInputRows"])

    send_lines(lines, done)
    handle.stop()
    shown = capsys.readouterr().out
    tables = [dict(re.findall(r"\|\s*(\w+)\|\s*(\d+)\|", table)) for table in shown.split("Batch: ")[1:]]
    counts = [{word: int(count) for word, count in table.items()} for table in tables if table]
    assert [table for place, table in enumerate(counts) if table not in counts[:place]] == RUNNING


def send_lines(lines: Lines, batches: Callable[[], int]) -> None:
    """The three lines, each in a batch of its own."""
    for number, line in enumerate(SENT_LINES):
        lines.send(line)
        within(60, f"batch {number}", lambda number=number: batches() > number)
