"""Errors of Kubernetes' client, as Mainstem reports them: with a reason, and with the API server's own message."""

import json
from http import HTTPStatus
from typing import Any, Final

from kubernetes import client
from urllib3.exceptions import HTTPError

from mainstem import reasons
from mainstem.errors import NotReady


API_ERRORS: Final = (client.ApiException, HTTPError, OSError)
"""What a request to the API server raises."""
_REASONS: Final[dict[int, reasons.Reason]] = {
    HTTPStatus.UNAUTHORIZED: reasons.API_SERVER_FORBIDS,
    HTTPStatus.FORBIDDEN: reasons.API_SERVER_FORBIDS,
}


def is_missing(error: Exception) -> bool:
    """Whether the object of the request does not exist."""
    return isinstance(error, client.ApiException) and error.status == HTTPStatus.NOT_FOUND


def api_error(
    subject: str, error: Exception, missing: reasons.Reason = reasons.API_SERVER_REFUSES
) -> NotReady:
    """The error of a request.

    Args:
        subject: what the request is about, as the message names it.
        error: one of `API_ERRORS`.
        missing: the reason if the object does not exist.
    """
    if not isinstance(error, client.ApiException) or not error.status:
        return NotReady(
            f"{subject}: the API server does not answer: {error}", reason=reasons.API_SERVER_UNREACHABLE
        )
    if is_missing(error):
        return NotReady(f"{subject}: not found", reason=missing)
    reason = _REASONS.get(error.status, reasons.API_SERVER_REFUSES)
    return NotReady(f"{subject}: {error.status}: {_message(error)}", reason=reason)


def _message(error: Any) -> str:
    """The API server's message."""
    try:
        return str(json.loads(error.body)["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.reason)
