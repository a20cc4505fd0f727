"""The graph of relations that read each other; rules, DataFrames and status share it."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import Any

from mainstem.language.model.pipeline import PipelineSpec, StreamingPipeline
from mainstem.language.model.queries import Query
from mainstem.language.model.sources import Source
from mainstem.language.model.views import View
from mainstem.language.sql import logical_plan, planner
from mainstem.language.sql.facts import UNREAD, Facts, read
from mainstem.language.sql.logical_plan import Node
from mainstem.language.sql.text import has_watermark


class Graph:
    """Sources, views, dead letters and quarantines of one pipeline, by name.

    If only Spark can read the SQL of a view, the view counts as reading every relation whose name the SQL contains.
    With `certain` it counts as reading nothing.

    Attributes:
        given: the pipeline of which it is the graph, with its trigger beside the queries.
    """

    def __init__(self, pipeline: StreamingPipeline) -> None:
        self.given = pipeline
        spec = pipeline.spec
        self.sources: dict[str, Source] = {source.name: source for source in spec.sources}
        self.dead_letters: dict[str, Source] = {
            source.dead_letters: source for source in spec.sources if source.dead_letters
        }
        self.views: dict[str, View] = {view.name: view for view in spec.views}
        self._plans: dict[str, Node] = {}
        self._reads: dict[str, list[str]] = {}
        self._closures: dict[tuple[str, bool], list[str]] = {}
        self.quarantines: dict[str, View] = {
            view.quarantine: view
            for view in spec.views
            if view.quarantine and view.quarantine not in (*self.sources, *self.dead_letters, *self.views)
        }

    @cached_property
    def inherited(self) -> frozenset[str]:
        """The queries that have the trigger of the pipeline: those of streams that have none of their own."""
        spec = self.given.spec
        if spec.trigger is None:
            return frozenset()
        return frozenset(q.name for q in spec.queries if q.trigger is None and self.streams(q.from_))

    @cached_property
    def pipeline(self) -> StreamingPipeline:
        """The pipeline with its trigger in each query that has it, and no longer beside the queries.

        It is made when it is asked for, because it takes a reading of the SQL, which may be too long to be read.
        """
        return self.given.with_trigger(self.inherited) if self.given.spec.trigger else self.given

    @property
    def spec(self) -> PipelineSpec:
        """The `spec` of `pipeline`."""
        return self.pipeline.spec

    def written_path(self, field: str) -> str:
        """Where the document has a field: `spec.queries[daily].trigger` may be `spec.trigger`."""
        trigger = re.match(r"spec\.queries\[([^\]]+)\]\.trigger\b", field)
        inherits = trigger is not None and trigger[1] in self.inherited
        return f"spec.trigger{field[trigger.end() :]}" if trigger and inherits else field

    def running_only(self, names: Collection[str]) -> "Graph":
        """The graph with these queries running, suspended or not, and all others suspended."""
        return Graph(self.given.running_only(names))

    def with_fields(self, fields: Mapping[str, Any]) -> "Graph":
        """The graph with other values of some fields of `spec`, as a document has them.

        Raises:
            ValidationError: a value is not valid.
        """
        return Graph(self.given.with_fields(fields))

    def with_generations(self, generations: Mapping[str, int]) -> "Graph":
        """The graph with other generations of the named queries' checkpoints."""
        return Graph(self.given.with_generations(generations))

    @cached_property
    def names(self) -> list[str]:
        """Every relation that SQL and queries can read."""
        return [*self.sources, *self.dead_letters, *self.views, *self.quarantines]

    @cached_property
    def facts(self) -> dict[str, Facts]:
        """View -> the certain facts about its SQL; without SQL there are none."""
        return {name: read(view.sql) if view.sql else UNREAD for name, view in self.views.items()}

    def reads(self, relation: str) -> list[str]:
        """The known relations that a relation reads directly, with one entry for each occurrence, in the text's order."""
        if relation not in self._reads:
            self._reads[relation] = self._read_by(relation)
        return self._reads[relation]

    def _read_by(self, relation: str) -> list[str]:
        if relation in self.quarantines:
            return [self.quarantines[relation].name]
        if relation not in self.views:
            return []
        if (certain := self._certain(relation)) is not None:
            return certain
        words = re.findall(r"\w+", (self.views[relation].sql or "").lower())
        known = set(self.names)
        return [name for name in dict.fromkeys(words) if name in known and name != relation]

    def _certain(self, view: str) -> list[str] | None:
        known = set(self.names)
        if self.views[view].sql is None:
            return [name for _, name in self.views[view].inputs if name in known]
        references = self.facts[view].references
        return None if references is None else [ref.name for ref in references if ref.name in known]

    def closure(self, relation: str, *, certain: bool = False) -> list[str]:
        """The relation and all relations that it reads, directly or not, each once; with `certain` only certain ones."""
        if (relation, certain) not in self._closures:
            self._closures[relation, certain] = self._closure(relation, certain=certain)
        return self._closures[relation, certain]

    def _closure(self, relation: str, *, certain: bool) -> list[str]:
        visited: dict[str, None] = {}
        todo = [relation]
        while todo:
            name = todo.pop()
            if name not in visited:
                visited[name] = None
                is_guess = name in self.views and self._certain(name) is None
                todo += [] if certain and is_guess else self.reads(name)
        return list(visited)

    def streams(self, relation: str, *, certain: bool = False) -> bool:
        """Whether the relation reads a streaming source, directly or not."""
        return any(source.streaming for source in self.sources_of(relation, certain=certain))

    def ends(self, query: Query) -> bool | None:
        """Whether the query ends on its own: yes, no, or unknown if only Spark can read its SQL."""
        if (query.trigger and query.trigger.bounded) or not self.streams(query.from_):
            return True
        return False if self.streams(query.from_, certain=True) else None

    def sources_of(self, relation: str, *, certain: bool = False) -> Iterator[Source]:
        """The sources that a relation reads, directly or not, including the sources of dead letters."""
        for name in self.closure(relation, certain=certain):
            if source := self.source_of(name):
                yield source

    def source_of(self, relation: str) -> Source | None:
        """The source that a relation is, or whose malformed records it has; None if it is another relation."""
        return self.sources.get(relation) or self.dead_letters.get(relation)

    def aggregated(self, relation: str) -> bool | None:
        """Whether the relation aggregates a stream: yes, no, or unknown."""
        return self.plan(relation).aggregated

    def plan(self, relation: str) -> Node:
        """The certain parts of the relation's logical plan; only for a graph without cycles."""
        if relation not in self._plans:
            self._plans[relation] = self._planned(relation)
        return self._plans[relation]

    def _planned(self, relation: str) -> Node:
        if relation in self.dead_letters:
            return logical_plan.source(self.dead_letters[relation].streaming, watermark=None)
        if relation in self.sources:
            source = self.sources[relation]
            return logical_plan.source(
                source.streaming, source.watermark.column if source.watermark else None
            )
        if relation in self.quarantines:
            return self._step(self.quarantines[relation])
        view = self.views[relation]
        node = self._step(view)
        return logical_plan.watermarked(node, view.watermark.column, view.name) if view.watermark else node

    def _step(self, view: View) -> Node:
        if view.deduplicate:
            return logical_plan.deduplicated(self.plan(view.deduplicate.from_), view.deduplicate, view.name)
        if view.state:
            return logical_plan.stateful(self.plan(view.state.from_), view.state, view.name)
        if view.python:
            inputs = [self.plan(name) for name in view.python.inputs]
            return logical_plan.unknown(*inputs, streams=None if self.streams(view.name) else False)
        facts = self.facts[view.name]
        if facts.tree is not None and facts.references is not None:
            return planner.plan(facts.tree, view.name, self._relation)
        return logical_plan.unknown(streams=None if self.streams(view.name) else False)

    def _relation(self, name: str) -> Node | None:
        return self.plan(name) if name in self.names else None

    def watermarked(self, relation: str) -> bool:
        """Whether a source or view that the relation reads has a watermark, or a SQL text or Python code may set one."""
        if any(source.watermark is not None for source in self.sources_of(relation)):
            return True
        views = [self.views[name] for name in self.closure(relation) if name in self.views]
        return any(
            view.watermark is not None or view.python is not None or has_watermark(view.sql or "")
            for view in views
        )

    def cycle(self) -> list[str] | None:
        """A chain of views that certainly leads back to its start, or None."""
        done: set[str] = set()
        for start in self.views:
            if chain := self._cycle_from(start, (), done):
                return chain if chain[0] in self.views else [*chain[1:], chain[1]]
        return None

    def _cycle_from(self, name: str, chain: tuple[str, ...], done: set[str]) -> list[str] | None:
        if name in chain:
            return [*chain[chain.index(name) :], name]
        if name in self.quarantines:
            return self._cycle_from(self.quarantines[name].name, (*chain, name), done)
        if name in done or name not in self.views or name in self.sources:
            return None
        for below in dict.fromkeys(self._certain(name) or ()):
            if cycle := self._cycle_from(below, (*chain, name), done):
                return cycle
        done.add(name)
        return None
