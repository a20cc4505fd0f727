"""Whose an object is. A pipeline changes and deletes only objects that carry its own owner reference; pure."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from mainstem.language.model.pipeline import KIND
from mainstem.schema.crd import GROUP

from mainstem_operator.api.kubernetes_api import ApiRejection
from mainstem_operator.observed.observation import Refusal


class NameTaken(ApiRejection):
    """Somebody else's object has a name that the pipeline needs."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(
            HTTPStatus.CONFLICT,
            f"the {kind} {name} exists and does not belong to this pipeline; delete it, or rename the pipeline",
        )


NAME_TAKEN: Final = "NameTaken"
POD_REFUSED: Final = "PodRefused"
"""Reasons of `SpecValid` where the rules accept a document and the API server does not."""


def refusal(error: ApiRejection) -> Refusal:
    """The refusal by the API server, as the status has it."""
    return Refusal(NAME_TAKEN if isinstance(error, NameTaken) else POD_REFUSED, str(error))


class DeletionPending(Exception):
    """Something must go first, and will by itself: the garbage collector takes what a deleted pipeline has left."""


def owned(thing: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """True where this very pipeline controls an object, not another one of its name that was there before."""
    return any(owner["uid"] == body["metadata"]["uid"] for owner in _controllers(thing))


def require(kind: str, thing: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Pass where this pipeline controls an existing object.

    Raises:
        NameTaken: the object is somebody else's.
        NotYet: the object is what a deleted pipeline of the same name has left.
    """
    if owned(thing, body):
        return
    name = thing["metadata"]["name"]
    for owner in _controllers(thing):
        group = str(owner["apiVersion"]).partition("/")[0]
        if (group, owner["kind"], owner["name"]) == (GROUP, KIND, body["metadata"]["name"]):
            raise DeletionPending(
                f"the {kind} {name} of a deleted pipeline with this name still exists; the start waits until it is deleted"
            )
    raise NameTaken(kind, name)


def _controllers(thing: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    owners = thing["metadata"].get("ownerReferences", ())
    return [owner for owner in owners if owner.get("controller")]
