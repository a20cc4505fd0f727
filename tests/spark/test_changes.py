"""What a checkpoint survives between two runs, a row for each change: two documents, and what is seen of the second.

Each row also has the effect that the comparison of the two documents gives, so Spark proves the comparison. All first
runs go side by side, then all second ones: one by one they would take minutes.
"""

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow
import pytest
from deltalake import write_deltalake
from harness.supervisor_loop import Stage, Turning
from mainstem.changes import Effect, compare
from mainstem.errors import NotReady
from mainstem.language.document import read_object
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.status.states import QueryState
from pyspark.sql import SparkSession


pytestmark = [pytest.mark.S37, pytest.mark.timeout(900)]

COLUMNS = "k STRING, ts TIMESTAMP, v INT"
BEFORE = {"a": [("x", 1, 1), ("y", 2, 2)], "b": [("x", 3, 10)]}
AFTER = {"a": [("x", 4, 4)], "b": [("x", 5, 20)]}
"""Source -> rows `k`, minutes of `ts`, `v`; the second file comes between the runs."""


def files(name: str, **more: Any) -> dict[str, Any]:
    reads = {"path": f"FOLDER/{name}", "format": "json", "schema": COLUMNS} | more
    return {"name": name, "files": reads, "watermark": {"column": "ts", "delay": "1 day"}}


def delta() -> dict[str, Any]:
    """The source `a` as a table."""
    return {"name": "a", "delta": {"path": "FOLDER/t"}}


SEEN = {
    "name": "seen",
    "python": {"foreachBatch": "sinks:keep", "arguments": {"folder": "FOLDER/seen"}},
}
PARQUET = {"name": "files", "parquet": {"path": "FOLDER/out"}}


def document(view: str | dict[str, Any], *sources: dict[str, Any], **query: Any) -> dict[str, Any]:
    """A query over a view, by its SQL or wholly; of the source `a`, unless others are given."""
    return {
        "sources": list(sources) or [files("a")],
        "views": [{"name": "result"} | ({"sql": view} if isinstance(view, str) else view)],
        "queries": [
            {
                "name": "q",
                "from": "result",
                "to": [SEEN],
                "trigger": {"availableNow": True},
                "state": {"partitions": 1},
            }
            | query
        ],
    }


def split(below: str, result: str, **query: Any) -> dict[str, Any]:
    """A query over a view that reads another view, `below`."""
    whole = document(result, **query)
    return whole | {"views": [{"name": "below", "sql": below}, *whole["views"]]}


def unique(*columns: str) -> dict[str, Any]:
    source = {"name": "a", "files": files("a", schema="k STRING, v INT")["files"]}
    return document({"deduplicate": {"from": "a", "columns": list(columns)}}, source)


class Change(NamedTuple):
    """One change.

    Attributes:
        before: the document of the first run.
        after: that of the second.
        expected: rows of the second run, or its reason for not running.
        effect: what the comparison of the documents says.
        spoil: what else happens in between, to the folder of both.
    """

    before: dict[str, Any]
    after: dict[str, Any]
    expected: list[str] | str
    effect: Effect
    spoil: Callable[[Path], None] | None = None


UNCHANGED, CONTINUES, EMPTY, MISREADS, INCOMPATIBLE = (
    *(Effect.UNCHANGED, Effect.CONTINUES, Effect.EMPTY),
    *(Effect.MISREADS, Effect.INCOMPATIBLE),
)

ROWS = "SELECT k, v FROM a"
UNION = "SELECT k, v FROM a UNION ALL SELECT k, v FROM b"
COUNT = "SELECT k, count(*) AS n FROM a GROUP BY k"
WINDOW = """SELECT date_format(w.start, 'mm') AS f, date_format(w.end, 'mm') AS t, v
FROM (SELECT window(ts, '{}') AS w, sum(v) AS v FROM a GROUP BY 1)"""
JOIN = """SELECT a.k, a.v, b.v AS w FROM a {} JOIN b
ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL {} HOURS"""
BOTH = (files("a"), files("b"))
COMPLETE: dict[str, Any] = {"outputMode": "complete"}
NEW = ["x 4"]

