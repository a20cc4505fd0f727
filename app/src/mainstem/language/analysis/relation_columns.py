"""Finds the columns of a document's relations that are known without Spark."""

from typing import Final

from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.source_columns import column_names, ddl_columns
from mainstem.language.model.sources import Source
from mainstem.language.model.views import View
from mainstem.language.sql.columns import Resolver, UnresolvedName
from mainstem.language.sql.scope import UNKNOWN, ColumnSet, Relation, star


DEAD_LETTERS: Final = ("raw", "topic", "partition", "offset", "file", "error", "time")
"""Columns of dead letters."""
ASIDE: Final = ("violated", "time")
"""Columns of a quarantine in addition to those of its view."""


class RelationColumns:
    """The columns of relations, each computed once.

    Args:
        graph: a graph without cycles.

    Attributes:
        faults: view -> names in its SQL that Spark certainly rejects; only for views whose columns were computed.
    """

    def __init__(self, graph: Graph) -> None:
        self.faults: dict[str, list[UnresolvedName]] = {}
        self._graph = graph
        self._known: dict[str, ColumnSet] = {}

    def columns_of(self, relation: str) -> ColumnSet:
        """The columns of a source, the dead letters of a source, a view, or the quarantine of a view."""
        if relation not in self._known:
            self._known[relation] = (
                UNKNOWN  # in case that a text which only Spark can read leads back to itself
            )
            self._known[relation] = self._columns(relation)
        return self._known[relation]

    def _columns(self, relation: str) -> ColumnSet:
        graph = self._graph
        if relation in graph.sources:
            return source_columns(graph.sources[relation])
        if relation in graph.dead_letters:
            return ColumnSet(DEAD_LETTERS, open=False)
        if relation in graph.quarantines:
            kept = self.columns_of(graph.quarantines[relation].name)
            return star([Relation("", kept), Relation("", ColumnSet(ASIDE, open=False))])
        return self._view(graph.views[relation]) if relation in graph.views else UNKNOWN

    def _view(self, view: View) -> ColumnSet:
        if view.deduplicate:
            return self.columns_of(view.deduplicate.from_)
        if view.state:
            names = ddl_columns(view.state.schema_)
            return UNKNOWN if names is None else ColumnSet(tuple(names), open=False)
        facts = self._graph.facts[view.name]
        if facts.tree is None or facts.references is None:
            return UNKNOWN
        resolver = Resolver(self.columns_of)
        columns = resolver.columns(facts.tree)
        self.faults[view.name] = resolver.faults
        return columns


def source_columns(source: Source) -> ColumnSet:
    """The columns of a source's relation. Files have further columns if their folders have names like `day=1`."""
    names = column_names(source)
    declared = source.connector.columns()
    if names is None:
        return UNKNOWN
    if source.decode:  # decode without records: a rule rejects the source
        return ColumnSet(tuple(names), open=False, flat=True) if source.holds_records else UNKNOWN
    return UNKNOWN if declared is None else ColumnSet(tuple(names), declared.open, declared.flat)
