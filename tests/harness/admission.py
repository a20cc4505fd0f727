"""Admission webhooks of a real API server that reject requests or do not answer; the path decides which."""

import base64
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from harness.apiserver import ControlPlane
from harness.pki import Authority, Pair
from harness.process import free_port


class Webhooks:
    """A server whose path `/409/Conflict` rejects with that code and reason, and a port without an answer."""

    def __init__(self, plane: ControlPlane) -> None:
        from kubernetes.client import AdmissionregistrationV1Api

        self._api = AdmissionregistrationV1Api(plane.api_client())
        certificate = plane.authority.issue("webhooks", hosts=("127.0.0.1",))
        self._server = serve(_Refuses, certificate)
        self._silent = socket.create_server(
            ("127.0.0.1", 0)
        )  # the kernel accepts connections, and no process reads them
        self._authority = plane.authority

    def close(self) -> None:
        """End the server; webhooks that are left fail from now on."""
        self._server.shutdown()
        self._server.server_close()
        self._silent.close()
        self._api.api_client.rest_client.pool_manager.clear()

    def refusing(self, code: int, reason: str) -> str:
        """The address of a webhook that rejects with this code and reason."""
        return f"https://127.0.0.1:{self._server.server_port}/{code}/{reason}"

    @property
    def silent(self) -> str:
        """The address of one that takes connections and never answers."""
        return f"https://127.0.0.1:{self._silent.getsockname()[1]}/silent"

    @property
    def closed(self) -> str:
        """An address at which nothing listens."""
        return f"https://127.0.0.1:{free_port()}/closed"

    @contextmanager
    def asked(
        self,
        url: str,
        namespace: str,
        *,
        operations: tuple[str, ...] = ("CREATE",),
        seconds: int = 10,
        policy: str = "Fail",
    ) -> Iterator[None]:
        """The API server asks this address before it takes pods in the namespace. Without an answer it takes none, or with
        the policy `Ignore` all.
        """
        name = f"{namespace}.example.com"
        hook = pod_webhook(
            name,
            url,
            self._authority,
            {"kubernetes.io/metadata.name": namespace},
            operations=operations,
            seconds=seconds,
            policy=policy,
        )
        self._api.create_validating_webhook_configuration({"metadata": {"name": name}, "webhooks": [hook]})
        try:
            yield
        finally:
            self._api.delete_validating_webhook_configuration(name)


class ReviewHandler(BaseHTTPRequestHandler):
    """Answers admission reviews over HTTP; a subclass decides about each request."""

    def response(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response to a request, without its `uid`."""
        raise NotImplementedError

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        answer = {"uid": request["uid"], **self.response(request)}
        body = json.dumps({**review, "request": None, "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


class _Refuses(ReviewHandler):
    def response(self, request: dict[str, Any]) -> dict[str, Any]:
        code, reason = self.path.split("?")[0].strip("/").split("/")
        status = {"code": int(code), "reason": reason, "message": f"no pods today: {reason}"}
        return {"allowed": False, "status": status}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Nothing: the client has closed the connection."""


def serve(handler: type[ReviewHandler], certificate: Pair) -> ThreadingHTTPServer:
    """A started webhook server on 127.0.0.1, with TLS."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*certificate)
    server = _Server(("127.0.0.1", 0), handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def pod_webhook(
    name: str,
    url: str,
    authority: Authority,
    labels: dict[str, str],
    *,
    operations: tuple[str, ...] = ("CREATE",),
    seconds: int = 10,
    policy: str = "Fail",
) -> dict[str, Any]:
    """The entry of a webhook configuration that asks an address about pods in the namespaces with these labels."""
    certificate = authority.pair.certificate.read_bytes()
    return {
        "name": name,
        "clientConfig": {"url": url, "caBundle": base64.b64encode(certificate).decode()},
        "rules": [
            {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": [*operations]}
        ],
        "namespaceSelector": {"matchLabels": labels},
        "failurePolicy": policy,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": seconds,
    }
