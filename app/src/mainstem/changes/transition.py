"""Decides which queries of a running driver a new document touches; pure.

A query is kept only if it, and every source and view that it reads, is written as before. So a text that only looks
different restarts its query, which continues from its checkpoint.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from mainstem.changes.comparison import compare
from mainstem.changes.deployment import driver_changes
from mainstem.changes.verdict import QueryVerdict, Verdict
from mainstem.language.analysis.folders import normal
from mainstem.language.analysis.graph import Graph
from mainstem.language.base import Model
from mainstem.language.model.queries import Pool, Query
from mainstem.language.requirements import required_connections


LIVE_FIELDS: Final = ("spec.restart", "spec.drain", "spec.restartNonce")
"""Fields that a running driver takes over without the restart of a query, or that do not concern it."""


class Step(StrEnum):
    """What happens to one query."""

    KEEP = "keep"
    """It runs on; a new pool or restart budget takes effect at once."""
    START = "start"
    """It is new, or was suspended: it starts."""
    REPLACE = "replace"
    """It stops at a batch's end, and starts with its new plan on the same checkpoint."""
    RETRY = "retry"
    """It has failed permanently: it starts again as it is."""
    SUSPEND = "suspend"
    """It stops at a batch's end, and stays in the document."""
    REMOVE = "remove"
    """It stops at a batch's end, and leaves the document."""


@dataclass(frozen=True)
class Transition:
    """The way from the running document to the wanted one.

    Attributes:
        steps: query -> its step; the queries of the wanted document in its order, then the removed ones.
        verdict: the comparison of the two documents.
        driver: why only a new driver can run the wanted document, one field or noun each; empty if this one can.
        continuing: the queries that run, on the checkpoint that the wanted document names.
        moved: the queries that get a plan with a checkpoint or a folder of files that they have not written before.
    """

    steps: Mapping[str, Step]
    verdict: Verdict
    driver: tuple[str, ...] = ()
    continuing: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()

    @property
    def kept(self) -> frozenset[str]:
        """The queries that run on."""
        return frozenset(name for name, step in self.steps.items() if step is Step.KEEP)

    @property
    def begun(self) -> frozenset[str]:
        """The queries that begin on a checkpoint on which the running document has not run them."""
        return frozenset(name for name in self.built if name not in self.continuing)

    @property
    def built(self) -> frozenset[str]:
        """The queries that get a new plan."""
        return frozenset(name for name, step in self.steps.items() if step in (Step.START, Step.REPLACE))

    def retrying(self, failed: Collection[str], wanted: Graph) -> "Transition":
        """The same way, with another try for the failed queries that it does not touch, unless they end on their own.

        The start of a failed query can fail alone, so its folders do not matter.
        """
        again = {
            query.name
            for query in wanted.spec.queries
            if query.name in failed
            and self.steps[query.name] is Step.KEEP
            and not query.suspend
            and wanted.ends(query) is False
        }
        steps = {name: Step.RETRY if name in again else step for name, step in self.steps.items()}
        return replace(self, steps=MappingProxyType(steps), moved=self.moved.difference(failed))


def continued(running: Graph, wanted: Graph) -> Graph:
    """The wanted document on the checkpoints in use: with `checkpoint.onChange: newGeneration` the driver has chosen a generation."""
    used = {query.checkpoint_id: query.checkpoint.generation for query in running.spec.queries}
    chosen = {
        query.name: used[query.checkpoint_id]
        for query in wanted.spec.queries
        if query.checkpoint.on_change == "newGeneration"
        and used.get(query.checkpoint_id, 0) > query.checkpoint.generation
    }
    return wanted.with_generations(chosen) if chosen else wanted


