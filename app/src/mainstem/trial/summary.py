"""The result of a trial for the operator: JSON that fits into the termination message of a pod; pure."""

import json
from collections.abc import Sequence
from typing import Any, Final

from mainstem import logs, reasons
from mainstem.checkpoints.copying import ranges
from mainstem.trial.outcome import COMPARED, Outcome, QueryTrial, exit_code


MAX_BYTES: Final = 4096
"""Kubernetes truncates a longer termination message."""
_LONGEST: Final = 1024
"""Bytes of the message about the whole trial."""
_LONGEST_OF_QUERY: Final = (256, 100, 0)
"""Characters of the message of a query, tried in this order until all queries fit."""
_WORST_FIRST: Final = (
    Outcome.REFUSED,
    Outcome.NOT_READY,
    Outcome.FAILED,
    Outcome.DIFFERS,
    Outcome.NOT_COMPARED,
    Outcome.EQUAL,
)


def summary(trials: Sequence[QueryTrial]) -> str:
    """The result as JSON of at most `MAX_BYTES`; the queries with a difference come first, and the last ones may not fit."""
    reason, message = _reason(trials)
    ordered = sorted(trials, key=lambda trial: _WORST_FIRST.index(trial.outcome))
    for longest in _LONGEST_OF_QUERY:
        queries = [_query(trial, longest) for trial in ordered]
        if len((text := _text("completed", reason, message, queries)).encode()) <= MAX_BYTES:
            return text
    while len((text := _text("completed", reason, message, queries)).encode()) > MAX_BYTES:
        queries.pop()
    return text


def failure(reason: str, message: str) -> str:
    """The same for a trial that ended with an error before it compared a query."""
    return _text("failed", reason, message, [])


def _text(outcome: str, reason: str, message: str, queries: list[dict[str, Any]]) -> str:
    whole = {
        "outcome": outcome,
        "reason": reason[:128],
        "message": _short(message, _LONGEST),
        "trial": queries,
    }
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False)


def _reason(trials: Sequence[QueryTrial]) -> tuple[reasons.Reason, str]:
    """Reason and message of the whole trial."""
    code, compared = exit_code(list(trials)), [each for each in trials if each.outcome in COMPARED]
    different = [each.query for each in compared if each.outcome is not Outcome.EQUAL]
    if code == reasons.Exit.OK:
        return reasons.TRIAL_PASSED, f"{_of(len(compared), len(trials))} compared, and all rows are equal"
    if code == reasons.Exit.TRIAL_DIFFERS:
        message = f"{_of(len(compared), len(trials))} compared; different: {', '.join(different)}"
        return reasons.TRIAL_DIFFERS, message
    if blocked := [each for each in trials if each.outcome in (Outcome.REFUSED, Outcome.NOT_READY)]:
        first = blocked[0]
        return reasons.named(first.reason or reasons.NOT_READY), f"{first.query}: {first.message}"
    is_new = bool(trials) and all(each.reason == reasons.CHECKPOINT_NOT_FOUND for each in trials)
    reason = reasons.CHECKPOINT_NOT_FOUND if is_new else reasons.NOTHING_COMPARED
    return reason, "; ".join(f"{each.query}: {each.message}" for each in trials) or "no query was compared"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} {'query' if whole == 1 else 'queries'}"


def _query(trial: QueryTrial, longest: int) -> dict[str, Any]:
    """The query as `status.trial.queries` has it."""
    rows, old, new = trial.difference, trial.old, trial.new
    known: dict[str, Any] = {
        "name": trial.query,
        "outcome": str(trial.outcome),
        "batches": ranges(trial.batches) or None,
    }
    if rows is not None:
        known |= {
            "same": rows.same,
            "onlyOld": rows.only_old,
            "onlyNew": rows.only_new,
            "changed": rows.changed if rows.keys else None,
        }
    if old is not None and new is not None:
        known["batchTimePercent"] = _percent(new.median_ms, old.median_ms)
        known["statePercent"] = _percent(new.state_rows, old.state_rows)
    words = trial.message or ("; ".join(rows.columns) if rows else "")
    known["message"] = _short(words, longest) or None
    return {key: value for key, value in known.items() if value is not None}


def _percent(new: int, old: int) -> int | None:
    return round(100 * new / old) if old else None


def _short(message: str, most: int) -> str:
    """One line without secrets and control characters, of at most `most` bytes."""
    line = " ".join("".join(char if char.isprintable() else " " for char in logs.redact(message)).split())
    whole = line.encode()
    return line if len(whole) <= most else f"{whole[: max(0, most - 3)].decode(errors='ignore')}..."[:most]
