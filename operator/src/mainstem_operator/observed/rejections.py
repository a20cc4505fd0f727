"""What the API server has rejected, or has not carried out; plain data."""

from dataclasses import dataclass
from typing import NamedTuple

from mainstem.reasons import Reason


class Refusal(NamedTuple):
    """Why the API server rejects the driver of a document.

    Attributes:
        reason: the reason of the condition `SpecValid`.
        message: the error; it quotes the server if possible.
    """

    reason: Reason
    message: str


class FailedPod(NamedTuple):
    """A pod beside the driver that was rejected, or that ended without a result.

    Attributes:
        identity: what it was for.
        why: the rejection, or how it ended.
    """

    identity: str
    why: Refusal


@dataclass(frozen=True)
class StepFailure:
    """A start or a deletion of a driver that the API server has not carried out.

    Attributes:
        message: the error; it quotes the API server if that answered.
        retry_in: seconds until the next attempt, 0 if it is due.
        is_pending: True while the API server has not answered yet, or while another object is being deleted.
    """

    message: str
    retry_in: float
    is_pending: bool = False