CHANGES = {
    "nothing": Change(document(ROWS), document(ROWS), NEW, UNCHANGED),
    "a rate limit": Change(document(ROWS), document(ROWS, files("a", maxFilesPerTrigger=1)), NEW, CONTINUES),
    "the trigger": Change(document(ROWS), document(ROWS, trigger={"processingTime": "1 second"}), NEW, CONTINUES),
    "the name, checkpoint.id kept": Change(
        document(ROWS), document(ROWS, name="renamed", checkpoint={"id": "q"}), NEW, CONTINUES,
    ),
    "a generation": Change(
        document(ROWS), document(ROWS, checkpoint={"generation": 2}), ["x 1", "x 4", "y 2"], EMPTY,
    ),
    "a filter added": Change(document(ROWS), document(f"{ROWS} WHERE v > 9"), [], CONTINUES),
    "another projection": Change(document(ROWS), document("SELECT v * 2 AS w FROM a"), ["8"], CONTINUES),
    "a source added": Change(document(ROWS), document(UNION, files("b"), files("a")), ["x 10", "x 20", "x 4"], CONTINUES),
    "a source dropped": Change(document(UNION, files("a"), files("b")), document(ROWS), NEW, CONTINUES),
    "sources reordered": Change(
        document(UNION, *BOTH,
    ),
        document("SELECT k, v FROM b UNION ALL SELECT k, v FROM a", files("b"), files("a")),
        ["x 20", "x 4"], UNCHANGED,
    ),
    "a nullable column added": Change(
        document(ROWS,
    ),
        document("SELECT k, v, more FROM a", files("a", schema=f"{COLUMNS}, more INT")),
        ["x 4 None"], CONTINUES,
    ),
    "a sink added": Change(document(ROWS), document(ROWS, to=[SEEN, PARQUET]), NEW, CONTINUES),
    "an output renamed": Change(
        document(COUNT, **COMPLETE,
    ),
        document("SELECT k, count(*) AS m FROM a GROUP BY k", **COMPLETE),
        ["x 2", "y 1"], CONTINUES,
    ),
    "the delay of a watermark": Change(
        document(COUNT, **COMPLETE,
    ),
        document(COUNT, files("a") | {"watermark": {"column": "ts", "delay": "2 days"}}, **COMPLETE),
        ["x 2", "y 1"], CONTINUES,
    ),
    "complete to update": Change(document(COUNT, **COMPLETE), document(COUNT, outputMode="update"), ["x 2"], CONTINUES),
    "the length of a window": Change(
        document(WINDOW.format("5 minutes"), **COMPLETE,
    ),
        document(WINDOW.format("10 minutes"), **COMPLETE),
        ["00 05 3", "00 10 4"], MISREADS,
    ),
    "another key of the same name": Change(
        document(COUNT, **COMPLETE,
    ),
        document("SELECT k, count(*) AS n FROM (SELECT upper(k) AS k FROM a) GROUP BY k", **COMPLETE),
        ["X 1", "x 1", "y 1"], MISREADS,
    ),
    "the range of a join": Change(
        document(JOIN.format("", 1), *BOTH,
    ),
        document(JOIN.format("", 2), *BOTH),
        ["x 1 20", "x 4 20"], MISREADS,
    ),
    "an outer join": Change(
        document(JOIN.format("", 1), *BOTH,
    ),
        document(JOIN.format("LEFT", 1), *BOTH),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "nulls equal in a join": Change(
        document(JOIN.format("", 1), *BOTH,
    ),
        document(JOIN.format("", 1).replace("a.k = b.k", "a.k <=> b.k"), *BOTH),
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "the letter case of a name in JSON": Change(
        document("SELECT to_json(struct(k)) AS k, count(*) AS n FROM a GROUP BY 1", **COMPLETE),
        document("SELECT to_json(struct(K)) AS k, count(*) AS n FROM a GROUP BY 1", **COMPLETE),
        ['{"K":"x"} 1', '{"k":"x"} 1', '{"k":"y"} 1'], MISREADS,
    ),
    "no watermark": Change(
        document(COUNT, outputMode="update"),
        document(COUNT, {"name": "a", "files": files("a")["files"]}, outputMode="update"),
        ["x 2"], MISREADS,
    ),
    "a group key added": Change(
        document(COUNT, **COMPLETE,
    ),
        document("SELECT k, v, count(*) AS n FROM a GROUP BY k, v", **COMPLETE),
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "another aggregate": Change(
        document(COUNT, **COMPLETE,
    ),
        document("SELECT k, sum(v) AS n FROM a GROUP BY k", **COMPLETE),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "an aggregate added": Change(
        document(COUNT, **COMPLETE,
    ),
        document("SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY k", **COMPLETE),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "state where there was none": Change(
        document(ROWS), document(COUNT, **COMPLETE), "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY", INCOMPATIBLE,
    ),
    "no state where there was some": Change(
        document(COUNT, **COMPLETE,
    ),
        document(ROWS),
        "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA", INCOMPATIBLE,
    ),
    "the partitions of the state": Change(
        document(COUNT, **COMPLETE), document(COUNT, state={"partitions": 2}, **COMPLETE), "StateLayoutChanged", INCOMPATIBLE,
    ),
    "the store of the state": Change(
        document(COUNT, **COMPLETE,
    ),
        document(COUNT, state={"partitions": 1, "provider": "hdfs"}, **COMPLETE),
        "StateLayoutChanged", INCOMPATIBLE,
    ),
    "the path of a source": Change(
        document(ROWS), document(ROWS, files("a", path="FOLDER/b")), "SourcePathChanged", INCOMPATIBLE,
    ),
    "rates for files": Change(
        document(ROWS,
    ),
        document("SELECT 'r' AS k, value AS v FROM a", {"name": "a", "rateMicroBatch": {"rowsPerBatch": 1}}),
        "SourceKindChanged", INCOMPATIBLE,
    ),
    "a table for files": Change(document(ROWS), document(ROWS, delta()), "SourceKindChanged", INCOMPATIBLE),
    "files for a table": Change(document(ROWS, delta()), document(ROWS), "SourceKindChanged", INCOMPATIBLE),
    "another table in a table's place": Change(
        document(ROWS, delta()), document(ROWS, delta()), "SourceReplaced", UNCHANGED, lambda folder: shutil.rmtree(folder / "t"),
    ),
    "the columns of a deduplication": Change(unique("k"), unique("k", "v"), "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE),
    "the state is gone": Change(
        document(COUNT, **COMPLETE,
    ),
        document(COUNT, **COMPLETE),
        "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY", UNCHANGED, lambda folder: shutil.rmtree(folder / "checkpoints" / "q" / "1" / "state"),
    ),
    "the metadata are gone": Change(
        document(ROWS,
    ),
        document(ROWS),
        "CheckpointDamaged", UNCHANGED, lambda folder: (folder / "checkpoints" / "q" / "1" / "metadata").unlink(),
    ),
    "a view split in two": Change(
        document(COUNT, **COMPLETE,
    ),
        split("SELECT k AS x, v FROM a", "SELECT x AS k, count(*) AS n FROM below GROUP BY x", **COMPLETE),
        ["x 2", "y 1"], UNCHANGED,
    ),
    "an unused aggregate": Change(
        split(COUNT, "SELECT k, n FROM below", **COMPLETE,
    ),
        split("SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY k", "SELECT k, n FROM below", **COMPLETE),
        ["x 2", "y 1"], UNCHANGED,
    ),
    "an unused aggregate used": Change(
        split("SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY k", "SELECT k, n FROM below", **COMPLETE,
    ),
        split("SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY k", "SELECT k, n, m FROM below", **COMPLETE),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "a filter below an aggregation": Change(
        document(COUNT, **COMPLETE,
    ),
        document("SELECT k, count(*) AS n FROM a WHERE v > 9 GROUP BY k", **COMPLETE),
        ["x 1", "y 1"], CONTINUES,
    ),
    "a filter on the result of an aggregation": Change(
        document(COUNT, **COMPLETE), document(f"{COUNT} HAVING count(*) > 1", **COMPLETE), ["x 2"], CONTINUES
    ),
    "a projection that an aggregate reads": Change(
        split("SELECT k, v FROM a", "SELECT k, sum(v) AS n FROM below GROUP BY k", **COMPLETE,
    ),
        split("SELECT k, v * 2 AS v FROM a", "SELECT k, sum(v) AS n FROM below GROUP BY k", **COMPLETE),
        ["x 9", "y 2"], CONTINUES,
    ),
    "an aggregate of another column": Change(
        document("SELECT k, sum(v) AS n FROM a GROUP BY k", **COMPLETE,
    ),
        document("SELECT k, sum(v * 10) AS n FROM a GROUP BY k", **COMPLETE),
        ["x 41", "y 2"], MISREADS,
    ),
    "a sum becomes a count": Change(
        document("SELECT k, sum(v) AS n FROM a GROUP BY k", **COMPLETE), document(COUNT, **COMPLETE,
    ),
        ["x 2", "y 2"], MISREADS,
    ),
    "keys in another order": Change(
        document("SELECT v, u, count(*) AS n FROM (SELECT v, v + 1 AS u FROM a) GROUP BY v, u", **COMPLETE,
    ),
        document("SELECT v, u, count(*) AS n FROM (SELECT v, v + 1 AS u FROM a) GROUP BY u, v", **COMPLETE),
        ["2 1 1", "3 2 1", "4 5 1"], MISREADS,  # the old keys are turned round
    ),
    "the type of a key": Change(
        document("SELECT v, count(*) AS n FROM a GROUP BY v", **COMPLETE,
    ),
        document("SELECT v, count(*) AS n FROM a GROUP BY v",
                 files("a", schema="k STRING, ts TIMESTAMP, v BIGINT"), **COMPLETE,
    ),
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "a column more of a join": Change(
        document(JOIN.format("", 1), *BOTH), document(JOIN.format("", 1).replace("b.v AS w", "b.v AS w, b.k AS t"), *BOTH,
    ),
        ["x 1 20 x", "x 4 20 x"], CONTINUES,
    ),
    "a column more that a join keeps": Change(
        document(JOIN.format("", 1).replace("b.v AS w", "b.k AS w"), *BOTH), document(JOIN.format("", 1), *BOTH,
    ),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "a filter above a join": Change(
        document(JOIN.format("", 1), *BOTH), document(f"{JOIN.format('', 1)} WHERE a.v > 0", *BOTH,
    ),
        ["x 1 20", "x 4 20"], CONTINUES,
    ),
    "a watermark added": Change(
        document(COUNT, {"name": "a", "files": files("a")["files"]}, outputMode="update"),
        document(COUNT, outputMode="update"),
        ["x 2"], CONTINUES,
    ),
    "a key through a view": Change(
        split("SELECT k, v FROM a", "SELECT k, count(*) AS n FROM below GROUP BY k", **COMPLETE),
        split("SELECT upper(k) AS k, v FROM a", "SELECT k, count(*) AS n FROM below GROUP BY k", **COMPLETE),
        ["X 1", "x 1", "y 1"], MISREADS,
    ),
    "a maximum becomes a minimum": Change(
        document("SELECT max(v) AS m FROM a", **COMPLETE), document("SELECT min(v) AS m FROM a", **COMPLETE),
        ["2"], MISREADS,  # the smallest value is 1
    ),
    "the type of what an aggregate reads": Change(
        document("SELECT k, sum(v) AS n FROM a GROUP BY k", **COMPLETE),
        document("SELECT k, sum(v) AS n FROM a GROUP BY k",
                 files("a", schema="k STRING, ts TIMESTAMP, v DOUBLE"), **COMPLETE),
        "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE", INCOMPATIBLE,
    ),
    "a source renamed": Change(
        document(ROWS), document("SELECT k, v FROM c", files("c", path="FOLDER/a")), ["x 1", "x 4", "y 2"], MISREADS
    ),
}  # fmt: skip


class Outcome(NamedTuple):
    """What a run came to: rows of its last batches, or a reason with its message."""

    rows: list[str]
    reason: str | None = None
    message: str | None = None


class Case:
    """One change in a folder of its own."""

    def __init__(self, stage: Stage, change: Change) -> None:
        self.stage, self.change = stage, change
        (stage.folder / "seen").mkdir(parents=True)

    def put(self, rows: dict[str, list[tuple[str, int, int]]]) -> None:
        if "FOLDER/t" in json.dumps(self.change[:2]):
            table = pyarrow.table({"k": [k for k, _, _ in rows["a"]], "v": [v for _, _, v in rows["a"]]})
            write_deltalake(str(self.stage.folder / "t"), table, mode="append")
        for source, lines in rows.items():
            self.stage.put(
                source,
                *(json.dumps({"k": k, "ts": f"2026-01-01T00:{ts:02}:00Z", "v": v}) for k, ts, v in lines),
            )

    def spec(self, document: dict[str, Any]) -> dict[str, Any]:
        document_here: dict[str, Any] = json.loads(
            json.dumps(document).replace("FOLDER", str(self.stage.folder))
        )
        return document_here

    def take(self) -> list[str]:
        """The rows that were seen since the last call: in complete mode those of the last batch."""
        batches = sorted((self.stage.folder / "seen").iterdir(), key=lambda path: int(path.stem[6:]))
        document_here = [row for path in batches for row in json.loads(path.read_text())]
        for path in batches:
            path.unlink()
        return sorted(" ".join(map(str, row.values())) for row in document_here)


def run(cases: dict[str, Case], which: str) -> dict[str, Outcome]:
    """Run one document of each case, all at once, to the end of what is there."""
    outcomes: dict[str, Outcome] = {}
    with ExitStack() as stack:
        running: dict[str, Turning] = {}
        for name, case in cases.items():
            spec = case.spec(getattr(case.change, which))
            try:
                running[name] = stack.enter_context(case.stage.running(**spec))
            except NotReady as refused:
                outcomes[name] = Outcome([], refused.reason, refused.message)
        for name, turning in running.items():
            [query] = turning.supervisor.statuses
            turning.until(lambda turning=turning, query=query: idle(turning, query.name))
            [status] = turning.supervisor.statuses
            outcomes[name] = Outcome(cases[name].take(), status.reason, status.message)
    return outcomes


def idle(turning: Turning, query: str) -> bool:
    return turning[query].state in (QueryState.COMPLETED, QueryState.FAILED) or (
        turning[query].idle and turning[query].batches > 0
    )


@pytest.fixture(scope="module")
def outcomes(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Outcome]:
    """What the second run of each selected change came to."""
    folder = tmp_path_factory.mktemp("changes")
    selected = [item for item in request.session.items if "outcomes" in getattr(item, "fixturenames", ())]
    names = sorted(item.callspec.params["name"] for item in selected if isinstance(item, pytest.Function))
    cases = {
        name: Case(Stage(spark, folder / str(number)), CHANGES[name]) for number, name in enumerate(names)
    }
    for case in cases.values():
        case.put(BEFORE)
    for name, first in run(cases, "before").items():
        assert first.rows, (name, first)
    for case in cases.values():
        if case.change.spoil:
            case.change.spoil(case.stage.folder)
        case.put(AFTER)
    return run(cases, "after")


@pytest.mark.full(
    gate="spark/test_changed_documents.py::test_a_query_with_another_window_is_refused_and_writes_nothing_while_the_others_run"
)
@pytest.mark.parametrize("name", CHANGES)
def test_the_second_run_has_the_expected_rows_or_reason(outcomes: dict[str, Outcome], name: str) -> None:
    expected, outcome = CHANGES[name].expected, outcomes[name]
    if isinstance(expected, str):
        assert outcome.reason == expected, outcome
        assert outcome.rows == []
    else:
        assert outcome == Outcome(expected)


@pytest.mark.parametrize("name", CHANGES)
def test_the_comparison_of_the_documents_has_the_effect(name: str) -> None:
    change = CHANGES[name]
    before, after = (pipeline(body) for body in change[:2])
    verdict = compare(before, after)
    assert verdict.queries[0].effect == change.effect, verdict
    refused = change.effect is Effect.INCOMPATIBLE or change.spoil is not None
    assert isinstance(change.expected, str) == refused


def pipeline(body: dict[str, Any]) -> StreamingPipeline:
    spec = json.loads(json.dumps(body).replace("FOLDER", "/data")) | {"checkpoints": {"location": "/c"}}
    whole = {"apiVersion": "mainstem.dev/v1alpha1", "kind": "StreamingPipeline", "metadata": {"name": "p"}}
    return read_object(whole | {"spec": spec}).pipeline
