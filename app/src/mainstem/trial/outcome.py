"""The result of a trial: for each query what both documents wrote, and how the rows differ."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any, Final

from mainstem.reasons import Exit


class Outcome(StrEnum):
    """The outcome of one query."""

    EQUAL = "equal"
    """Both documents wrote the same rows with the same columns."""
    DIFFERS = "differs"
    """Rows or columns differ."""
    FAILED = "failed"
    """The query of the new document failed, and that of the old one did not."""
    REFUSED = "refused"
    """The query of the new document must not start on its checkpoint."""
    NOT_READY = "notReady"
    """Something that the trial needs is missing."""
    NOT_COMPARED = "notCompared"
    """The query has nothing to compare, for example because it is new."""


COMPARED: Final = (Outcome.EQUAL, Outcome.DIFFERS, Outcome.FAILED)


@dataclass(frozen=True)
class SideResult:
    """What the query of one document did in the batches of the trial.

    Attributes:
        columns: column -> type.
        rows: rows written, of all batches.
        batch_ms: the duration of each batch in milliseconds.
        state_rows: rows of state after the last batch.
        state_bytes: bytes of state after the last batch.
        dropped: rows that the watermark dropped.
        malformed: source -> malformed records.
        tombstones: source -> tombstones that were skipped.
        violated: `view/expectation` -> rows that violate it.
    """

    columns: Mapping[str, str]
    rows: int = 0
    batch_ms: tuple[int, ...] = ()
    state_rows: int = 0
    state_bytes: int = 0
    dropped: int = 0
    malformed: Mapping[str, int] = field(default_factory=dict)
    tombstones: Mapping[str, int] = field(default_factory=dict)
    violated: Mapping[str, int] = field(default_factory=dict)

    @property
    def median_ms(self) -> int:
        """The median duration of a batch."""
        return round(median(self.batch_ms)) if self.batch_ms else 0


@dataclass(frozen=True)
class Difference:
    """How the rows of both documents differ. Rows are compared by the columns that both have.

    Attributes:
        keys: the columns that identify a row; empty if whole rows are compared.
        same: rows, or keys with their rows, that both have.
        only_old: those that only the old document has.
        only_new: those that only the new document has.
        changed: keys that both have, with other rows.
        columns: the columns that differ, each as a phrase.
        examples: `onlyOld`, `onlyNew` -> rows; `changed` -> pairs of rows.
    """

    keys: tuple[str, ...] = ()
    same: int = 0
    only_old: int = 0
    only_new: int = 0
    changed: int = 0
    columns: tuple[str, ...] = ()
    examples: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.only_old or self.only_new or self.changed or self.columns)


@dataclass(frozen=True)
class QueryTrial:
    """The trial of one query.

    Attributes:
        query: the query's name in the new document.
        outcome: the outcome.
        message: why there is no comparison, or how the query failed; empty otherwise.
        reason: the reason of the message, if it has one.
        batches: the numbers of the compared batches of the pipeline.
        old: what the old document did.
        new: what the new document did; None if it failed.
        difference: how their rows differ.
        notes: what the comparison does not show.
    """

    query: str
    outcome: Outcome
    message: str = ""
    reason: str = ""
    batches: tuple[int, ...] = ()
    old: SideResult | None = None
    new: SideResult | None = None
    difference: Difference | None = None
    notes: tuple[str, ...] = ()


def exit_code(trials: list[QueryTrial]) -> Exit:
    """The exit code: what prevents a comparison comes before a difference."""
    outcomes = {trial.outcome for trial in trials}
    if outcomes & {Outcome.REFUSED, Outcome.NOT_READY} or not outcomes & set(COMPARED):
        return Exit.NOT_READY
    return Exit.OK if outcomes <= {Outcome.EQUAL, Outcome.NOT_COMPARED} else Exit.TRIAL_DIFFERS


def as_json(trial: QueryTrial) -> dict[str, Any]:
    """The trial of a query for programs."""
    shown: dict[str, Any] = {
        "query": trial.query,
        "outcome": str(trial.outcome),
        "message": trial.message or None,
        "reason": trial.reason or None,
        "batches": list(trial.batches),
        "old": _side_json(trial.old),
        "new": _side_json(trial.new),
        "notes": list(trial.notes),
    }
    if (rows := trial.difference) is not None:
        shown["rows"] = {
            "keys": list(rows.keys),
            "same": rows.same,
            "onlyOld": rows.only_old,
            "onlyNew": rows.only_new,
            "changed": rows.changed,
            "columns": list(rows.columns),
            "examples": {kind: list(values) for kind, values in rows.examples.items()},
        }
    return shown


def _side_json(side: SideResult | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "rows": side.rows,
        "columns": dict(side.columns),
        "batchMs": list(side.batch_ms),
        "stateRows": side.state_rows,
        "stateBytes": side.state_bytes,
        "droppedByWatermark": side.dropped,
        "malformed": dict(side.malformed),
        "tombstones": dict(side.tombstones),
        "violated": dict(side.violated),
    }