def transition(running: Graph, wanted: Graph, working: str = "") -> Transition:
    """The way from one document to another one of the same pipeline.

    Args:
        running: the graph of the first document.
        wanted: the graph of the other one.
        working: the folder in which relative paths begin; empty if it is not known.
    """
    verdict = compare(running, wanted, working=working)
    old = {query.name: query for query in running.spec.queries}
    steps = {query.name: _step(running, wanted, old.get(query.name), query) for query in wanted.spec.queries}
    steps |= {name: Step.REMOVE for name in old if name not in steps}
    causes = (
        *_driver(running, wanted),
        *_moved(running, wanted),
        *renewed(wanted, [each.query for each in verdict.refused if not _refused_by_sink(each)]),
        *_ending(wanted, steps),
        *_maintained(running, wanted),
    )
    continuing = (
        query.name
        for query in wanted.spec.queries
        if query.name in old
        and not old[query.name].suspend
        and old[query.name].checkpoint_path == query.checkpoint_path
    )
    way = Transition(MappingProxyType(steps), verdict, causes, frozenset(continuing))
    folders = {name: _folders(query) for name, query in old.items()}
    moved = (
        query.name
        for query in wanted.spec.queries
        if query.name in way.begun or (query.name in way.built and not _folders(query) <= folders[query.name])
    )
    return replace(way, moved=frozenset(moved))


def _refused_by_sink(verdict: QueryVerdict) -> bool:
    """Whether an empty checkpoint does not help."""
    return any(change.of_sink for change in verdict.refusals)


def _folders(query: Query) -> set[str]:
    return {normal(sink.files.path) for sink in query.to if sink.files}


def renewed(wanted: Graph, refused: Collection[str]) -> list[str]:
    """Why only a new driver can start these queries, whose checkpoints do not fit: it chooses their next generation."""
    choosing = {
        query.name
        for query in wanted.spec.queries
        if not query.suspend and query.checkpoint.on_change == "newGeneration"
    }
    return [f"the empty checkpoint of the query {name}" for name in refused if name in choosing]


def _step(running: Graph, wanted: Graph, was: Query | None, now: Query) -> Step:
    if now.suspend:
        return Step.KEEP if was is not None and was.suspend else Step.SUSPEND
    if was is None or was.suspend:
        return Step.START
    return Step.KEEP if _written(running, was) == _written(wanted, now) else Step.REPLACE


def _written(graph: Graph, query: Query) -> tuple[Query, dict[str, Model]]:
    """All that decides what a query computes and writes; its pool does not."""
    parts: dict[str, Model] = {}
    for name in graph.closure(query.from_):
        if part := graph.views.get(name) or graph.quarantines.get(name):
            parts[name] = part
        elif source := graph.source_of(name):
            parts[name] = source
    return query.model_copy(update={"pool": Pool(), "suspend": False}), parts


def _driver(running: Graph, wanted: Graph) -> list[str]:
    if running.pipeline.name != wanted.pipeline.name:
        return ["metadata.name"]
    paths = [path for path in driver_changes(running.spec, wanted.spec) if not path.startswith(LIVE_FIELDS)]
    # The driver reads the secrets of the connections in use once, when it starts.
    used = set(required_connections(running))
    return [
        *paths,
        *(
            f"the connection {name}, which was not in use"
            for name in required_connections(wanted)
            if name not in used
        ),
    ]


def _moved(running: Graph, wanted: Graph) -> list[str]:
    """Checkpoints that move to a query of another name: it must not start before the old one has stopped."""
    owners = {query.checkpoint_path: query.name for query in running.spec.queries}
    return [
        f"the move of the checkpoint {query.checkpoint_path} from query {owners[query.checkpoint_path]} to {query.name}"
        for query in wanted.spec.queries
        if owners.get(query.checkpoint_path, query.name) != query.name
    ]


def _ending(wanted: Graph, steps: Mapping[str, Step]) -> list[str]:
    """Changed queries that end on their own: the run of the driver has counted them already."""
    return [
        f"the query {query.name}, which ends on its own"
        for query in wanted.spec.queries
        if steps[query.name] is Step.REPLACE and wanted.ends(query)
    ]


def _maintained(running: Graph, wanted: Graph) -> list[str]:
    """Tables whose maintenance begins, ends or changes: the driver reads their list once, when it starts."""
    old, new = _tables(running), _tables(wanted)
    paths = dict.fromkeys([*old, *new])
    return [f"the maintenance of {path}" for path in paths if old.get(path) != new.get(path)]


def _tables(graph: Graph) -> dict[str, Model]:
    """Path of a maintained table -> its maintenance."""
    return {
        sink.delta.path: sink.delta.maintenance
        for query in graph.spec.queries
        if not query.suspend
        for sink in query.to
        if sink.delta and sink.delta.maintenance
    }
