"""Makes the normal form of a query: its sources, views and steps in one, as Spark's plan has them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from sqlglot import exp

from mainstem.changes.expressions import Expression, Functions, Unsupported
from mainstem.changes.relations import (
    Branch,
    Entry,
    EventTime,
    Keys,
    NormalForm,
    Relation,
    Row,
    Step,
    StepKind,
    digest,
    relation_id,
)
from mainstem.changes.selects import Query, filtered
from mainstem.changes.sides import step_id
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.relation_columns import ASIDE, DEAD_LETTERS, RelationColumns
from mainstem.language.analysis.source_columns import column_types, ddl_types
from mainstem.language.model.sources import Source, Watermark
from mainstem.language.model.views import View
from mainstem.language.sql.parser import parse, spelling


_MOST_RELATIONS: Final = 512
"""Relations of one query, each as often as it is read; the comparison of a larger query finds nothing certain."""
_WORD: Final = re.compile(r"\w+")


def normal_form(graph: Graph, relation: str) -> NormalForm:
    """The normal form of what a query reads."""
    maker = _Maker(graph)
    try:
        rows = maker.relation(relation)
    except (Unsupported, RecursionError):
        maker = _Maker(graph)
        rows = maker.opaque(
            relation, [view_text(graph, name) for name in sorted(graph.closure(relation))], ()
        )
    return NormalForm(rows, tuple(maker.steps), tuple(maker.watermarks))


def view_text(graph: Graph, name: str) -> str:
    """All that the document has about a source or view."""
    item = graph.views.get(name) or graph.sources.get(name)
    return f"{name}={item.model_dump_json()}" if item else name


class _Maker:
    def __init__(self, graph: Graph) -> None:
        self.steps: list[Step] = []
        self.watermarks: list[EventTime] = []
        self._graph = graph
        self._columns = RelationColumns(graph)
        self._left = _MOST_RELATIONS
        functions = graph.spec.functions
        self._functions = Functions(
            {function.name: digest([function.model_dump_json()])[:8] for function in functions},
            frozenset(function.name for function in functions if function.aggregates),
        )

    def relation(self, name: str) -> Relation:
        """The rows of a source or view; adds the steps that keep state, again for each time that it is read."""
        self._left -= 1
        if self._left < 0:
            raise Unsupported(name)
        graph = self._graph
        if name in graph.sources:
            source = graph.sources[name]
            return self._watermarked(self._source(name, source), f"spec.sources[{name}]", source.watermark)
        if name in graph.dead_letters:
            return self._source(name, graph.dead_letters[name])
        if name in graph.quarantines:
            return self._quarantine(graph.quarantines[name])
        view = graph.views[name]
        return self._watermarked(
            self._expected(view, self._view(view)), f"spec.views[{name}]", view.watermark
        )

    def _source(self, name: str, source: Source) -> Relation:
        known = self._columns.columns_of(name)
        by_case = bool(source.decoding and source.decoding.json_)  # an object may have both `k` and `K`
        types = column_types(source) if name == source.name else dict.fromkeys(DEAD_LETTERS, "STRING")
        columns = {
            column.lower(): Expression(
                f"{name}.{column if by_case else column.lower()}",
                column,
                frozenset({(name, column.lower())}),
                types.get(column.lower()),
                column,
            )
            for column in known.names
        }
        leaf = frozenset({name})
        streams = leaf if source.streaming else frozenset()
        return (Branch(columns, (name,) if known.open else (), streams, (), leaf),)

    def _view(self, view: View) -> Relation:
        if view.sql is not None:
            steps = len(self.steps), len(self.watermarks)
            try:
                return self._sql(view)
            except (Unsupported, RecursionError):
                del self.steps[steps[0] :], self.watermarks[steps[1] :]
                return self.opaque(view.name, [spelling(view.sql)], self._graph.reads(view.name))
        if view.deduplicate:
            return self._deduplicated(view)
        if view.state:
            return self._stateful(view)
        return self.opaque(view.name, [view_text(self._graph, view.name)], self._graph.reads(view.name))

    def _sql(self, view: View) -> Relation:
        facts = self._graph.facts[view.name]
        if facts.tree is None or facts.references is None:
            raise Unsupported(view.name)
        query = Query(self._known, self.steps, f"spec.views[{view.name}].sql", self._functions)
        return query.form(facts.tree)

    def _known(self, name: str) -> Relation | None:
        return self.relation(name) if name in self._graph.names else None

    def opaque(self, name: str, texts: Iterable[str], reads: Iterable[str]) -> Relation:
        """A relation that the comparison only knows to be equal or different, with everything that it reads."""
        texts, steps = list(texts), len(self.steps)
        below = [relation_id(self.relation(each)) for each in reads]
        streams = self._graph.streams(name)
        state = [repr(step_id(step)) for step in self.steps[steps:]]
        leaf = f"?{digest([*texts, *self._unwritten(name, texts), *below, *state])}"
        if streams:
            path = f"spec.views[{name}]" if name in self._graph.views else "spec"
            self.steps.append(Step(leaf, StepKind.UNKNOWN, path))
        known = self._columns.columns_of(name)
        columns = {
            column.lower(): Expression(
                f"{leaf}.{column.lower()}", column, frozenset({(leaf, column.lower())})
            )
            for column in known.names
        }
        leaves = frozenset({leaf})
        return (
            Branch(columns, (leaf,) if known.open else (), leaves if streams else frozenset(), (), leaves),
        )

    def _unwritten(self, name: str, texts: list[str]) -> Iterator[str]:
        """What decides about the rows of a relation, and stands neither in its texts nor in the ids of what it reads: the
        functions that the texts may call, and the types of columns.
        """
        words = {word.lower() for text in texts for word in _WORD.findall(text)}
        yield from (
            f"{function}={code}" for function, code in self._functions.codes.items() if function in words
        )
        for each in sorted(self._graph.closure(name) & self._graph.sources.keys()):
            yield f"{each}={sorted(column_types(self._graph.sources[each]).items())}"

    def _deduplicated(self, view: View) -> Relation:
        step = view.deduplicate
        if step is None:
            raise Unsupported(view.name)
        below = self.relation(step.from_)
        keys = tuple(_keys(branch, step.columns) for branch in below)
        if any(branch.leaves for branch in below):
            inputs = Keys(tuple(b.leaves for b in below), keys, tuple(b.filters for b in below))
            settings = {"withinWatermark": str(step.within_watermark)}
            self._add(StepKind.DEDUPLICATE, f"spec.views[{view.name}].deduplicate", inputs, settings)
        return below

    def _stateful(self, view: View) -> Relation:
        step = view.state
        if step is None:
            raise Unsupported(view.name)
        below = self.relation(step.from_)
        inputs = Keys(
            tuple(branch.leaves for branch in below),
            tuple(_keys(branch, step.keys) for branch in below),
            tuple(branch.filters for branch in below),
        )
        settings = step.model_dump(mode="json", by_alias=True, exclude={"from_", "keys"})
        leaf = self._add(
            StepKind.STATE,
            f"spec.views[{view.name}].state",
            inputs,
            {key: "" if value is None else str(value) for key, value in settings.items()},
        )
        columns = {
            name.lower(): Expression(f"{leaf}.{name.lower()}", name, frozenset({(leaf, name.lower())}), kind)
            for name, kind in (ddl_types(step.schema_) or {}).items()
        }
        return (Branch(columns, () if columns else (leaf,), frozenset({leaf}), (), frozenset({leaf})),)

    def _add(self, kind: StepKind, path: str, inputs: Keys, settings: dict[str, str]) -> str:
        name = f"#{len(self.steps)}"
        self.steps.append(Step(name, kind, path, (inputs,), settings=settings))
        return name

    def _quarantine(self, view: View) -> Relation:
        below = self._view(view)
        texts = " ".join(each.model_dump_json() for each in view.expectations)
        mark = Expression(f"quarantine({texts})", "quarantine")
        added = {name: Expression(f"quarantine.{name}({texts})", name) for name in ASIDE}
        return tuple(replace(branch, columns={**branch.columns, **added}) for branch in filtered(below, mark))

    def _expected(self, view: View, relation: Relation) -> Relation:
        """The rows that the view's expectations leave."""
        query = Query(self._known, self.steps, f"spec.views[{view.name}].expectations", self._functions)
        for each in view.expectations:
            if each.on_violation in ("drop", "quarantine"):
                relation = tuple(_meeting(query, branch, each.expect) for branch in relation)
        return relation

    def _watermarked(self, relation: Relation, path: str, watermark: Watermark | None) -> Relation:
        if watermark is None:
            return relation
        columns = frozenset(
            each.id for branch in relation if (each := branch.column(watermark.column.lower())) is not None
        )
        leaves = frozenset(leaf for branch in relation for leaf in branch.leaves)
        self.watermarks.append(EventTime(f"{path}.watermark", columns, leaves, watermark.delay))
        return relation


def _keys(branch: Branch, columns: tuple[str, ...] | None) -> tuple[Expression, ...]:
    if columns is None:
        more = (Expression(f"{leaf}.*", "*", frozenset({(leaf, "*")})) for leaf in branch.opens)
        return (*branch.columns.values(), *more)
    keys = [branch.column(name.lower()) for name in columns]
    return tuple(
        key or Expression(f"?.{name.lower()}", name) for key, name in zip(keys, columns, strict=True)
    )


def _meeting(query: Query, branch: Branch, predicate: str) -> Branch:
    """The rows that meet a predicate of the document."""
    try:
        [tree] = parse(f"SELECT 1 WHERE ({predicate}\n)")
        condition: exp.Expr = tree.args["where"].this
        added = query.canonical(Row((Entry("", branch),))).expression(condition)
    except Exception:  # noqa: BLE001 - only Spark can read the predicate
        added = Expression(f"predicate({' '.join(predicate.split())})", predicate)
    return replace(branch, filters=(*branch.filters, added))
