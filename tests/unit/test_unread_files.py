"""Looks at the files that no batch reads: when, what a failed look leaves, and what a query shows; without Spark."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from harness.clock import OwnClock
from harness.documents import pipeline_head
from harness.waiting import LIMIT, within
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.files import file_looks
from mainstem.runtime.files.file_looks import LOOK_SECONDS, PATIENCE_SECONDS, FileLooks
from mainstem.runtime.files.source_folders import (
    NO_FILES,
    Files,
    Folder,
    Others,
    Reading,
    UnreadFiles,
    folders,
    others,
)
from mainstem.runtime.supervision.current import with_unread_files
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException


SINK = {"name": "t", "parquet": {"path": "/lake/out"}}
STREAM = {
    "name": "lines",
    "files": {"path": "/in", "pathGlobFilter": "*.log", "options": {"encoding": "UTF-16"}},
}
TABLE = {"name": "zones", "static": {"csv": {"path": "/zones", "header": True}}}
SOME, NOTHING = UnreadFiles(Files(2, "/in/x/b")), UnreadFiles()
OF_Q, OF_R = Reading("q", "lines"), Reading("r", "lines")


def graph(
    *sources: dict[str, Any],
    sql: str = "SELECT * FROM lines",
    more: Sequence[dict[str, Any]] = (),
    generation: int = 1,
) -> Graph:
    spec = {
        "sources": [*sources],
        "views": [{"name": "v", "sql": sql}],
        "queries": [
            {"name": "q", "from": "v", "to": [SINK], "checkpoint": {"generation": generation}},
            *more,
        ],
        "checkpoints": {"location": "/lake/checkpoints"},
    }
    [document] = read_text(json.dumps(pipeline_head("p") | {"spec": spec}))
    return document.graph


class Store:
    """Answers looks, in place of Spark."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: dict[str, UnreadFiles | None] = {}
        self.looks: list[Folder] = []
        self.error: Exception | None = None
        self.bad_logs: dict[str, Exception] = {}
        """Log -> why it cannot be read."""
        self.lines: list[tuple[str, dict[str, Any]]] = []
        """Event and values of each line of the log."""
        self.gate, self.entered = threading.Event(), threading.Event()
        self.gate.set()
        monkeypatch.setattr(file_looks.logs, "get", lambda _name: self)
        monkeypatch.setattr(file_looks, "listed", self._listed)
        monkeypatch.setattr(file_looks, "open_log", lambda _session, path: path)
        monkeypatch.setattr(file_looks, "_listing_session", lambda session: session)

    def info(self, event: str, **values: Any) -> None:
        self.lines.append((event, values))

    warning = info

    def logged(self, event: str) -> list[dict[str, Any]]:
        """The values of the lines of an event."""
        return [values for name, values in self.lines if name == event]

    def _listed(self, _session: Any, folder: Folder) -> "Listed | None":
        self.entered.set()
        self.gate.wait(LIMIT)
        self.looks.append(folder)
        if self.error is not None:
            raise self.error
        answer = self.answers.get(folder.source, NOTHING)
        return None if answer is None else Listed(self, folder, answer)


class Listed(NamedTuple):
    """The files of a folder."""

    store: Store
    folder: Folder
    answer: UnreadFiles

    def passed_over(self, _others: Others) -> Files:
        return self.answer.passed_over

    def changed(self, log: str) -> Files:
        if log in self.store.bad_logs:
            raise self.store.bad_logs[log]
        [reading] = [reading for reading, path in self.folder.logs.items() if path == log]
        return self.answer.changed.get(reading, NO_FILES)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    return Store(monkeypatch)


def over(files: FileLooks) -> None:
    """Wait until the looks of queries that have begun are over."""
    within(LIMIT, "the looks are over", lambda: not files.pending)


@contextmanager
def looking(graph: Graph, *sources: str) -> Iterator[tuple[FileLooks, OwnClock]]:
    """The looks of a document, once the first one at these sources is over."""
    clock = OwnClock()
    files = FileLooks(None, graph, clock)
    try:
        files.begin(sources)
        over(files)
        yield files, clock
    finally:
        files.close()


def test_each_file_source_of_a_running_query_is_looked_at_as_the_query_reads_it() -> None:
    other = {"name": "unused", "files": {"path": "/elsewhere", "cleanSource": {"archive": "/archive"}}}
    document = graph(STREAM, TABLE, other, sql="SELECT * FROM lines JOIN zones ON value = _c0")
    options = {"encoding": "UTF-16", "pathGlobFilter": "*.log"}
    assert [*folders(document)] == [
        Folder("lines", "/in", options, True, False, {OF_Q: "/lake/checkpoints/q/1/sources/lines"}),
        Folder("zones", "/zones", {}, is_stream=False),
    ]
    read, written = others(document)
    assert {*read} == {"/in", "/zones", "/elsewhere"}
    assert {*written} == {"/lake/out", "/lake/checkpoints", "/archive"}


