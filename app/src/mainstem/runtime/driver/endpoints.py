"""The HTTP endpoints of a driver: `/healthz` and `/readyz` for the kubelet, `/metrics` for Prometheus, `/status` for
people.

The endpoints have no authentication: everyone who can reach the pod may read them. They show no secrets.
"""

import json
import threading
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from mainstem import logs
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.runtime.driver import status_report
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.metrics import Metrics
from mainstem.runtime.progress.status_json import as_json


JSON: Final = "application/json"
SLOWEST: Final = 10.0
"""Seconds that a client may take to send its request."""


class HttpResponse(NamedTuple):
    """The response of an endpoint."""

    code: HTTPStatus
    kind: str
    body: bytes


class Answers:
    """Makes the response of each endpoint from the driver's current state.

    Args:
        pipeline: the name of the pipeline.
        namespace: the namespace of the pipeline.
        attempt: the driver start number.
        driver: the state of the driver.
    """

    def __init__(self, pipeline: str, namespace: str, attempt: int, driver: DriverState) -> None:
        self._about = {"pipeline": pipeline, "namespace": namespace, "attempt": attempt}
        self._driver = driver
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(Metrics(pipeline, attempt, driver))
        self._paths: dict[str, Callable[[str], HttpResponse]] = {
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/status": self._status,
            "/metrics": self._metrics,
        }

    def answer(self, target: str, accept: str) -> HttpResponse:
        """The response to a GET of `target` by a client that accepts `accept`."""
        path = urlsplit(target).path
        if path not in self._paths:
            return _json(HTTPStatus.NOT_FOUND, {"paths": sorted(self._paths)})
        return self._paths[path](accept)

    def _healthz(self, _accept: str) -> HttpResponse:
        trouble = self._driver.trouble()
        code = HTTPStatus.SERVICE_UNAVAILABLE if trouble else HTTPStatus.OK
        return _json(code, {"healthy": not trouble, "stage": self._driver.stage, "message": trouble or "ok"})

    def _readyz(self, _accept: str) -> HttpResponse:
        ready = self._driver.ready()
        inactive = [status for status in self._driver.statuses if not status_report.active(status)]
        states = {status.name: status_report.state(status) for status in inactive}
        code = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return _json(code, {"ready": ready, "stage": self._driver.stage, "notActive": states})

    def _status(self, _accept: str) -> HttpResponse:
        driver = self._driver
        executors = driver.executors
        body: dict[str, Any] = {
            **self._about,
            "stage": driver.stage,
            "ready": driver.ready(),
            "summary": status_report.summary(driver.statuses, executors),
            "queries": [_whole(status) for status in driver.statuses],
        }
        return _json(HTTPStatus.OK, body)

    def _metrics(self, accept: str) -> HttpResponse:
        encode, kind = choose_encoder(accept)
        return HttpResponse(HTTPStatus.OK, kind, encode(self._registry))


class Endpoints:
    """The HTTP server, in a thread of its own.

    Args:
        answers: makes the responses.
        port: the port to listen on; 0 takes a free one.
        address: the address to listen on, by default every address of the pod; an address with a colon is IPv6.
    """

    def __init__(self, answers: Answers, port: int, address: str = "0.0.0.0") -> None:  # noqa: S104
        server = _Server6 if ":" in address else _Server
        self._server = server((address, port), partial(_Handler, answers))
        self._thread = threading.Thread(target=self._server.serve_forever, name="http", daemon=True)

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Start to serve requests."""
        self._thread.start()

    def close(self) -> None:
        """Stop serving, and close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    address_family = AF_INET

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        """Log a closed connection as debug only: clients may close it at any time."""
        logs.get("http").debug("a request failed", exc_info=True)


class _Server6(_Server):
    address_family = AF_INET6


class _Handler(BaseHTTPRequestHandler):
    timeout = SLOWEST
    server_version = "mainstem"
    sys_version = ""

    def __init__(self, answers: Answers, *args: Any) -> None:
        self._answers = answers
        super().__init__(*args)

    def do_GET(self) -> None:
        """Send the response."""
        code, kind, body = self._answers.answer(self.path, self.headers.get("Accept", ""))
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: Any) -> None:
        """Log nothing: the kubelet asks every few seconds."""


def _whole(status: QueryProgress) -> dict[str, Any]:
    """A query as in the report of `mainstem run`, with all offsets."""
    body = as_json(status, offsets=True) | {"state": status_report.state(status)}
    if status.message:
        body["message"] = logs.redact(status.message)
    return body


def _json(code: HTTPStatus, body: dict[str, Any]) -> HttpResponse:
    return HttpResponse(code, JSON, (json.dumps(body) + "\n").encode())
