"""Makes and writes the container's termination message, by which a driver reports its end to the operator."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from mainstem import logs, names, reasons
from mainstem.errors import MainstemError, SpecInvalid
from mainstem.language.model.status.query_progress import QueryProgress


MAX_BYTES: Final = 4096
"""Kubernetes truncates a longer message at any byte."""
MAX_MESSAGE: Final = 1024
"""Bytes of the message inside it, so that the queries fit too."""


def text(
    outcome: str,
    reason: reasons.Reason,
    message: str,
    statuses: Sequence[QueryProgress] = (),
    *,
    retried: bool | None = None,
) -> str:
    """The termination message as JSON, redacted and within `MAX_BYTES`; pure.

    Args:
        outcome: `completed`, `drained`, `interrupted` or `failed`.
        reason: why, in one word.
        message: why, for people.
        statuses: the queries; the message names as many as fit, each with its last committed batch.
        retried: whether a later preflight may have another result; None at the end of a run.
    """
    fields: dict[str, Any] = {
        "outcome": outcome,
        "reason": reason[:128],
        "message": _cut(logs.redact(message), MAX_MESSAGE),
        "queries": [],
        **({} if retried is None else {"retried": retried}),
    }
    best = _json(fields)
    for status in statuses:
        batch = {} if status.batch is None else {"batch": status.batch}
        fields["queries"].append({"name": status.name, **batch})
        longer = _json(fields)
        if len(longer.encode()) > MAX_BYTES:
            break
        best = longer
    return best


def write(message: str) -> None:
    """Write the message; an error is only logged, because the driver ends anyway."""
    file = Path(os.environ.get(names.ENV_TERMINATION_LOG) or names.TERMINATION_LOG)
    try:
        file.write_text(message, encoding="utf-8")
    except OSError as error:
        logs.get("mainstem").warning("the termination message cannot be written", file=str(file), error=error)


def words(error: Exception) -> str:
    """An error in one line. For an invalid document it is the first problem, by its field: nobody has the pod's file."""
    if not isinstance(error, MainstemError):
        return f"{type(error).__name__}: {error}"
    if not isinstance(error, SpecInvalid):
        return str(error)
    more = f" (and {len(error.problems) - 1} more)" if len(error.problems) > 1 else ""
    return f"{error.problems[0].named()}{more}"


def _cut(message: str, most: int) -> str:
    """The message in one line of at most `most` bytes, without control characters, which JSON writes with six bytes."""
    message = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    whole = message.encode()
    return message if len(whole) <= most else f"{whole[: most - 3].decode(errors='ignore')}..."


def _json(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False)
