"""A pipeline's graph is built once, from its document, and passed on: it reads every SQL text of the pipeline."""

import ast
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mainstem
import mainstem_operator
import pytest
from documents import document
from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.explain import meaning
from mainstem.language.analysis import graph as graphs
from mainstem.language.analysis.graph import Graph
from mainstem.language.document import Document, read_object
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.requirements import warnings_of
from mainstem.runtime import runner
from mainstem.runtime.clock import Clock
from mainstem.runtime.console.reporter import for_stream
from mainstem.runtime.spark import session
from mainstem.runtime.spark.environment import this_machine
from mainstem_operator.manifests import pods
from mainstem_operator.validation.documents import validate
from unit.operator_steps import SETTINGS


BUILDERS = {
    "language/analysis/graph.py": 3,
    "language/document.py": 1,
    "testing/lab.py": 1,
    "changes/comparison.py": 1,
    "trial/documents.py": 1,
}
"""Module -> its constructors' calls: of a subset of queries, of other fields, of other generations, of what was read, of a copy without stores,
of a document to compare, and of a copy without sinks."""


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[StreamingPipeline]:
    """The pipelines of the graphs that are built, in order."""
    pipelines: list[StreamingPipeline] = []
    build = Graph.__init__

    def counted(self: Graph, pipeline: StreamingPipeline) -> None:
        pipelines.append(pipeline)
        build(self, pipeline)

    monkeypatch.setattr(Graph, "__init__", counted)
    return pipelines


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The SQL texts that graphs read, in order."""
    read: list[str] = []
    original = graphs.read

    def counted(sql: str) -> Any:
        read.append(sql)
        return original(sql)

    monkeypatch.setattr(graphs, "read", counted)
    return read


def run_until_spark_starts(loaded: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a run before Spark's JVM starts."""

    def launch(*_: object, **__: object) -> None:
        raise NotReady("no JVM starts here", reason=reasons.JVM_NOT_STARTED)

    monkeypatch.setattr(session, "launch", launch)
    options = runner.RunOptions(
        this_machine(cores=1, heap="1g"), for_stream(sys.stderr, loaded.pipeline.name, Clock())
    )
    with pytest.raises(NotReady, match="no JVM starts here"):
        runner.run(loaded, options)


def pipeline(folder: Path, missing: Sequence[str] = ()) -> dict[str, Any]:
    """Two queries over views of folders; a missing folder stops its query."""
    names = ("kept", "other")
    for name in names:
        (folder / f"{name}{'-gone' if name in missing else ''}").mkdir()
    return {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": "once"},
        "spec": {
            "sources": [
                {"name": f"{name}_lines", "static": {"csv": {"path": str(folder / name)}}} for name in names
            ],
            "views": [{"name": f"{name}_view", "sql": f"SELECT value FROM {name}_lines"} for name in names],
            "queries": [
                {"name": name, "from": f"{name}_view", "to": [{"name": "out", "console": {}}]}
                for name in names
            ],
            "checkpoints": {"location": str(folder / "checkpoints")},
        },
    }


def test_checks_explanation_and_run_of_a_document_share_its_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[StreamingPipeline], texts: list[str]
) -> None:
    loaded = read_object(pipeline(tmp_path))
    meaning(loaded.graph)
    warnings_of(loaded, ["kept"])
    run_until_spark_starts(loaded, monkeypatch)
    assert built == [loaded.pipeline]
    assert sorted(texts) == sorted(view.sql for view in loaded.pipeline.spec.views)


def test_a_run_without_the_queries_that_are_not_ready_has_one_graph_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: list[StreamingPipeline]
) -> None:
    loaded = read_object(pipeline(tmp_path, missing=["other"]))
    run_until_spark_starts(loaded, monkeypatch)
    assert built == [loaded.pipeline, loaded.pipeline.running_only(["kept"])]


def test_the_operator_makes_pods_without_a_graph(built: list[StreamingPipeline], texts: list[str]) -> None:
    """The graph's work ends in the process with limits: the operator's own process reads no SQL of a user."""
    body = document("executors-templates")
    body["metadata"] |= {"namespace": "ns", "uid": "uid-1", "generation": 1}
    revision = validate(body).revision
    assert revision is not None
    assert built == [revision.pipeline]
    revision = pickle.loads(pickle.dumps(revision))
    built.clear()
    texts.clear()
    pods.driver_pod(body, revision, SETTINGS, attempt=1, run="generation-1")
    assert (built, texts) == ([], [])


def test_only_the_document_builds_graphs() -> None:
    calls_by_module: dict[str, int] = {}
    for package in (mainstem, mainstem_operator):
        root = Path(str(package.__file__)).parent
        for file in root.rglob("*.py"):
            calls = [
                node
                for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Graph"
            ]
            if calls:
                calls_by_module[str(file.relative_to(root))] = len(calls)
    assert calls_by_module == BUILDERS
