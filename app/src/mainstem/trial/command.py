"""`mainstem trial`: copies the checkpoints, runs both documents on the copies, and compares what they wrote."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem import reasons
from mainstem.changes.transition import continued
from mainstem.errors import MainstemError, NotReady, SpecInvalid
from mainstem.language.document import Document
from mainstem.runtime.failures.classification import classify
from mainstem.runtime.local_sessions import Opener
from mainstem.runtime.preflight import checks, readiness
from mainstem.runtime.spark import scratch
from mainstem.trial import forks, sessions, tables
from mainstem.trial.documents import without_effects
from mainstem.trial.outcome import Outcome, QueryTrial, SideResult
from mainstem.trial.replay import Side, replay
from mainstem.trial.selection import Candidate, chosen


@dataclass(frozen=True)
class Prepared:
    """A query whose checkpoint is copied for both documents."""

    candidate: Candidate
    plans: forks.Plans
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        """The query's name in the new document."""
        return self.candidate.new.name


@dataclass(frozen=True)
class Failed:
    """Why a query of one document has no result."""

    message: str
    reason: str


def run(
    before: Document,
    after: Document,
    opened: Opener,
    *,
    batches: int,
    names: Collection[str] = (),
    keep: Path | None = None,
) -> list[QueryTrial]:
    """Try the new document on the last batches of the old one.

    Args:
        before: the old document, which runs.
        after: the new document.
        opened: opens the session of a document.
        batches: the number of batches of each query.
        names: only these queries of the new document; all if empty.
        keep: an empty folder that keeps the copies and the rows; None for a temporary folder.

    Raises:
        NotReady: Spark does not start, or no server answers.
    """
    generations = forks.used_generations(before.graph)
    before = before.with_generations(generations) if generations else before
    after = replace(after, graph=continued(before.graph, after.graph))
    selected = chosen(before.graph, after.graph, names)
    folder: AbstractContextManager[Path] = scratch.folder() if keep is None else nullcontext(keep)
    with folder as work:
        prepared = [
            _prepared(before, each, batches, work) if isinstance(each, Candidate) else each
            for each in selected
        ]
        ready = [each for each in prepared if isinstance(each, Prepared)]
        tried = _Trial(before, after, ready, work).results(opened) if ready else {}
    return [tried[each.name] if isinstance(each, Prepared) else each for each in prepared]


def _checkpoints(work: Path, side: str) -> Path:
    return work / side / "checkpoints"


def _prepared(before: Document, candidate: Candidate, batches: int, work: Path) -> Prepared | QueryTrial:
    source = forks.checkpoint_of(before.graph, candidate.old)
    old, new = (
        _checkpoints(work, side) / query.checkpoint_path
        for side, query in (("old", candidate.old), ("new", candidate.new))
    )
    try:
        plans = forks.fork(source, batches, (old, new))
    except NotReady as error:
        name = candidate.new.name
        if error.reason == reasons.CHECKPOINT_NOT_FOUND:
            message = f"the query has no batch to compare yet: {error.message}"
            return QueryTrial(name, Outcome.NOT_COMPARED, message, error.reason)
        return QueryTrial(name, Outcome.NOT_READY, error.text, error.reason)
    notes = (*candidate.notes, *forks.note_of_record(source, before.graph, candidate.old))
    return Prepared(candidate, plans, notes)


class _Trial:
    """Both documents, one after the other, on the copies of the checkpoints."""

    def __init__(self, before: Document, after: Document, ready: list[Prepared], work: Path) -> None:
        self._ready = ready
        self._old, self._new = (
            Side(
                name,
                document,
                without_effects(document.graph, names, _checkpoints(work, name)),
                work / name / "rows",
            )
            for document, names, name in (
                (before, [each.candidate.old.name for each in ready], "old"),
                (after, [each.candidate.new.name for each in ready], "new"),
            )
        )

    def results(self, opened: Opener) -> dict[str, QueryTrial]:
        """Query of the new document -> its trial."""
        old, new = self._old, self._new
        shared = sessions.needs(old.document, old.graph) == sessions.needs(new.document, new.graph)
        checks.check_servers(old.graph)
        with opened(old.document, old.graph) as spark:
            control = self._side(spark, old, lambda each: each.candidate.old.name)
            if shared:
                return self._compared(spark, control)
        checks.check_servers(new.graph)
        with opened(new.document, new.graph) as spark:
            return self._compared(spark, control)

    def _compared(
        self, spark: SparkSession, control: dict[str, SideResult | Failed]
    ) -> dict[str, QueryTrial]:
        tried = self._side(spark, self._new, lambda each: each.name)
        return {
            each.name: self._trial(spark, each, control[each.name], tried[each.name]) for each in self._ready
        }

    def _side(
        self, spark: SparkSession, side: Side, name: Callable[[Prepared], str]
    ) -> dict[str, SideResult | Failed]:
        unready = readiness.before_session(side.graph)
        results: dict[str, SideResult | Failed] = {}
        for each in self._ready:
            query = name(each)
            error = unready.get(query)
            results[each.name] = (
                _failed(error, side.document) if error else _replayed(spark, side, query, each)
            )
        return results

    def _trial(
        self, spark: SparkSession, each: Prepared, old: SideResult | Failed, new: SideResult | Failed
    ) -> QueryTrial:
        trial = QueryTrial(each.name, Outcome.EQUAL, batches=each.plans.batches, notes=each.notes)
        if isinstance(old, Failed):
            message = f"the old document failed in the trial too: {old.message}"
            return replace(trial, outcome=Outcome.NOT_READY, message=message, reason=old.reason)
        if isinstance(new, Failed):
            return replace(trial, outcome=Outcome.FAILED, message=new.message, reason=new.reason, old=old)
        query = each.candidate.new
        last = each.plans.base + len(each.plans.batches) if query.output_mode == "complete" else None
        rows = tables.difference(
            spark.read.parquet(str(self._old.table(each.candidate.old))),
            spark.read.parquet(str(self._new.table(query))),
            (old.columns, new.columns),
            tables.keys_of(query),
            last=last,
        )
        outcome = Outcome.EQUAL if rows.is_equal else Outcome.DIFFERS
        return replace(trial, outcome=outcome, old=old, new=new, difference=rows)


def _replayed(spark: SparkSession, side: Side, query: str, each: Prepared) -> SideResult | Failed:
    sequence = tables.keys_of(each.candidate.new).sequence
    try:
        return replay(spark, side, query, each.plans, sequence=sequence)
    except Py4JNetworkError:
        raise
    except (MainstemError, PySparkException, Py4JError) as error:
        return _failed(error, side.document)


def _failed(error: Exception, document: Document) -> Failed:
    if isinstance(error, SpecInvalid):
        problem = document.located(error).problems[0]
        return Failed(problem.render(document.file).removesuffix(f" [{problem.reason}]"), problem.reason)
    failure = classify(error)
    return Failed(failure.message, failure.reason)
