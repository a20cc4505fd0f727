"""What every rule is given: the pipeline, its graph, and the text it was read from."""

from mainstem.errors import Problem
from mainstem.spec.graph import Graph
from mainstem.spec.pipeline import StreamingPipeline
from mainstem.spec.yamltext import Path, Text, render_path


class Context:
    """One document under check."""

    def __init__(self, pipeline: StreamingPipeline, part: Text) -> None:
        self.pipeline = pipeline
        self.spec = pipeline.spec
        self.graph = Graph(pipeline)
        self._part = part

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
        if offset is not None and full in self._part.blocks:
            above = str(self._at(full))[:offset]
            line, column = line + 1 + above.count("\n"), 1
        return Problem(line, column, render_path(full), message, reason, warning)

    def _at(self, path: Path) -> object:
        value: object = self._part.data
        for piece in path:
            value = value[piece]  # type: ignore[index]
        return value