def test_the_source_of_a_suspended_query_is_not_looked_at() -> None:
    suspended = {
        "name": "later",
        "from": "more",
        "to": [SINK | {"parquet": {"path": "/lake/more"}}],
        "suspend": True,
    }
    document = graph(STREAM, {"name": "more", "files": {"path": "/more"}}, more=[suspended])
    assert [folder.source for folder in folders(document)] == ["lines"]


def test_each_query_has_a_log_for_each_occurrence_of_the_source() -> None:
    letters = {"format": "json", "schema": "id INT", "onMalformedRecord": "deadLetter", "fileNameOnly": True}
    sink = SINK | {"parquet": {"path": "/lake/letters"}}
    more = [{"name": "letters", "from": "lines_dead_letters", "to": [sink], "checkpoint": {"generation": 3}}]
    source = STREAM | {"files": {"path": "/in", **letters}}
    [folder] = folders(
        graph(source, sql="SELECT id FROM lines UNION ALL SELECT id + 1 FROM lines", more=more)
    )
    assert folder.by_name
    assert folder.logs == {
        OF_Q: "/lake/checkpoints/q/1/sources/lines",
        Reading("q", "lines_2"): "/lake/checkpoints/q/1/sources/lines_2",
        Reading("letters", "lines_dead_letters"): "/lake/checkpoints/letters/3/sources/lines_dead_letters",
    }


def test_without_such_a_source_no_thread_looks(store: Store) -> None:
    with looking(graph({"name": "lines", "rate": {}}), "lines") as (files, _):
        assert files._thread is None
    assert store.looks == []


def test_a_source_is_looked_at_when_its_query_starts_and_a_stream_again_and_again(store: Store) -> None:
    document = graph(STREAM, TABLE, sql="SELECT * FROM lines JOIN zones ON value = _c0")
    with looking(document, "lines") as (files, clock):
        clock.advance(LOOK_SECONDS, 1)
        assert [folder.source for folder in store.looks] == ["lines", "lines"]
        files.begin(["zones", "orders"])
        over(files)
        assert [folder.source for folder in store.looks] == ["lines", "lines", "zones"]
        clock.advance(LOOK_SECONDS, 1)
        assert [folder.source for folder in store.looks].count("zones") == 1
        store.answers["zones"] = SOME
        files.begin(["zones"])
        over(files)
        assert files.answers(["zones"]) == {"zones": SOME}


@pytest.mark.parametrize("error", [Py4JError("no permission"), AnalysisException("conflicting folders")])
def test_a_look_that_fails_leaves_the_answer_of_the_one_before(store: Store, error: Exception) -> None:
    store.answers["lines"] = SOME
    with looking(graph(STREAM), "lines") as (files, clock):
        assert files.answers(["lines"]) == {"lines": SOME}
        store.error = error
        clock.advance(LOOK_SECONDS, 1)
        assert files.answers(["lines", "other"]) == {"lines": SOME}
        store.error, store.answers = None, {}
        clock.advance(LOOK_SECONDS, 1)
        assert files.answers(["lines"]) == {"lines": NOTHING}


def test_a_failure_is_logged_until_another_one_or_none_follows(store: Store) -> None:
    store.error = AnalysisException("conflicting folders")
    with looking(graph(STREAM), "lines") as (files, clock):
        assert files.answers(["lines"]) == {"lines": NOTHING}
        clock.advance(LOOK_SECONDS, 1)
        store.error = None
        clock.advance(LOOK_SECONDS, 1)
        store.error = AnalysisException("conflicting folders")
        clock.advance(LOOK_SECONDS, 1)
    assert len(store.looks) == 4
    lines = store.logged("the look at a source's files has failed")
    assert lines == 2 * [{"source": "lines", "error": "conflicting folders"}]


def test_a_slow_look_is_waited_for_but_not_for_ever(store: Store) -> None:
    store.gate.clear()
    clock = OwnClock()
    files = FileLooks(None, graph(STREAM), clock)
    assert not files.pending
    files.begin(["lines"])
    clock.advance(PATIENCE_SECONDS - 1)
    assert files.pending
    clock.advance(1)
    assert not files.pending
    store.gate.set()
    files.close()


