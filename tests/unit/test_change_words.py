"""What `mainstem diff` and the webhook show for a change is what the driver does: words, last line and exit code."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from harness.documents import pipeline_head
from mainstem.changes.consequences import consequences, refused_queries
from mainstem.changes.transition import transition
from mainstem.cli import main
from mainstem.cli_diff.report import Comparison, lines
from mainstem.cluster.running_pipeline import running_pipeline
from mainstem.language.document import read_object


DELTA = {"name": "out", "delta": {"path": "/data/out"}}
MERGE = {"name": "out", "delta": {"path": "/data/out", "merge": {"keys": ["k"]}}}
PARQUET = {"name": "out", "parquet": {"path": "/data/out"}}
KAFKA = {"name": "out", "kafka": {"connection": "broker", "topic": "sums", "key": ["k"]}}
JDBC = {"name": "out", "jdbc": {"connection": "base", "table": "sums", "upsert": {"keys": ["k"]}}}
PYTHON = {"name": "out", "python": {"foreachBatch": "code:write"}}
SINKS = {"delta": DELTA, "merge": MERGE, "parquet": PARQUET, "kafka": KAFKA, "jdbc": JDBC, "python": PYTHON}


def base(sink: dict[str, Any] = DELTA, **query: Any) -> dict[str, Any]:
    topic = {"connection": "broker", "subscribe": ["t"], "startingOffsets": "earliest"}
    return {
        "connections": [
            {"name": "broker", "kafka": {"bootstrapServers": "b:9092"}},
            {"name": "base", "jdbc": {"url": "jdbc:postgresql://db/x"}},
        ],
        "sources": [
            {"name": "rows", "files": {"path": "/data/in", "format": "json", "schema": "k STRING, v INT"}},
            {"name": "topic", "kafka": topic, "decode": {"json": {"schema": "k STRING, v INT"}}},
        ],
        "views": [{"name": "sums", "sql": "SELECT k, v + 1 AS v FROM rows WHERE v > 0"}],
        "queries": [
            {"name": "sums", "from": "sums", "to": [sink]} | query,
            {"name": "raw", "from": "rows", "to": [{"name": "none", "noop": {}}]},
        ],
        "checkpoints": {"location": "/data/checkpoints"},
    }


def changed(*edits: tuple[str, Any], spec: dict[str, Any] | None = None) -> dict[str, Any]:
    """A document with other values: the path of each, such as `queries.0.pool`, and the value."""
    new = deepcopy(spec or base())
    for path, value in edits:
        *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
        place: Any = new
        for part in way:
            place = place[part]
        place[last] = value
    return new


class Case(NamedTuple):
    """A change, and what is shown: the effect and the words for the query `sums`, and the last line."""

    old: dict[str, Any]
    new: dict[str, Any]
    effect: str
    words: str
    last: str
    code: int = 0


WINDOW = "SELECT window(ts, '{}') AS w, count(*) AS v FROM clock GROUP BY 1"


def windows(length: str, sink: dict[str, Any] = DELTA, **query: Any) -> dict[str, Any]:
    """Sums of windows, whose state another length misreads."""
    clock = {"path": "/data/c", "format": "json", "schema": "ts TIMESTAMP, k STRING, v INT"}
    source = {"name": "clock", "files": clock, "watermark": {"column": "ts", "delay": "1 day"}}
    spec = base(sink, **query)
    return changed(("views.0.sql", WINDOW.format(length)), ("sources", [*spec["sources"], source]), spec=spec)


def wider(**query: Any) -> dict[str, Any]:
    """Rows with a column more."""
    return changed(("views.0.sql", "SELECT k, v + 1 AS v, v AS u FROM rows"), spec=base(**query))


MISREAD = "is refused: its rows could be wrong on its checkpoint"
TAKEN = "cannot start with an empty checkpoint: the folder of a sink has files of another one"
AGAIN = {"checkpoint": {"generation": 2}}
CHOSEN = {"checkpoint": {"onChange": "newGeneration"}}
REFUSES = "A running driver refuses this document, and every query continues with the previous one"
RUNS_ON = "only the queries that it concerns restart"
NOTHING = "Nothing restarts."
LAID_OUT = "select k, v + 1 as v\nfrom rows -- all\nwhere v > 0"
SUSPENDED = "queries.0.suspend"
CASES = {
    "nothing": Case(base(), base(), "unchanged", "runs on", NOTHING),
    "the layout of SQL": Case(base(), changed(("views.0.sql", LAID_OUT)), "unchanged", "restarts because its text has changed; it computes the same, and continues from its checkpoint", RUNS_ON),
    "the meaning of SQL": Case(base(), changed(("views.0.sql", "SELECT k, v FROM rows")), "continues", "restarts, and continues from its checkpoint", RUNS_ON),
    "a pool": Case(base(), changed(("queries.0.pool", {"weight": 3})), "live", "takes the change without a restart", NOTHING),
    "a budget": Case(base(), changed(("restart", {"maxRetries": 1})), "unchanged", "runs on", NOTHING),
    "a rollback": Case(base(), changed(("rollback", {"policy": "Never"})), "live", "takes the change without a restart", NOTHING),
    "a suspended query": Case(base(), changed((SUSPENDED, True)), "continues", "stops at a batch's end; its checkpoint stays", RUNS_ON),
    "a resumed query": Case(changed((SUSPENDED, True)), base(), "continues", "starts, and continues from its checkpoint", RUNS_ON),
    "a change of a suspended query": Case(changed((SUSPENDED, True)), changed((SUSPENDED, True), ("views.0.sql", "SELECT k, v FROM rows")), "continues", "stays suspended", NOTHING),
    "a suspended pipeline": Case(base(), changed(("suspend", True)), "continues", "stops at a batch's end; its checkpoint stays", "The pipeline is suspended: every query stops"),
    "a resumed pipeline": Case(changed(("suspend", True)), base(), "continues", "starts, and continues from its checkpoint", "The pipeline is resumed"),
    "a change of a suspended pipeline": Case(changed(("suspend", True)), changed(("suspend", True), ("image", "x:2")), "unchanged", "stays suspended", "The pipeline stays suspended"),
    "a restart": Case(base(), changed(("restartNonce", "2")), "unchanged", "restarts with the driver, and continues from its checkpoint", "The driver restarts for spec.restartNonce."),
    "a restart that is no longer asked for": Case(changed(("restartNonce", "2")), base(), "unchanged", "runs on", NOTHING),
    "an image": Case(base(), changed(("image", "x:2")), "unchanged", "restarts with the driver, and continues from its checkpoint", "The driver restarts for spec.image."),
    "a query that ends": Case(base(trigger={"availableNow": True}), changed(("views.0.sql", "SELECT k, v FROM rows"), spec=base(trigger={"availableNow": True})), "continues", "restarts with the driver, and continues from its checkpoint", "The driver restarts for the query sums, which ends on its own."),
    "a removed query": Case(base(), base() | {"queries": base()["queries"][1:]}, "removed", "stops at a batch's end; its checkpoint stays", RUNS_ON),
    "an output mode without state": Case(base(MERGE), changed(("queries.0.outputMode", "update"), spec=base(MERGE)), "continues", "restarts, and continues from its checkpoint", RUNS_ON),
    "a new generation": Case(base(), base(checkpoint={"generation": 2}), "empty", "starts with an empty checkpoint", RUNS_ON),
    "a new generation of a suspended query": Case(changed((SUSPENDED, True)), base(checkpoint={"generation": 2}, suspend=True), "empty", "stays suspended, and starts with an empty checkpoint when it is resumed", NOTHING),
    "a new generation for a folder": Case(base(PARQUET), base(PARQUET, checkpoint={"generation": 2}), "incompatible", "cannot start with an empty checkpoint: the folder of a sink has files of another one", "A running driver refuses this document", 5),
    "a new generation for another folder": Case(base(PARQUET), base({"name": "out", "parquet": {"path": "/data/new"}}, checkpoint={"generation": 2}), "empty", "starts with an empty checkpoint", RUNS_ON),
    "a new name for a folder": Case(base(PARQUET), changed(("queries.0.name", "other"), spec=base(PARQUET)), "removed", "goes on with the document before", "A running driver refuses this document", 5),
    "a new location for a folder": Case(base(PARQUET), changed(("checkpoints.location", "/data/new"), spec=base(PARQUET)), "incompatible", "cannot start with an empty checkpoint", "sums cannot start, unless the folder is empty", 5),
    "a folder of another query": Case(changed(("queries.1.to", [PARQUET]), spec=base({"name": "out", "noop": {}})), changed(("queries.1.to", [{"name": "n", "noop": {}}]), spec=base(PARQUET, **AGAIN)), "incompatible", TAKEN, REFUSES, 5),
    "a folder of files of another kind": Case(base(PARQUET), base({"name": "out", "orc": {"path": "/data/out"}}, **AGAIN), "incompatible", TAKEN, REFUSES, 5),
    "a folder and an image": Case(base(PARQUET), base(PARQUET, **AGAIN) | {"image": "x:2"}, "incompatible", TAKEN, "sums cannot start, unless the folder is empty, or `mainstem checkpoint` has filled the new checkpoint", 5),
    "a folder and a suspension": Case(base(PARQUET), base(PARQUET, **AGAIN) | {"suspend": True}, "incompatible", "is suspended, and cannot start with an empty checkpoint when it is resumed", "The pipeline is suspended"),
    "a folder of a suspended query": Case(base(PARQUET), base(PARQUET, **AGAIN, suspend=True), "incompatible", "is suspended, and cannot start with an empty checkpoint when it is resumed", RUNS_ON),
    "a folder and a chosen generation": Case(windows("1 day", PARQUET, **CHOSEN), windows("2 days", PARQUET, **CHOSEN), "incompatible", TAKEN, "The driver restarts for the empty checkpoint of the query sums.", 5),
    "a chosen generation": Case(windows("1 day", **CHOSEN), windows("2 days", **CHOSEN), "empty", "starts with an empty checkpoint, by checkpoint.onChange: newGeneration", "The driver restarts for the empty checkpoint of the query sums."),
    "another window": Case(windows("1 day"), windows("2 days"), "misreads", MISREAD, f"{REFUSES}.", 5),
    "a query beside one with another window, and an image": Case(base(), {**windows("2 days"), "queries": [*base()["queries"][:1], {"name": "raw", "from": "counted", "to": [{"name": "none", "noop": {}}]}], "views": [*base()["views"], {"name": "counted", "sql": WINDOW.format("1 day")}], "image": "x:2"}, "unchanged", "goes on with the document before", f"{REFUSES}.", 5),
    "another window and a restart": Case(windows("1 day"), windows("2 days") | {"restartNonce": "2"}, "misreads", MISREAD, "The driver restarts with that one for spec.restartNonce.", 5),
    "another window and a resumption": Case(windows("1 day") | {"suspend": True}, windows("2 days"), "misreads", MISREAD, "The pipeline is resumed", 5),
    "another window and a suspension": Case(windows("1 day"), windows("2 days") | {"suspend": True}, "misreads", "is suspended, and cannot continue from its checkpoint when it is resumed", "The pipeline is suspended"),
    "a column that a table does not have": Case(base(), wider(), "incompatible", "is refused: it cannot start on its checkpoint", f"{REFUSES}.", 5),
    "a column that a table does not have and a new generation": Case(base(), wider(**AGAIN), "incompatible", "is refused: it cannot start on its checkpoint", f"{REFUSES}.", 5),
    "a column that a table does not have and a chosen generation": Case(base(**CHOSEN), wider(**CHOSEN), "incompatible", "is refused: it cannot start on its checkpoint", REFUSES, 5),
    "a removed query of a suspended pipeline": Case(base() | {"suspend": True}, base() | {"suspend": True, "queries": base()["queries"][1:]}, "removed", "leaves the document; its checkpoint stays", "The pipeline stays suspended"),
    "a resumed pipeline with a schedule": Case(base(trigger={"availableNow": True}) | {"suspend": True}, {**base(trigger={"availableNow": True}), "schedule": {"cron": "0 3 * * *"}, "queries": base(trigger={"availableNow": True})["queries"][:1]}, "continues", "starts, and continues from its checkpoint", "at the next time of the schedule"),
    "another spelling of the location": Case(base(PARQUET), changed(("checkpoints.location", "file:///data/./checkpoints/"), spec=base(PARQUET)), "unchanged", "restarts with the driver, and continues", "The driver restarts for spec.checkpoints.location."),
}  # fmt: skip


def diff(folder: Path, old: dict[str, Any], new: dict[str, Any], *options: str) -> tuple[int, str]:
    files = [folder / "old.json", folder / "new.json"]
    for file, spec in zip(files, (old, new), strict=True):
        file.write_text(json.dumps(pipeline_head("p") | {"spec": spec}))
    (folder / "code.py").write_text("def write(batch, number):\n    pass\n")
    result = CliRunner().invoke(main, ["diff", *map(str, files), *options], env={"COLUMNS": "200"})
    return result.exit_code, result.output


def shown(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(diff(folder, old, new, "--output", "json")[1])
    return whole


@pytest.mark.parametrize("name", CASES)
def test_the_table_and_the_last_line_show_what_happens(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    code, text = diff(tmp_path, case.old, case.new)
    query = next(each for each in shown(tmp_path, case.old, case.new)["queries"] if each["query"] == "sums")
    assert (code, query["effect"]) == (case.code, case.effect), text
    assert query["consequence"].startswith(case.words)
    assert case.last in " ".join(text.rpartition("\n\n")[2].split())


REPEATED = {
    "delta": "the sink gets their rows again",
    "merge": "the sink merges their rows again, and older rows replace newer ones until the query has caught up",
    "kafka": "the sink gets their records again",
    "jdbc": "the sink upserts their rows again, and older rows replace newer ones until the query has caught up",
    "python": "the sink passes other rows under the same batch numbers to its code, which must not skip these numbers",
}


@pytest.mark.parametrize("kind", REPEATED)
@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec["queries"][0].update(checkpoint={"generation": 2}),
        lambda spec: spec["queries"][0].update(name="other"),
        lambda spec: spec["queries"][0].update(checkpoint={"id": "other"}),
        lambda spec: spec["checkpoints"].update(location="/data/new"),
    ],
    ids=["generation", "name", "id", "location"],
)
def test_an_empty_start_shows_what_each_sink_gets(
    tmp_path: Path, kind: str, change: Callable[[dict[str, Any]], Any]
) -> None:
    old, new = base(SINKS[kind]), base(SINKS[kind])
    change(new)
    [sink] = [
        each
        for each in shown(tmp_path, old, new)["queries"][0]["changes"]
        if each["path"].endswith(".to[out]")
    ]
    assert sink["text"] == f"the input of earlier batches is read again, in new batches: {REPEATED[kind]}"
    assert (sink["effect"], sink["line"] > 0) == ("empty", True)


@pytest.mark.parametrize(
    "other",
    [
        {"name": "out", "delta": {"path": "/data/other"}},
        {"name": "out", "kafka": {"connection": "broker", "topic": "sums", "key": ["k"]}},
    ],
)
def test_a_new_target_gets_nothing_again(tmp_path: Path, other: dict[str, Any]) -> None:
    new = base(other, checkpoint={"generation": 2})
    changes = shown(tmp_path, base(), new)["queries"][0]["changes"]
    assert not any("again" in each["text"] for each in changes)


@pytest.mark.parametrize(
    ("kind", "mode", "said"),
    [("delta", "append", False), ("kafka", "append", False), ("python", "append", True), ("parquet", "append", True), ("delta", "complete", True)],
)  # fmt: skip
def test_a_source_that_begins_at_its_newest_row_is_skipped_and_repeats_nothing(
    tmp_path: Path, kind: str, mode: str, said: bool
) -> None:
    old = changed(("sources.1.kafka.startingOffsets", "latest"), spec=base(SINKS[kind]))
    old["queries"][0] |= {"from": "sums", "outputMode": mode}
    old["views"][0]["sql"] = (
        "SELECT k, count(*) AS v FROM topic GROUP BY k" if mode == "complete" else "SELECT k, v FROM topic"
    )
    new = deepcopy(old)
    new["queries"][0]["checkpoint"] = {"generation": 2}
    changes = shown(tmp_path, old, new)["queries"][0]["changes"]
    [skipped] = [each["text"] for each in changes if each["path"] == "spec.sources[topic]"]
    assert "skips the rows that it has not read before" in skipped
    sinks = [each["text"] for each in changes if each["path"].endswith(".to[out]")]
    assert bool(sinks) is said
    assert not any("read again" in text for text in sinks)


def test_a_query_with_the_checkpoint_of_a_removed_one_has_one_entry_of_its_own(tmp_path: Path) -> None:
    new = base(checkpoint={"id": "raw"})
    new["queries"] = new["queries"][:1]
    words = [
        (each["query"], each["effect"], each["consequence"])
        for each in shown(tmp_path, base(), new)["queries"]
    ]
    assert words[1] == ("sums", "removed", "stops at a batch's end; its checkpoint stays")
    assert len(words) == 2


def test_a_query_that_runs_once_writes_again_what_it_reads_again(tmp_path: Path) -> None:
    old, new = base(), base(**AGAIN)
    for spec in (old, new):
        spec["sources"][0] = {"name": "rows", "kafka": {"connection": "broker", "subscribe": ["t"], "endingOffsets": "latest"}, "decode": {"json": {"schema": "k STRING, v INT"}}}  # fmt: skip
    texts = [each["text"] for each in shown(tmp_path, old, new)["queries"][0]["changes"]]
    assert (
        "the input of earlier batches is read again, in new batches: the sink gets their rows again" in texts
    )


def test_a_new_query_repeats_only_what_a_removed_one_has_read(tmp_path: Path) -> None:
    fresh = {"name": "fresh", "from": "topic", "to": [DELTA]}
    new = base()
    new["queries"] = [fresh]
    whole = shown(tmp_path, base(), new)["queries"][0]
    assert (whole["query"], whole["effect"]) == ("fresh", "empty")
    assert not any("again" in each["text"] for each in whole["changes"])


def test_a_sink_of_other_code_is_another_target(tmp_path: Path) -> None:
    new = base({"name": "out", "python": {"foreachBatch": "code:other"}}, **AGAIN)
    texts = [each["text"] for each in shown(tmp_path, base(PYTHON), new)["queries"][0]["changes"]]
    assert not any("same batch numbers" in text for text in texts)


def test_a_new_target_of_an_empty_checkpoint_gets_every_row(tmp_path: Path) -> None:
    new = base({"name": "more", "delta": {"path": "/data/more"}}, **AGAIN)
    texts = [each["text"] for each in shown(tmp_path, base(), new)["queries"][0]["changes"]]
    assert "the sink is added: it gets all rows that the query reads from then on" in texts


@pytest.mark.parametrize(
    ("old", "new"), [("/cwd/out", "out"), ("out", "./out"), ("file:///cwd/out", "/cwd//out")]
)
def test_a_folder_is_the_same_in_every_spelling(old: str, new: str) -> None:
    graphs = [
        read_object(
            pipeline_head("p") | {"spec": base({"name": "out", "parquet": {"path": path}}, **query)}
        ).graph
        for path, query in ((old, {}), (new, AGAIN))
    ]
    [sums, _] = consequences(transition(*graphs, "/cwd"), *graphs)
    assert sums[1].words == TAKEN


@pytest.mark.parametrize(
    "name", ["a new generation for a folder", "a new name for a folder", "a folder and an image"]
)
def test_the_operator_leaves_a_folder_to_the_driver_which_looks_into_it(name: str) -> None:
    """A command may have filled the checkpoint, and a way back from a failed document has files of its own."""
    old, new = (read_object(pipeline_head("p") | {"spec": spec}).graph for spec in CASES[name][:2])
    assert refused_queries(transition(old, new).verdict, new.pipeline) == ()
    back = refused_queries(transition(new, old).verdict, old.pipeline)
    assert not any("SinkFolderTaken" in each.message for each in back)


def resource(spec: dict[str, Any], *, phase: str = "Running", nonce: str | None = None) -> dict[str, Any]:
    """A pipeline on a cluster that runs, or has run, the document."""
    queries = [{"name": name, "state": state} for name, state in (("sums", "Running"), ("raw", "Failed"))]
    status = {"revision": "0123abcd", "phase": phase, "queries": queries}
    status |= {"driver": {"pod": "p-driver"}} if phase == "Running" else {}
    status |= {"restartNonce": nonce} if nonce else {}
    return pipeline_head("p") | {"metadata": {"name": "p", "namespace": "n"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("stored", "file", "phase", "nonce", "last"),
    [
        ({"restartNonce": "1"}, {"restartNonce": "1"}, "Running", "1", NOTHING),
        ({}, {"restartNonce": "1"}, "Running", "1", NOTHING),
        ({"restartNonce": "1"}, {"restartNonce": "2"}, "Running", "1", "The driver restarts for spec.restartNonce."),
        ({"suspend": True}, {"suspend": True}, "Suspended", None, "The pipeline stays suspended"),
        ({"suspend": True}, {}, "Suspended", None, "The pipeline is resumed"),
        ({}, {"suspend": True}, "Running", None, "The pipeline is suspended"),
        ({}, {"restart": {"maxRetries": 1}}, "Failed", None, "The pipeline has no driver now"),
        ({}, {}, "Completed", None, NOTHING),
        ({"rollback": {"policy": "Never"}}, {"rollback": {"policy": "Never"}}, "Completed", None, NOTHING),
    ],
)  # fmt: skip
def test_on_a_cluster_the_resource_shows_what_no_revision_has(
    stored: dict[str, Any], file: dict[str, Any], phase: str, nonce: str | None, last: str
) -> None:
    before, after = (read_object(pipeline_head("p") | {"spec": base() | spec}) for spec in ({}, file))
    pipeline = running_pipeline(resource(base() | stored, phase=phase, nonce=nonce))
    before = before.with_fields(pipeline.apart)
    way = transition(before.graph, after.graph)
    text = list(lines(Comparison(way, before, after, pipeline), 200))
    assert text[-1].startswith(last)


def test_a_failed_query_of_a_cluster_starts_again_with_any_change() -> None:
    before, after = (
        read_object(pipeline_head("p") | {"spec": spec})
        for spec in (base(), changed(("views.0.sql", "SELECT k, v FROM rows")))
    )
    pipeline = running_pipeline(resource(base()))
    way = transition(before.graph, after.graph).retrying(pipeline.failed, after.graph)
    [_, raw] = Comparison(way, before, after, pipeline).outcomes
    assert raw[1].words == "starts again, and continues from its checkpoint"


def test_a_relative_location_is_the_same_as_its_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    relative = changed(("checkpoints.location", "./checkpoints"))
    absolute = changed(("checkpoints.location", f"{tmp_path}/checkpoints"))
    for old, new in ((relative, absolute), (absolute, relative)):
        whole = shown(tmp_path, old, new)
        assert [each["effect"] for each in whole["queries"]] == ["unchanged", "unchanged"]
        assert whole["driver"] == ["spec.checkpoints.location"]
    elsewhere = shown(tmp_path, relative, changed(("checkpoints.location", "/elsewhere/checkpoints")))
    assert elsewhere["queries"][0]["effect"] == "empty"


@pytest.mark.parametrize(("was", "now"), [(False, True), (True, False)])
def test_a_switch_is_shown_as_the_document_has_it(tmp_path: Path, was: bool, now: bool) -> None:
    [change] = shown(tmp_path, changed(("suspend", was)), changed(("suspend", now)))["queries"][1]["changes"]
    assert change["text"].startswith(f"suspend was {json.dumps(was)}, and is {json.dumps(now)}: every query")
