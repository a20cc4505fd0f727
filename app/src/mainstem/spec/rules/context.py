"""What every rule is given: the pipeline, its graph, and the text it was read from."""

from collections.abc import Mapping

from mainstem.errors import Problem
from mainstem.spec.graph import Graph
from mainstem.spec.parameters import written_offset
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.relationcolumns import RelationColumns
from mainstem.spec.yamltext import Path, Text, render_path


class Context:
    """One document under check."""

    def __init__(self, pipeline: StreamingPipeline, part: Text, values: Mapping[str, str]) -> None:
        self.pipeline = pipeline
        self.spec = pipeline.spec
        self.graph = Graph(pipeline)
        self.columns = RelationColumns(self.graph)
        self._part = part
        self._values = values

    def problem(
        self,
        path: Path,
        message: str,
        reason: str,
        *,
        key: bool = False,
        warning: bool = False,
        offset: int | None = None,
    ) -> Problem:
        """A problem at a path below `spec`; `offset` counts characters into a text that stands there."""
        full: Path = ("spec", *path)
        line, column = self._part.where(full, key=key)
        if offset is not None:
            written = str(self._at(full))
            offset = written_offset(written, self._values, offset)
            line, column = self._part.where_in(full, written, offset)
        return Problem(line, column, render_path(full), message, reason, warning)

    def readers(self, relation: str, *, certain: bool = False) -> list[str]:
        """The queries that read a relation, directly or not."""
        queries = self.spec.queries
        return [q.name for q in queries if relation in self.graph.closure(q.from_, certain=certain)]

    def _at(self, path: Path) -> object:
        value: object = self._part.data
        for piece in path:
            value = value[piece]  # type: ignore[index]
        return value
