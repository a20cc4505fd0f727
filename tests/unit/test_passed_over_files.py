"""Looks at the files that no batch reads: when, what a failed look leaves, and what a query shows; without Spark."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from harness.clock import OwnClock
from harness.documents import pipeline_head
from harness.waiting import LIMIT, within
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import read_text
from mainstem.language.model.status.progress_parts import SourceProgress
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.files import passed_over_files
from mainstem.runtime.files.passed_over_files import (
    LOOK_SECONDS,
    PATIENCE_SECONDS,
    Folder,
    Others,
    PassedOver,
    PassedOverFiles,
    folders,
    others,
)
from mainstem.runtime.supervision.current import with_passed_over_files
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException


SINK = {"name": "t", "parquet": {"path": "/lake/out"}}
STREAM = {
    "name": "lines",
    "files": {"path": "/in", "pathGlobFilter": "*.log", "options": {"encoding": "UTF-16"}},
}
TABLE = {"name": "zones", "static": {"csv": {"path": "/zones", "header": True}}}
SOME, NOTHING = PassedOver(2, "/in/x/b"), PassedOver(0, "")


def graph(
    *sources: dict[str, Any], sql: str = "SELECT * FROM lines", more: Sequence[dict[str, Any]] = ()
) -> Graph:
    spec = {
        "sources": [*sources],
        "views": [{"name": "v", "sql": sql}],
        "queries": [{"name": "q", "from": "v", "to": [SINK]}, *more],
        "checkpoints": {"location": "/lake/checkpoints"},
    }
    [document] = read_text(json.dumps(pipeline_head("p") | {"spec": spec}))
    return document.graph


class Store:
    """Answers looks, in place of Spark."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers: dict[str, PassedOver | None] = {}
        self.looks: list[Folder] = []
        self.error: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        monkeypatch.setattr(passed_over_files, "below", self._below)
        monkeypatch.setattr(passed_over_files, "_listing_session", lambda session: session)

    def _below(self, _session: Any, folder: Folder, _others: Others) -> PassedOver | None:
        self.gate.wait(LIMIT)
        self.looks.append(folder)
        if self.error is not None:
            raise self.error
        return self.answers.get(folder.source, NOTHING)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    return Store(monkeypatch)


def over(files: PassedOverFiles) -> None:
    """Wait until the looks of queries that have begun are over."""
    within(LIMIT, "the looks are over", lambda: not files.pending)


@contextmanager
def looking(graph: Graph, *sources: str) -> Iterator[tuple[PassedOverFiles, OwnClock]]:
    """The looks of a document, once the first one at these sources is over."""
    clock = OwnClock()
    files = PassedOverFiles(None, graph, clock)
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
        Folder("lines", "/in", options, is_stream=True),
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
        assert files.answers(["lines"]) == {}


def test_a_failure_is_logged_until_another_one_or_none_follows(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    store.error = AnalysisException("conflicting folders")
    with looking(graph(STREAM), "lines") as (files, clock):
        assert files.answers(["lines"]) == {}
        clock.advance(LOOK_SECONDS, 1)
        store.error = None
        clock.advance(LOOK_SECONDS, 1)
        store.error = AnalysisException("conflicting folders")
        clock.advance(LOOK_SECONDS, 1)
    assert len(store.looks) == 4
    assert "".join(capsys.readouterr()).count("conflicting folders") == 2


def test_a_slow_look_is_waited_for_but_not_for_ever(store: Store) -> None:
    store.gate.clear()
    clock = OwnClock()
    files = PassedOverFiles(None, graph(STREAM), clock)
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
    files = PassedOverFiles(None, graph(STREAM), clock)
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
    files = PassedOverFiles(None, graph(STREAM), clock)
    files.begin(["lines"])
    assert files._thread is not None
    files._thread.join(LIMIT)
    assert not files._thread.is_alive()
    clock.advance(PATIENCE_SECONDS)
    assert not files.pending


def test_files_are_logged_once(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.answers["lines"] = SOME
    with looking(graph(STREAM), "lines") as (_, clock):
        clock.advance(3 * LOOK_SECONDS, 1)
    assert len(store.looks) == 4
    assert "".join(capsys.readouterr()).count("files are passed over") == 1


def test_a_source_that_changes_is_looked_at_anew_and_another_one_is_kept(store: Store) -> None:
    store.answers["lines"] = SOME
    with looking(graph(STREAM), "lines") as (files, _):
        files.adopt(graph(STREAM, sql="SELECT 1 AS a FROM lines"))
        assert files.answers(["lines"]) == {"lines": SOME}
        store.answers.clear()
        files.adopt(graph(STREAM | {"files": {"path": "/in", "options": {"recursiveFileLookup": "true"}}}))
        assert files.answers(["lines"]) == {}
        files.begin(["lines"])
        over(files)
        assert [folder.options for folder in store.looks][1:] == [{"recursiveFileLookup": "true"}]


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
    current = with_passed_over_files(
        status, {"lines": "lines", "lines_2": "lines", "zones": "zones"}, {"lines": SOME}
    )
    assert (current.reason, [source.passed_over for source in current.sources]) == (shown, [2, 2, 0])
    if shown == "FilesPassedOver":
        assert current.message == "source 'lines' passes over 2 files below its path, first /in/x/b"


def test_a_table_that_no_count_shows_is_named_all_the_same() -> None:
    status = replace(STATUS, sources=())
    shown = with_passed_over_files(status, {}, {"zones": PassedOver(1, "/zones/x/b"), "lines": SOME})
    assert shown.message is not None
    assert [part.split()[1] for part in shown.message.split("; ")] == ["'zones'", "'lines'"]
    assert with_passed_over_files(status, {}, {}) == status
