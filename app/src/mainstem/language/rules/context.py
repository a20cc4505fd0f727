"""The argument of every rule: the pipeline's graph, its columns, and the text from which it was read."""

from collections.abc import Mapping
from typing import Any

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.relation_columns import RelationColumns
from mainstem.language.loading.problems import problem_at
from mainstem.language.loading.shape_validation import show
from mainstem.language.model.pipeline import PipelineSpec
from mainstem.language.yaml.yamltext import Path, YamlText


class Context:
    """One document, its graph and its columns, for the rules that check it."""

    def __init__(self, graph: Graph, part: YamlText, values: Mapping[str, str]) -> None:
        self.graph = graph
        self.columns = RelationColumns(self.graph)
        self._part = part
        self._values = values

    @property
    def spec(self) -> PipelineSpec:
        """The pipeline's `spec`, with its trigger in the queries that have it."""
        return self.graph.spec

    def problem(
        self,
        path: Path,
        message: str,
        reason: reasons.Reason,
        *,
        key: bool = False,
        warning: bool = False,
        offset: int | None = None,
    ) -> Problem:
        """A problem at a path below `spec`; `offset` counts characters into the text at that path."""
        full: Path = ("spec", *path)
        return problem_at(
            self._part, self._values, full, message, reason, key=key, warning=warning, offset=offset
        )

    def has_conf(self, name: str) -> bool:
        """Whether the document sets a Spark property, whose name it may write in any case."""
        return any(each.lower() == name.lower() for each in self.spec.spark.conf)

    def shown(self, path: Path, value: Any) -> str:
        """The value at a path below `spec`, as the document has it."""
        return show(value, self._part.texts.get(("spec", *path)))

    def readers(self, relation: str, *, certain: bool = False) -> list[str]:
        """The queries that read a relation, directly or through views."""
        queries = self.spec.queries
        return [q.name for q in queries if relation in self.graph.closure(q.from_, certain=certain)]