def test_a_start_during_a_look_is_followed_by_another_look(store: Store) -> None:
    store.gate.clear()
    clock = OwnClock()
    files = FileLooks(None, graph(STREAM), clock)
    files.begin(["lines"])
    clock.advance(1)
    files.begin(["lines"])
    store.gate.set()
    over(files)
    assert len(store.looks) == 2
    files.close()


def test_without_a_jvm_the_looks_end(store: Store) -> None:
    store.error = Py4JNetworkError()
    clock = OwnClock()
    files = FileLooks(None, graph(STREAM), clock)
    files.begin(["lines"])
    assert files._thread is not None
    files._thread.join(LIMIT)
    assert not files._thread.is_alive()
    clock.advance(PATIENCE_SECONDS)
    assert not files.pending


def test_files_are_logged_once(store: Store) -> None:
    store.answers["lines"] = SOME
    with looking(graph(STREAM), "lines") as (_, clock):
        clock.advance(3 * LOOK_SECONDS, 1)
    assert len(store.looks) == 4
    assert len(store.logged("files are passed over")) == 1


MORE = {"name": "r", "from": "lines", "to": [SINK | {"parquet": {"path": "/lake/more"}}]}


def test_changed_files_are_logged_for_each_query_and_when_they_are_more(
    store: Store,
) -> None:
    store.answers["lines"] = UnreadFiles(changed={OF_Q: Files(1, "/in/a")})
    with looking(graph(STREAM, more=[MORE]), "lines") as (_, clock):
        clock.advance(LOOK_SECONDS, 1)
        store.answers["lines"] = UnreadFiles(changed={OF_Q: Files(2, "/in/a"), OF_R: Files(1, "/in/b")})
        clock.advance(LOOK_SECONDS, 1)
        store.answers["lines"] = NOTHING
        clock.advance(LOOK_SECONDS, 1)
    lines = [
        (line["files"], line["first"], line["query"])
        for line in store.logged("changed files are not read again")
    ]
    assert lines == [(1, "/in/a", "q"), (2, "/in/a", "q"), (1, "/in/b", "r")]


def test_a_log_that_cannot_be_read_hides_no_other_answer(store: Store) -> None:
    store.answers["lines"] = UnreadFiles(
        Files(1, "/in/x/c"), {OF_Q: Files(1, "/in/a"), OF_R: Files(1, "/in/b")}
    )
    store.bad_logs["/lake/checkpoints/q/1/sources/lines"] = Py4JError("cut_off")
    with looking(graph(STREAM, more=[MORE]), "lines") as (files, clock):
        clock.advance(LOOK_SECONDS, 1)
        expected = UnreadFiles(Files(1, "/in/x/c"), {OF_R: Files(1, "/in/b")})
        assert files.answers(["lines"]) == {"lines": expected}
        store.bad_logs.clear()
        clock.advance(LOOK_SECONDS, 1)
        assert files.answers(["lines"]) == store.answers
        store.bad_logs["/lake/checkpoints/q/1/sources/lines"] = Py4JError("cut_off")
        clock.advance(LOOK_SECONDS, 1)
        assert files.answers(["lines"]) == store.answers
    lines = store.logged("the look at a source's files has failed")
    assert [(line["error"], line["query"]) for line in lines] == 2 * [("cut_off", "q")]


