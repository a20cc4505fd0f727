"""`mainstem trial` without Spark: which queries are compared, the copies, the exit code, the report, the options."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from harness.documents import pipeline_head
from mainstem.checkpoints import copying, finding
from mainstem.cli import main
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.reasons import Exit
from mainstem.trial import forks, text
from mainstem.trial.documents import without_effects
from mainstem.trial.outcome import Difference, Outcome, QueryTrial, SideResult, as_json, exit_code
from mainstem.trial.selection import Candidate, chosen


FILES = {"path": "/in", "format": "json", "schema": "k STRING, ts TIMESTAMP, v INT"}
WINDOWS = "SELECT w.start AS hour, n FROM (SELECT window(ts, '1 hour') AS w, count(*) AS n FROM a GROUP BY 1)"
SECOND = {"checkpoint": {"generation": 2}}
NOWHERE = {"name": "nowhere", "noop": {}}


def graph(*queries: dict[str, Any], view: str = WINDOWS, **spec: Any) -> Graph:
    """A document with a source of files, a view of windows, and one query or the given ones."""
    whole = {
        "sources": [{"name": "a", "files": FILES, "watermark": {"column": "ts", "delay": "1 minute"}}],
        "views": [{"name": "windows", "sql": view}],
        "queries": [{"name": "q", "from": "windows", "to": [NOWHERE]} | each for each in queries or ({},)],
        "checkpoints": {"location": "/checkpoints"},
    }
    return read_text(yaml.safe_dump(pipeline_head("tried") | {"spec": whole | spec}))[0].graph


def only(before: Graph, after: Graph) -> Candidate | QueryTrial:
    return chosen(before, after)[0]


def test_a_query_that_continues_is_compared() -> None:
    result = only(graph(), graph(view=WINDOWS.replace("w.start", "w.end")))
    assert isinstance(result, Candidate)
    assert (result.old.name, result.new.name, result.notes) == ("q", "q", ())


@pytest.mark.parametrize(
    ("after", "outcome", "words"),
    [
        (graph(SECOND, view=WINDOWS.replace("1 hour", "2 hours")), Outcome.REFUSED, "cannot continue"),
        (
            graph(
                {"checkpoint": {"generation": 2, "onChange": "newGeneration"}},
                view=WINDOWS.replace("1 hour", "2 hours"),
            ),
            Outcome.NOT_COMPARED,
            "next generation",
        ),
        (graph({"checkpoint": {"generation": 3}}), Outcome.NOT_COMPARED, "empty"),
        (graph(SECOND | {"suspend": True}, {"name": "other"}), Outcome.NOT_COMPARED, "suspended"),
        (graph({"checkpoint": {"generation": 1}}), Outcome.REFUSED, "older checkpoint"),
        (graph({"checkpoint": {"generation": 1, "onChange": "keep"}}), Outcome.NOT_COMPARED, "does not use"),
    ],
    ids=["misreads", "a new generation", "empty", "suspended", "an older one", "an older one, kept"],
)
def test_a_query_that_does_not_continue_is_not_compared(after: Graph, outcome: Outcome, words: str) -> None:
    result = only(graph(SECOND), after)
    assert isinstance(result, QueryTrial)
    assert result.outcome is outcome
    assert words in result.message


def test_a_refused_query_that_keeps_its_checkpoint_is_compared() -> None:
    after = graph({"checkpoint": {"onChange": "keep"}}, view=WINDOWS.replace("1 hour", "2 hours"))
    assert isinstance(only(graph(), after), Candidate)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"name": "a", "socket": {"host": "localhost", "port": 1}}, "not kept"),
        ({"name": "a", "spark": {"format": "queue"}}, "may remove records"),
    ],
    ids=["socket", "connector"],
)
def test_a_source_whose_rows_must_be_read_once_is_not_read(source: dict[str, Any], words: str) -> None:
    both = graph(view="SELECT * FROM a", sources=[source])
    result = only(both, both)
    assert isinstance(result, QueryTrial)
    assert result.outcome is Outcome.NOT_COMPARED
    assert words in result.message


def test_new_and_removed_queries_are_named_and_names_choose() -> None:
    before, after = graph({"name": "old"}, {"name": "q"}), graph({"name": "q"}, {"name": "new"})
    results = chosen(before, after)
    assert [getattr(each, "query", None) for each in results] == [None, "new", "old"]
    assert [each.query for each in chosen(before, after, ["new"]) if isinstance(each, QueryTrial)] == ["new"]


def test_the_run_documents_have_no_sinks_no_clean_up_and_no_trigger() -> None:
    source = {"name": "a", "files": FILES | {"cleanSource": {"delete": True}}}
    query = {"to": [{"name": "t", "delta": {"path": "/out"}}], "trigger": {"processingTime": "5 seconds"}}
    run = without_effects(
        graph(
            query,
            {"name": "other"},
            view="SELECT * FROM a",
            sources=[source | {}],
            queries=[{"name": "q", "from": "windows"} | query],
        ),
        ["q"],
        Path("/scratch"),
    )
    assert run.spec.checkpoints.location == "/scratch"
    assert run.spec.sources[0].files is not None
    assert run.spec.sources[0].files.clean_source is None
    [tried] = run.spec.queries
    assert tried.to[0].noop is not None
    assert tried.trigger is None


COMMIT = 'v1\n{"nextBatchWatermarkMs":%d}'
PLAN = 'v2\n{"batchWatermarkMs":%d,"batchTimestampMs":7,"conf":{}}\na:{"logOffset":%d}'


def checkpoint(folder: Path, batches: int) -> Path:
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True)
    (folder / "metadata").write_text('{"id":"one"}')
    for batch in range(batches):
        (folder / "offsets" / str(batch)).write_text(PLAN % (batch, batch))
        (folder / "commits" / str(batch)).write_text(COMMIT % (100 * batch))
    return folder


def test_a_fork_is_two_copies_before_the_last_batches_and_changes_no_file(tmp_path: Path) -> None:
    origin = checkpoint(tmp_path / "origin", 6)
    before = {file: file.read_bytes() for file in origin.rglob("*") if file.is_file()}
    plans = forks.fork(
        finding.opened(str(origin)), 2, (tmp_path / "old" / "q" / "1", tmp_path / "new" / "q" / "1")
    )
    assert (plans.base, plans.batches) == (3, (4, 5))
    assert {file: file.read_bytes() for file in origin.rglob("*") if file.is_file()} == before
    for side in ("old", "new"):
        offsets = tmp_path / side / "q" / "1" / "offsets"
        assert sorted(file.name for file in offsets.iterdir()) == ["1", "2", "3"]


def test_a_copy_does_not_need_the_old_batches_that_a_driver_removes_meanwhile(tmp_path: Path) -> None:
    origin = checkpoint(tmp_path / "origin", 6)
    listed = finding.stream(finding.opened(str(origin)))
    for log in ("offsets", "commits"):
        (origin / log / "0").unlink()
    target = finding.opened(str(tmp_path / "copy"))
    with pytest.raises(NotReady, match="disappeared"):
        copying.carry_out(copying.plan(listed.folder, listed.layout, 4, target), listed.folder, target)
    copying.carry_out(copying.plan(listed.folder, listed.layout, 4, target, history=3), listed.folder, target)
    assert finding.stream(target).layout.committed == (2, 3, 4)


def test_the_plan_of_a_batch_has_its_offsets_and_the_watermark_of_the_copy(tmp_path: Path) -> None:
    copy = checkpoint(tmp_path / "copy", 3)
    forks.plan_next(copy, 3, PLAN % (9, 41))
    version, head, *offsets = (copy / "offsets" / "3").read_text().splitlines()
    assert (version, json.loads(head)["batchWatermarkMs"], offsets) == ("v2", 200, ['a:{"logOffset":41}'])


@pytest.mark.parametrize(
    ("batches", "words", "reason"),
    [(0, "no committed batch", "CheckpointNotFound"), (1, "needs two", "BatchNotKept")],
)
def test_a_checkpoint_without_two_committed_batches_cannot_be_tried(
    tmp_path: Path, batches: int, words: str, reason: str
) -> None:
    origin = checkpoint(tmp_path / "origin", batches)
    with pytest.raises(NotReady, match=words) as error:
        forks.fork(finding.opened(str(origin)), 2, (tmp_path / "old" / "1", tmp_path / "new" / "1"))
    assert error.value.reason == reason


def test_a_batch_whose_state_is_gone_is_not_kept(tmp_path: Path) -> None:
    origin = checkpoint(tmp_path / "origin", 4)
    (origin / "state" / "0" / "0").mkdir(parents=True)
    (origin / "state" / "0" / "0" / "4.changelog").write_text("")
    with pytest.raises(NotReady) as error:
        forks.fork(finding.opened(str(origin)), 1, (tmp_path / "old" / "1", tmp_path / "new" / "1"))
    assert error.value.reason == "BatchNotKept"


def trial(outcome: Outcome, **fields: Any) -> QueryTrial:
    return QueryTrial(str(outcome), outcome, **fields)


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([Outcome.EQUAL], Exit.OK),
        ([Outcome.EQUAL, Outcome.NOT_COMPARED], Exit.OK),
        ([Outcome.EQUAL, Outcome.DIFFERS], Exit.TRIAL_DIFFERS),
        ([Outcome.EQUAL, Outcome.FAILED], Exit.TRIAL_DIFFERS),
        ([Outcome.DIFFERS, Outcome.REFUSED], Exit.NOT_READY),
        ([Outcome.EQUAL, Outcome.NOT_READY], Exit.NOT_READY),
        ([Outcome.NOT_COMPARED], Exit.NOT_READY),
    ],
)
def test_the_exit_code_names_the_worst_outcome(outcomes: list[Outcome], code: Exit) -> None:
    assert exit_code([trial(each) for each in outcomes]) == code


def test_the_report_has_counts_examples_and_what_promotion_means() -> None:
    side = SideResult(
        {"k": "string"}, 3, (90, 10, 20), 7, 700, malformed={"a": 1}, tombstones={"a": 4}, violated={"v/e": 2}
    )
    rows = Difference(
        ("k",), 1, 0, 0, 1, ("n was int, and is bigint",), {"changed": ({"old": {"k": 1}, "new": {"k": 2}},)}
    )
    differs = trial(
        Outcome.DIFFERS, batches=(4, 5, 6), old=side, new=side, difference=rows, notes=("a note",)
    )
    shown = text.report(
        [differs, trial(Outcome.REFUSED, message="it cannot", reason="CheckpointIncompatible")], 100
    )
    lines = shown.splitlines()
    assert lines[1].split() == ["differs", "differs", "4-6", "3", "3", "1", "0", "0", "1"]
    for line in (
        "  rows are compared by k",
        "  n was int, and is bigint",
        '  changed   {"k": 1}',
        '        to  {"k": 2}',
        "  batch time, median  old 20 ms, new 20 ms",
        "  malformed a: old 1, new 1",
        "  tombstones a: old 4, new 4",
        "  violated v/e: old 2, new 2",
        "  note: a note",
        "  it cannot [CheckpointIncompatible]",
        "  refused  does not start: the running driver refuses the new document",
    ):
        assert line in lines
    assert as_json(differs)["rows"]["examples"]["changed"] == [{"old": {"k": 1}, "new": {"k": 2}}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--query", "none"], "no query 'none'"),
        (["--batches", "0"], "0 is not in the range"),
        (["--keep", "."], "is not empty"),
    ],
)
def test_wrong_usage_ends_before_spark_starts(tmp_path: Path, arguments: list[str], words: str) -> None:
    document = tmp_path / "a.yaml"
    document.write_text(
        yaml.safe_dump(
            pipeline_head("a")
            | {
                "spec": {
                    "sources": [{"name": "r", "rate": {}}],
                    "queries": [{"name": "q", "from": "r", "to": [NOWHERE]}],
                    "checkpoints": {"location": str(tmp_path / "c")},
                }
            }
        )
    )
    result = CliRunner().invoke(main, ["trial", str(document), "--against", str(document), *arguments])
    assert (result.exit_code, words in result.output) == (2, True), result.output
