"""The container's termination message, by which a driver reports its end to the operator."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from mainstem import logs
from mainstem.language.model.status.query_progress import QueryProgress


MAX_BYTES: Final = 4096
"""Kubernetes cuts what is longer, wherever that is."""
MAX_MESSAGE: Final = 1024
"""Bytes of the message in it, so that there is room for the queries."""


def text(outcome: str, reason: str, message: str, statuses: Sequence[QueryProgress]) -> str:
    """The message as JSON: pure, free of what looks like a credential, and never too long.

    Args:
        outcome: `completed`, `drained`, `cut` or `failed`.
        reason: why, in one word.
        message: why, for people.
        statuses: the queries; as many as fit are named with their last committed batch.
    """
    found: dict[str, Any] = {
        "outcome": outcome,
        "reason": reason[:128],
        "message": _cut(logs.redact(message), MAX_MESSAGE),
        "queries": [],
    }
    best = _json(found)
    for status in statuses:
        batch = {} if status.batch is None else {"batch": status.batch}
        found["queries"].append({"name": status.name, **batch})
        longer = _json(found)
        if len(longer.encode()) > MAX_BYTES:
            break
        best = longer
    return best


def write(file: Path, message: str) -> None:
    """Write the message; a file that cannot be written is logged and nothing else, for the driver ends anyway."""
    try:
        file.write_text(message, encoding="utf-8")
    except OSError as error:
        logs.get("mainstem").warning("no termination message", file=str(file), error=str(error))


def _cut(message: str, most: int) -> str:
    """One line of at most so many bytes; what JSON would write with six bytes is no use to anybody."""
    message = " ".join("".join(char if char.isprintable() else " " for char in message).split())
    whole = message.encode()
    return message if len(whole) <= most else f"{whole[: most - 3].decode(errors='ignore')}..."


def _json(message: dict[str, Any]) -> str:
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False)
