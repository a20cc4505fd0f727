"""Reads an AdmissionReview of a StreamingPipeline, and makes the response; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


_API_VERSION: Final = "admission.k8s.io/v1"
_EMERGENCY: Final = ("suspend", "restartNonce")
"""Fields of `spec` that a user must be able to change, even if a newer operator rejects the rest of the document."""
_WARNING_CHARACTERS: Final = 256
"""The API server cuts longer warnings."""
_WARNINGS: Final = 15
"""The API server cuts the warnings of a response at 4,096 characters in total."""
_MESSAGE_CHARACTERS: Final = 4000


class ReviewUnreadable(ValueError):
    """The body of a request is not an AdmissionReview of a StreamingPipeline."""


@dataclass(frozen=True)
class Review:
    """A question of the API server.

    Attributes:
        uid: the identity of the question, which the response repeats.
        namespace: the namespace of the resource.
        new: the resource as the API server would store it.
        old: the stored resource; None if the request creates it.
    """

    uid: str
    namespace: str
    new: Mapping[str, Any]
    old: Mapping[str, Any] | None

    @property
    def needs_check(self) -> bool:
        """False if nothing of the document changes, or the resource is deleted: its finalizers must go in any case."""
        if self.new["metadata"].get("deletionTimestamp"):
            return False
        return self.old is None or self.old.get("spec") != self.new["spec"]

    @property
    def is_emergency(self) -> bool:
        """True if only fields change that stop or start the same document."""
        return self.old is not None and _lasting(self.old) == _lasting(self.new)


def _lasting(body: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in body.get("spec", {}).items() if key not in _EMERGENCY}


def read(content: Any) -> Review:
    """The question in a decoded AdmissionReview.

    Raises:
        ReviewUnreadable: it is something else.
    """
    try:
        request = content["request"]
        new, old = request["object"], request.get("oldObject")
        for each in [new] if old is None else [new, old]:
            _ = each["metadata"].items(), each["spec"].items(), each["apiVersion"], each["kind"]
        return Review(str(request["uid"]), str(request.get("namespace") or ""), new, old)
    except (AttributeError, KeyError, TypeError) as error:
        raise ReviewUnreadable(f"the request is not an AdmissionReview of a pipeline: {error!r}") from None


def allowed(uid: str, warnings: Sequence[str] = ()) -> dict[str, Any]:
    """The response that lets the API server store the resource, with warnings for the user."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if warnings:
        response["warnings"] = [_shortened(warning, _WARNING_CHARACTERS) for warning in _few(warnings)]
    return _answer(response)


def denied(uid: str, problems: Sequence[str]) -> dict[str, Any]:
    """The response that rejects the resource; kubectl prints the problems."""
    message = _shortened("\n".join(problems), _MESSAGE_CHARACTERS)
    return _answer(
        {"uid": uid, "allowed": False, "status": {"code": 422, "reason": "Invalid", "message": message}}
    )


def decision(review: Review, problems: Sequence[str], warnings: Sequence[str]) -> dict[str, Any]:
    """The response to a review whose document has these problems, and whose change has these warnings."""
    if not problems:
        return allowed(review.uid, warnings)
    if review.is_emergency:
        return allowed(review.uid, [f"the document stays invalid: {problem}" for problem in problems])
    return denied(review.uid, problems)


def not_checked(uid: str, why: str) -> dict[str, Any]:
    """The response if the document was not checked: the operator checks it later, and its status shows the result."""
    return allowed(
        uid, [f"the document was not checked: {why}; see the status after the operator has checked it"]
    )


def _answer(response: Mapping[str, Any]) -> dict[str, Any]:
    return {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response}


def _few(warnings: Sequence[str]) -> list[str]:
    if len(warnings) <= _WARNINGS:
        return list(warnings)
    left = len(warnings) - _WARNINGS + 1
    return [*warnings[: _WARNINGS - 1], f"{left} more warnings; `mainstem diff` shows all"]


def _shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 3]}..."
