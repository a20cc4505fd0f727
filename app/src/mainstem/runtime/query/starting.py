"""Starts a query: builds it, prepares its checkpoint and folders, and starts it in its pool."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql.streaming.readwriter import DataStreamWriter

from mainstem.dataframes import query as build
from mainstem.dataframes.batch_query import BatchQuery
from mainstem.dataframes.views.builder import Guard
from mainstem.errors import Fenced, NotReady, Problem, SpecInvalid
from mainstem.filesystem import Directory, newest
from mainstem.language.analysis.graph import Graph
from mainstem.language.analysis.occurrences import source_occurrences
from mainstem.language.loading.problems import Locate, without_text
from mainstem.language.model.queries import Query
from mainstem.runtime.checkpoint import (
    checkpoint_compatibility,
    damage,
    new_sink_logs,
    orphan_files,
    sink_logs,
)
from mainstem.runtime.checkpoint.batch_journal import DONE, PLANNED, BatchJournal
from mainstem.runtime.checkpoint.orphan_files import Suspects
from mainstem.runtime.checkpoint.ownership import AnotherRun, Ownership
from mainstem.runtime.clock import Clock
from mainstem.runtime.failures import damaged_checkpoints
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.preflight import core_check
from mainstem.runtime.progress.listener import Progress
from mainstem.runtime.query.analysis import Analysis
from mainstem.runtime.query.batch_run import BatchRun
from mainstem.runtime.query.execution import Execution, Stream
from mainstem.runtime.query.supervised_query import SupervisedQuery


BuiltQuery: TypeAlias = DataStreamWriter | BatchQuery
"""A query that is built: one that streams, or one that runs once."""


class Starter:
    """Starts queries of one document; raises Spark's own errors.

    Args:
        graph: the graph of the document.
        ownership: takes the checkpoints.
        clock: the time of the run.
        on_progress: takes the progress of a query that runs once, in the format of Spark's streams.
        run: the name of the run that this start continues; empty if each start is its own run.
        suspect: takes query, folder, and the files in it that an unfinished batch may have left.
        locate: makes a problem of a place in the document.

    Attributes:
        clock: as above.
    """

    def __init__(
        self,
        graph: Graph,
        ownership: Ownership,
        clock: Clock,
        on_progress: Callable[[Progress], None] = lambda _: None,
        run: str = "",
        suspect: Callable[[str, str, Suspects], None] = lambda *_: None,
        locate: Locate = without_text,
    ) -> None:
        self._locate = locate
        self._graph = graph
        self._ownership = ownership
        self.clock = clock
        self._on_progress = on_progress
        self._run = run
        self._suspect = suspect

    def built(self, supervised: SupervisedQuery, guard: Guard | None = None) -> BuiltQuery:
        """Build the query's writer and DataFrames again; records which streams the plan reads.

        `guard` is the context in which each view is built; by default it names a view that Spark refuses.
        """
        guard = guard or Analysis(self._graph, self._locate).part
        query = build.build(supervised.session, self._graph, supervised.query, guard)
        if not isinstance(query, BatchQuery):
            supervised.occurrences = {
                name: supervised.occurrences.get(name, name) for name in build.occurrences(query)
            }
        return query

    def checked(self, supervised: SupervisedQuery, guard: Guard) -> BuiltQuery:
        """Build the query and let Spark check that it can start."""
        query = self.built(supervised, guard)
        if not isinstance(query, BatchQuery):
            build.check_stream(query._df, supervised.query)  # noqa: SLF001
        return query

    def claim(self, queries: Sequence[SupervisedQuery]) -> None:
        """Take the checkpoints of all queries, or none.

        Raises:
            NotReady: `CheckpointInUse`: another run of this pipeline uses one of them.
            Fenced: a newer driver of this pipeline has taken one of them.
        """
        self._ownership.claim([(each.session, build.checkpoint(self._graph, each.query)) for each in queries])

    def prepare(self, supervised: SupervisedQuery, built: BuiltQuery) -> None:
        """Take the checkpoint, check its state layout and the sinks' folders, and check the cores for tasks that never
        end.

        Raises:
            NotReady: another driver uses the checkpoint, a sink's folder belongs to another query, the checkpoint or a
                sink's log is damaged, the checkpoint has another state layout, or cores are missing.
        """
        if supervised.resident:
            core_check.check(supervised.session, self._graph)
        checkpoint, logs_of_batches = build.checkpoint(self._graph, supervised.query), ("offsets", "commits")
        # Take the checkpoint before listing files: a driver that still owns it may still write files.
        self._ownership.take(supervised.session, checkpoint)
        if isinstance(built, BatchQuery):
            supervised.journal = BatchJournal(supervised.session, checkpoint, self._run)
            checkpoint, logs_of_batches = supervised.journal.path, (PLANNED, DONE)
        else:
            orphan_files.clear_incomplete_first_batch(supervised.session, checkpoint)
            damage.refuse(supervised.session, checkpoint)
            checkpoint_compatibility.refuse_change(supervised.session, checkpoint, supervised.query.state)
        for sink in supervised.query.to:
            if sink.files is None:
                continue
            folder = sink.files.path
            sink_logs.refuse(
                supervised.session,
                folder,
                newest(Directory(supervised.session, checkpoint) / logs_of_batches[1]),
            )
            suspects = new_sink_logs.prepare(
                supervised.session, folder, checkpoint, sink.choice(), logs_of_batches
            )
            self._suspect(supervised.query.name, folder, suspects)

    def look(self, supervised: SupervisedQuery, built: BuiltQuery) -> None:
        """The checks of `prepare` that neither take nor change anything, also while another run of the pipeline uses the checkpoint.
        That run may write while they read, so they do not look for damage.

        Raises:
            NotReady: another pipeline owns the checkpoint, it has another state layout, a sink's folder belongs to another query,
                or cores are missing.
        """
        if supervised.resident:
            core_check.check(supervised.session, self._graph)
        checkpoint = build.checkpoint(self._graph, supervised.query)
        with suppress(AnotherRun, Fenced):
            self._ownership.look(supervised.session, checkpoint)
        if not isinstance(built, BatchQuery):
            checkpoint_compatibility.refuse_change(supervised.session, checkpoint, supervised.query.state)
        self.refuse_taken(supervised, built)

    def refuse_taken(self, supervised: SupervisedQuery, built: BuiltQuery) -> None:
        """Refuse a query's folders that have data of another checkpoint, before anything stops for its start.

        Raises:
            NotReady: `SinkFolderTaken`.
        """
        session, query = supervised.session, supervised.query
        checkpoint = build.checkpoint(self._graph, query)
        if isinstance(built, BatchQuery):
            plans = Directory(session, BatchJournal(session, checkpoint).path) / PLANNED
        else:
            plans = Directory(session, checkpoint) / "offsets"
        for sink in query.to:
            if sink.files:
                subject = f"queries[{query.name}].to[{sink.name}]"
                orphan_files.refuse_foreign(session, sink.files.path, plans, sink.choice(), subject)

    def started(self, supervised: SupervisedQuery, built: BuiltQuery) -> Execution:
        """Start the built query."""
        if not isinstance(built, BatchQuery):
            stream = build.start(supervised.session, built, supervised.query)
            return Stream(stream, self.clock, resident=supervised.resident)
        if supervised.journal is None:
            raise ValueError(f"{supervised.query.name} was not prepared")
        supervised.occurrences = source_occurrences(self._graph, supervised.query, bounded=True)
        return BatchRun(
            supervised.session,
            built,
            supervised.journal,
            lambda text: self._on_progress(Progress(text)),
            self.clock,
        )

    def first(self, query: Query, act: Callable[[], Any]) -> Any:
        """Do a step of the first start; an error there ends the run, in the document's terms.

        Raises:
            SpecInvalid: Spark's analysis refuses the query; with Spark's own condition as reason.
            NotReady: something outside the document prevents the start.
        """
        try:
            return act()
        except Py4JNetworkError:
            raise
        except (PySparkException, Py4JError) as error:
            failure = damaged_checkpoints.explained(classify(error), self._graph, query)
            if not isinstance(error, (AnalysisException, ParseException)):
                message = f"the query {query.name!r} cannot start: {failure.message}"
                transient = not failure.permanent
                raise NotReady(message, reason=failure.reason, transient=transient) from error
            path = f"spec.queries[{self._graph.spec.queries.index(query)}]"
            message = f"Spark refuses the query {query.name!r}: {failure.message}"
            raise SpecInvalid([Problem(0, 0, path, message, failure.reason)]) from error
