"""Answers of the API server to a driver become errors of Mainstem."""

from typing import Any

import pytest
from kubernetes.client import ApiException
from mainstem import reasons
from mainstem.cluster.api_errors import api_error
from urllib3.exceptions import ProtocolError


FORBIDDEN = '{"kind": "Status", "message": "pods is forbidden: no such right"}'


@pytest.mark.parametrize(
    ("status", "body", "reason", "beginning"),
    [
        (401, None, "ApiServerForbids", "its status: 401: Odd"),
        (403, FORBIDDEN, "ApiServerForbids", "its status: 403: pods is forbidden: no such right"),
        (404, None, "PipelineNotFound", "its status: not found"),
        (422, "[]", "ApiServerRefuses", "its status: 422: Odd"),
        (520, "<html>", "ApiServerRefuses", "its status: 520: Odd"),  # a proxy's: no status of HTTP
        (0, None, "ApiServerUnreachable", "its status: the API server does not answer: (0)"),
    ],
)
def test_every_api_error_has_a_reason(status: int, body: Any, reason: str, beginning: str) -> None:
    error = ApiException(status=status, reason="Odd")
    error.body = body
    failure = api_error("its status", error, reasons.PIPELINE_NOT_FOUND)
    assert failure.reason == reason
    assert failure.message.startswith(beginning)


def test_a_missing_answer_has_a_reason() -> None:
    assert api_error("its status", ProtocolError("gone")).reason == "ApiServerUnreachable"
