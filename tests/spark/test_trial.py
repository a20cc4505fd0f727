"""`mainstem trial` on real Spark: both documents on the last batches of a checkpoint, beside the pipeline that owns it."""

import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from harness import sparks
from harness.checkpoints import newest
from harness.waiting import eventually
from mainstem.language.document import Document, read
from mainstem.trial import command
from mainstem.trial.outcome import Outcome, QueryTrial, exit_code
from mainstem.trial.text import report
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S37, pytest.mark.timeout(600)]
ROWS = 3
FILES = 4
VIEWS = {
    "kept": {"sql": "SELECT k, v, ts, current_timestamp() AS seen FROM a WHERE v >= 0"},
    "counts": {"sql": "SELECT k, count(*) AS n, sum(v) AS v FROM a GROUP BY k"},
    "windows": {
        "sql": "SELECT w.start AS hour, n FROM (SELECT window(ts, '1 hour') AS w, count(*) AS n FROM a GROUP BY 1)"
    },
    "users": {
        "state": {
            "from": "a",
            "keys": ["k"],
            "schema": "user STRING, n BIGINT",
            "processor": "visits:Counter",
        }
    },
}


class Pipeline:
    """A pipeline over files, one file for each batch, whose queries run until all is read, each when a test needs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: set[str] = set()
        (folder / "a").mkdir(parents=True)
        source = {"path": f"{folder}/a", "format": "json", "schema": "k STRING, ts TIMESTAMP, v INT"}
        self.spec: dict[str, Any] = {
            "sources": [
                {
                    "name": "a",
                    "files": source | {"maxFilesPerTrigger": 1, "onMalformedRecord": "drop"},
                    "watermark": {"column": "ts", "delay": "1 minute"},
                }
            ],
            "views": [{"name": name} | view for name, view in VIEWS.items()],
            "queries": [
                self._query("kept", {"parquet": {"path": f"{folder}/kept"}}),
                self._query(
                    "counts",
                    {"delta": {"path": f"{folder}/counts", "merge": {"keys": ["k"]}}},
                    outputMode="update",
                ),
                self._query("windows", {"delta": {"path": f"{folder}/windows"}}),
                self._query("users", {"delta": {"path": f"{folder}/users"}}),
            ],
            "checkpoints": {"location": f"{folder}/checkpoints"},
        }

    def _query(self, name: str, sink: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {
            "name": name,
            "from": name,
            "to": [{"name": "table"} | sink],
            "state": {"partitions": 1},
        } | fields

    def put(self, number: int) -> None:
        rows = [
            {"k": "xy"[number % 2], "v": number * 10 + each, "ts": f"2026-01-01T{number:02}:00:00Z"}
            for each in range(ROWS)
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows) + '{"k": \n'
        part = self.folder / f"{number:03}.part"
        part.write_text(text, encoding="utf-8")
        os.utime(part, (1_700_000_000 + number,) * 2)
        part.rename(self.folder / "a" / f"{number:03}.json")

    def run(self, spark: SparkSession, names: Collection[str]) -> None:
        """Run these queries until all is read, each once; the checkpoint does not depend on the sink."""
        nowhere = {"to": [{"name": "table", "noop": {}}]}
        for query in self.spec["queries"]:
            if query["name"] in names and query["name"] not in self._read:
                sparks.run(spark, self.spec | {"queries": [query | nowhere]})
                self._read.add(query["name"])

    def document(self, spec: dict[str, Any], name: str) -> Document:
        file = self.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(sparks.HEAD | {"spec": spec}), encoding="utf-8")
        return read(file)

    def contents(self) -> dict[str, bytes]:
        """All files of the pipeline: its input, its checkpoints and its sinks."""
        return {
            str(file): file.read_bytes()
            for file in self.folder.rglob("*")
            if file.is_file() and file.suffix != ".yaml"
        }


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    made = Pipeline(tmp_path_factory.mktemp("trial") / "pipeline")
    for number in range(FILES):
        made.put(number)
    return made


@pytest.fixture
def tried(spark: SparkSession, pipeline: Pipeline) -> Iterator[Any]:
    """Tries a change of the views; no trial changes a file of the pipeline."""
    before: dict[str, bytes] = {}

    def trial(
        views: dict[str, str],
        *names: str,
        batches: int = 2,
        sources: Sequence[dict[str, Any]] = (),
        keep: Path | None = None,
    ) -> list[QueryTrial]:
        pipeline.run(spark, names or VIEWS)
        before.update(before or pipeline.contents())
        changed = deepcopy(pipeline.spec)
        changed["sources"] += sources
        for view in changed["views"]:
            if view["name"] in views:
                view["sql"] = views[view["name"]]
        old, new = (
            pipeline.document(spec, name) for spec, name in ((pipeline.spec, "old"), (changed, "new"))
        )
        return command.run(old, new, lambda *_: nullcontext(spark), batches=batches, names=names, keep=keep)

    yield trial
    after = pipeline.contents()
    assert {file: after.get(file) for file in before} == before
    # The session that ran the pipeline still copies its state from time to time.
    assert [file for file in after if file not in before and "/state/" not in file] == []


@pytest.mark.full(gate="spark/test_trial.py::test_another_filter_shows_exactly_the_rows_that_differ")
def test_the_same_document_writes_the_same_rows_and_continues_from_the_state(
    tried: Any, tmp_path: Path, spark: SparkSession
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    trials = tried({}, keep=kept, batches=3)
    assert [(each.query, each.outcome) for each in trials] == [(name, Outcome.EQUAL) for name in VIEWS], (
        report(trials, 200)
    )
    assert exit_code(trials) == 0
    archive, counts, _, users = trials
    assert archive.batches == (1, 2, 3)
    assert archive.old.rows == archive.new.rows == archive.difference.same == 3 * ROWS
    assert archive.new.malformed == archive.old.malformed == {"a": 3}
    assert (counts.new.state_rows, counts.difference.same, counts.difference.keys) == (2, 2, ("k",))
    # A count that began in the trial would be 3: the state is that of all earlier batches.
    rows = spark.read.parquet(str(kept / "new" / "rows" / "counts")).collect()
    assert max(json.loads(row["cells"][1])["v"] for row in rows) == 2 * ROWS
    users_rows = spark.read.parquet(str(kept / "new" / "rows" / "users")).collect()
    assert max(json.loads(row["cells"][1])["v"] for row in users_rows) == 2 * ROWS
    assert any("your code of the views users" in note for note in users.notes)


def test_another_filter_shows_exactly_the_rows_that_differ(tried: Any) -> None:
    [trial] = tried(
        {"kept": "SELECT k, v, ts, current_timestamp() AS seen, k = 'x' AS is_x FROM a WHERE v <> 21"}, "kept"
    )
    assert trial.outcome is Outcome.DIFFERS
    rows = trial.difference
    assert (rows.same, rows.only_old, rows.only_new, rows.changed) == (2 * ROWS - 1, 1, 0, 0)
    assert rows.columns == ("only the new document has is_x boolean",)
    [row] = rows.examples["onlyOld"]
    assert (row["k"], row["v"]) == ("x", 21)
    assert exit_code([trial]) == 9


@pytest.mark.full(gate="unit/test_trial.py::test_a_query_that_does_not_continue_is_not_compared")
def test_another_window_is_refused_and_the_other_queries_are_compared(tried: Any) -> None:
    changed = VIEWS["windows"]["sql"].replace("1 hour", "2 hours")
    trials = tried({"windows": changed}, "kept", "windows", batches=1)
    assert [each.outcome for each in trials] == [Outcome.EQUAL, Outcome.REFUSED]
    assert "windows" in trials[1].message
    assert trials[1].reason == "CheckpointIncompatible"
    assert exit_code(trials) == 5


@pytest.mark.full(gate="spark/test_trial.py::test_another_filter_shows_exactly_the_rows_that_differ")
def test_a_projection_above_an_aggregation_changes_the_rows_of_keys(tried: Any) -> None:
    changed = "SELECT k, n, v + 1 AS v FROM (SELECT k, count(*) AS n, sum(v) AS v FROM a GROUP BY k)"
    [trial] = tried({"counts": changed}, "counts", batches=3)
    assert trial.outcome is Outcome.DIFFERS
    rows = trial.difference
    assert (rows.same, rows.changed, rows.only_old, rows.only_new) == (0, 2, 0, 0)
    assert rows.examples["changed"][0] == {
        "old": {"k": "x", "n": 6, "v": 66},
        "new": {"k": "x", "n": 6, "v": 67},
    }
    assert trial.new.state_rows == trial.old.state_rows == 2


@pytest.mark.full(gate="unit/test_trial.py::test_a_query_that_continues_is_compared")
def test_a_query_that_fails_only_with_the_new_document_has_its_error(tried: Any) -> None:
    [trial] = tried({"kept": "SELECT k, 1 DIV (v - 31) AS v, ts FROM a"}, "kept")
    assert (trial.outcome, trial.reason) == (Outcome.FAILED, "DIVIDE_BY_ZERO")
    assert trial.old.rows == 2 * ROWS
    assert exit_code([trial]) == 9


@pytest.mark.full(gate="unit/test_trial.py::test_a_query_that_continues_is_compared")
def test_a_query_that_spark_rejects_only_with_the_new_document_has_its_position(tried: Any) -> None:
    [trial] = tried({"kept": "SELECT k, v + array(1) AS v, ts FROM a"}, "kept", batches=1)
    assert trial.outcome is Outcome.FAILED
    assert "new.yaml:" in trial.message
    assert trial.reason.startswith("DATATYPE_MISMATCH")


@pytest.mark.full(gate="unit/test_trial.py::test_a_query_that_does_not_continue_is_not_compared")
def test_a_source_that_is_new_has_no_rows_and_a_note(
    spark: SparkSession, pipeline: Pipeline, tried: Any
) -> None:
    more = {"name": "b", "files": pipeline.spec["sources"][0]["files"]}
    [trial] = tried(
        {
            "kept": "SELECT k, v, ts, current_timestamp() AS seen FROM a UNION ALL SELECT k, v, ts, current_timestamp() FROM b"
        },
        "kept",
        batches=1,
        sources=[more],
    )
    assert trial.outcome is Outcome.EQUAL
    assert trial.notes == ("the source 'b' is new: the batches of the old document have no rows of it",)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["delta", "rate"])
def test_other_sources_give_both_documents_the_same_rows(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    table = f"{tmp_path}/table"
    source = {"delta": {"delta": {"path": table}}, "rate": {"rate": {"rowsPerSecond": 10}}}[kind]
    spec = {
        "sources": [{"name": "a"} | source],
        "queries": [
            {
                "name": "q",
                "from": "a",
                "to": [{"name": "nowhere", "noop": {}}],
                "trigger": {"availableNow": True},
            }
        ],
        "checkpoints": {"location": f"{tmp_path}/checkpoints"},
    }
    commits = tmp_path / "checkpoints" / "q" / "1" / "commits"
    for number in range(3):
        if kind == "delta":
            spark.range(5 * number, 5 * number + 5).write.format("delta").mode("append").save(table)
        # The rate has new rows only once another second of its own has passed.
        eventually(f"batch {number}", lambda: sparks.run(spark, spec) and newest(commits) >= number)  # noqa: B023
    file = tmp_path / "pipeline.yaml"
    file.write_text(yaml.safe_dump(sparks.HEAD | {"spec": spec}), encoding="utf-8")
    document = read(file)
    [trial] = command.run(document, document, lambda *_: nullcontext(spark), batches=2)
    assert trial.outcome is Outcome.EQUAL, trial
    assert trial.batches == (1, 2)
    assert trial.difference.same == trial.new.rows > (9 if kind == "delta" else 0)