def test_files_in_folders_are_shown_before_the_logs_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that has ended waits for a short time only."""
    gate = threading.Event()
    monkeypatch.setattr(Listed, "changed", lambda _listed, _log: gate.wait(LIMIT) and NO_FILES)
    store.answers["lines"] = SOME
    clock = OwnClock()
    files = FileLooks(None, graph(STREAM), clock)
    files.begin(["lines"])
    within(LIMIT, "the folders are known", lambda: files.answers(["lines"]) == {"lines": SOME})
    assert files.pending
    files.close()
    gate.set()
    assert store.logged("the look at a source's files was not over") == [{"source": "lines"}]


def test_of_a_new_checkpoint_nothing_is_known_before_a_look(store: Store) -> None:
    """Also if a look at the old one is under way."""
    store.answers["lines"] = UnreadFiles(changed={OF_Q: Files(1, "/in/a")})
    new = graph(STREAM, generation=2)
    with looking(graph(STREAM), "lines") as (files, clock):
        store.gate.clear()
        store.entered.clear()
        files.begin(["lines"])
        assert store.entered.wait(LIMIT)
        files.adopt(new)
        assert files.answers(["lines"]) == {"lines": NOTHING}
        store.gate.set()
        over(files)
        assert files.answers(["lines"]) == {"lines": NOTHING}
        clock.advance(LOOK_SECONDS, 1)
        assert files.answers(["lines"]) == store.answers


def test_new_side_inputs_are_no_reason_to_look_at_streams(store: Store) -> None:
    document = graph(STREAM, TABLE, sql="SELECT * FROM lines JOIN zones ON value = _c0")
    with looking(document, "lines", "zones") as (files, _):
        files.begin(["lines", "zones"], only_tables=True)
        over(files)
    assert sorted(folder.source for folder in store.looks) == ["lines", "zones", "zones"]


def test_a_source_goes_on_when_other_queries_read_it(store: Store) -> None:
    """No query starts anew that reads it; only the log of a query is gone."""
    store.answers["lines"] = SOME
    with looking(graph(STREAM, more=[MORE]), "lines") as (files, clock):
        files.adopt(graph(STREAM))
        assert files.answers(["lines"]) == {"lines": SOME}
        clock.advance(LOOK_SECONDS, 1)
    assert [{*folder.logs} for folder in store.looks] == [{OF_Q, OF_R}, {OF_Q}]


def test_a_source_that_changes_is_looked_at_anew_and_another_one_is_kept(store: Store) -> None:
    store.answers["lines"] = SOME
    with looking(graph(STREAM), "lines") as (files, _):
        files.adopt(graph(STREAM, sql="SELECT 1 AS a FROM lines"))
        assert files.answers(["lines"]) == {"lines": SOME}
        store.answers.clear()
        files.adopt(graph(STREAM | {"files": {"path": "/in", "options": {"recursiveFileLookup": "true"}}}))
        assert files.answers(["lines"]) == {"lines": NOTHING}
        files.begin(["lines"])
        over(files)
        assert [folder.options for folder in store.looks][1:] == [{"recursiveFileLookup": "true"}]


OCCURRENCES = {"lines": "lines", "lines_2": "lines", "zones": "zones"}
STATUS = QueryProgress(
    "q", QueryState.RUNNING, sources=tuple(map(SourceProgress, ("lines", "lines_2", "zones")))
)


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (STATUS, "FilesPassedOver"),
        (replace(STATUS, state=QueryState.COMPLETED), "FilesPassedOver"),
        (replace(STATUS, reason="WatermarkAhead", message="m"), "WatermarkAhead"),
        (replace(STATUS, state=QueryState.WAITING), None),
    ],
)
def test_a_query_shows_them_unless_it_shows_something_else(status: QueryProgress, shown: str | None) -> None:
    current = with_unread_files(status, OCCURRENCES, {"lines": SOME})
    assert (current.reason, [source.passed_over for source in current.sources]) == (shown, [2, 2, 0])
    if shown == "FilesPassedOver":
        assert current.message == "source 'lines' passes over 2 files below its path, first /in/x/b"


def test_a_table_that_no_count_shows_is_named_all_the_same() -> None:
    status = replace(STATUS, sources=())
    shown = with_unread_files(status, {}, {"zones": UnreadFiles(Files(1, "/zones/x/b")), "lines": SOME})
    assert shown.message is not None
    assert [part.split()[1] for part in shown.message.split("; ")] == ["'zones'", "'lines'"]
    assert with_unread_files(status, {}, {}) == status


@pytest.mark.parametrize(
    ("unread", "shown", "message"),
    [
        (
            UnreadFiles(changed={OF_Q: Files(1, "/in/a"), Reading("q", "lines_2"): Files(3, "/in/b")}),
            "FilesChanged",
            "source 'lines' does not read 3 files again that changed since, first /in/b",
        ),
        (
            UnreadFiles(changed={OF_Q: Files(1, "/in/a")}, by_name=True),
            "FilesChanged",
            "source 'lines' does not read 1 file with a name that it has read before, first /in/a",
        ),
        (
            UnreadFiles(Files(1, "/in/x/c"), {OF_Q: Files(1, "/in/a")}),
            "FilesChanged",
            (
                "source 'lines' does not read 1 file again that changed since, first /in/a; "
                "source 'lines' passes over 1 file below its path, first /in/x/c"
            ),
        ),
        (UnreadFiles(changed={OF_R: Files(1, "/in/a")}), None, None),
    ],
)
def test_a_query_shows_the_files_that_changed_after_its_own_batches(
    unread: UnreadFiles, shown: str | None, message: str | None
) -> None:
    status = with_unread_files(STATUS, OCCURRENCES, {"lines": unread})
    changed = [unread.changed.get(Reading("q", name), NO_FILES).number for name in OCCURRENCES]
    assert [source.changed for source in status.sources] == changed
    assert (status.reason, status.message) == (shown, message)
