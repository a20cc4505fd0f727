"""The rollback of a document that failed, as the status remembers it; pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from mainstem.reasons import Reason, named

from mainstem_operator.validation.documents import Revision


class Rollback(NamedTuple):
    """The revision of a document that failed.

    Attributes:
        revision: its name.
        target: the healthy revision that runs in its place; None if a rollback was not possible.
        reason: why it failed.
        message: the same in words, and without a target why there was no rollback.
        time: when that was decided.
        nonce: `spec.restartNonce` at that time; None without one.
    """

    revision: str
    target: str | None
    reason: Reason
    message: str
    time: str
    nonce: str | None


def remembered(status: Mapping[str, Any], wanted: Revision | None, nonce: str | None) -> Rollback | None:
    """The rollback of the status, while it holds for the document."""
    written = status.get("rollback")
    if written is None or written.get("restartNonce") != nonce:
        return None
    if wanted is not None and wanted.name != written["revision"]:
        return None
    return Rollback(
        written["revision"],
        written.get("target"),
        named(written["reason"]),
        written["message"],
        written["time"],
        nonce,
    )
