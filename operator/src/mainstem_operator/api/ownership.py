"""Which pipeline owns an object. A pipeline changes and deletes only objects with its own owner reference; pure."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from mainstem import reasons
from mainstem.names import GROUP, KIND

from mainstem_operator.api.kubernetes_api import ApiRejection
from mainstem_operator.observed.rejections import Refusal


class NameTaken(ApiRejection):
    """An object of another owner has a name that the pipeline needs."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(
            HTTPStatus.CONFLICT,
            f"the {kind} {name} exists and does not belong to this pipeline; delete it, or rename the pipeline",
        )


NAME_TAKEN: Final = reasons.NAME_TAKEN
POD_REFUSED: Final = reasons.POD_REFUSED
"""Reasons of `SpecValid` if the rules accept a document and the API server does not."""


def refusal(error: ApiRejection) -> Refusal:
    """The rejection by the API server, for the status."""
    return Refusal(NAME_TAKEN if isinstance(error, NameTaken) else POD_REFUSED, str(error))


class DeletionPending(Exception):
    """An object must be deleted first, and will be: the garbage collector deletes the objects of a deleted pipeline."""


def owned(thing: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """True if this pipeline controls an object, and not an earlier pipeline of the same name."""
    return any(owner["uid"] == body["metadata"]["uid"] for owner in _controllers(thing))


def require(kind: str, thing: Mapping[str, Any], body: Mapping[str, Any]) -> None:
    """Return if this pipeline controls an existing object.

    Raises:
        NameTaken: the object has another owner.
        DeletionPending: the object belongs to a deleted pipeline of the same name.
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
