"""A proxy before a real S3 server that makes single requests fail, as networks and stores do."""

import http.client
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from urllib.parse import unquote, urlsplit

from harness.s3 import S3Server


FaultKind = Literal["refuse", "cut", "overwrite", "hold", "plain", "no-if-match"]
_REFUSAL = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>'
_DENIED = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>Encrypt it</Message></Error>'
_UNKNOWN = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>NotImplemented</Code><Message>What?</Message></Error>'
_SECONDS = 60.0
_HOLD_SECONDS = 300.0
# Between two hops; the proxy answers `Expect` itself.
_HOP = {"connection", "expect", "keep-alive", "transfer-encoding"}


@dataclass
class Fault:
    """What happens to PUT requests of some objects.

    Attributes:
        pattern: of the path, `/bucket/key`.
        kind: `refuse` answers 503 and passes nothing on; `cut` passes the request on and closes the connection without
            an answer; `overwrite` passes it on once the object is removed, as a store that ignores `If-None-Match` (the
            header itself is signed); `hold` passes it on once the test lets it go on, though its sender be gone;
            `plain` refuses it without the header of server-side encryption, as a bucket's policy does; `no-if-match`
            refuses it with `If-Match`, as stores do that know `If-None-Match` alone.
        times: how many requests; None is every one until `heal`.
        hits: the paths of the requests that met it.
    """

    pattern: re.Pattern[str]
    kind: FaultKind
    times: int | None
    hits: list[str] = field(default_factory=list)
    _gate: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def let_one_go_on(self) -> None:
        """Pass on the request that has been held longest."""
        self._gate.release()

    def hold(self) -> None:
        """Wait for the turn of one request."""
        self._gate.acquire(timeout=_HOLD_SECONDS)


class S3Proxy:
    """Passes everything on to an S3 server on 127.0.0.1, but for the requests that a fault names.

    The Host header stays the client's, because it is signed. Use it as a context manager.

    Attributes:
        requests: method and path of every request so far.
    """

    def __init__(self, server: S3Server) -> None:
        self._upstream = urlsplit(server.endpoint).netloc
        self._root = server.root
        self.requests: list[tuple[str, str]] = []
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._http = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"proxy": self}))
        self._thread = threading.Thread(target=self._http.serve_forever, name="s3-proxy", daemon=True)

    @property
    def endpoint(self) -> str:
        """The address in place of the server's."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def fail(self, pattern: str, kind: FaultKind = "refuse", times: int | None = None) -> Fault:
        """Make PUT requests fail whose path matches the pattern at its end."""
        fault = Fault(re.compile(f"(?:{pattern})$"), kind, times)
        with self._lock:
            self._faults.append(fault)
        return fault

    def heal(self) -> None:
        """Pass everything on from now on."""
        with self._lock:
            self._faults.clear()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(10)

    def fault(self, method: str, target: str) -> Fault | None:
        """The fault that a request meets, which is counted."""
        path = unquote(urlsplit(target).path)
        self.requests.append((method, path))
        if method != "PUT":
            return None
        with self._lock:
            for fault in self._faults:
                if fault.pattern.search(path) and (fault.times is None or len(fault.hits) < fault.times):
                    fault.hits.append(path)
                    return fault
        return None

    def remove(self, target: str) -> None:
        """Remove the object of a request."""
        (self._root / unquote(urlsplit(target).path).lstrip("/")).unlink(missing_ok=True)

    def ask(
        self, method: str, target: str, headers: list[tuple[str, str]], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """The server's answer: status, headers, body."""
        connection = http.client.HTTPConnection(self._upstream, timeout=_SECONDS)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that was killed hangs up in the middle, and one that misses an answer fails its test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS
    proxy: S3Proxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.fault(self.command, self.path)
        kind = fault.kind if fault else None
        if fault and kind == "hold":
            fault.hold()
        if kind == "refuse":
            self._answer(503, [("Content-Type", "application/xml")], _REFUSAL)
            return
        if kind == "plain" and "x-amz-server-side-encryption" not in self.headers:
            self._answer(403, [("Content-Type", "application/xml")], _DENIED)
            return
        if kind == "no-if-match" and "If-Match" in self.headers:
            self._answer(501, [("Content-Type", "application/xml")], _UNKNOWN)
            return
        headers = [(name, value) for name, value in self.headers.items() if name.lower() not in _HOP]
        if kind == "overwrite":
            self.proxy.remove(self.path)
        status, answered, content = self.proxy.ask(self.command, self.path, headers, body)
        if kind == "cut":
            self.close_connection = True
            return
        self._answer(status, answered, content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass_on

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOP and not (name.lower() == "content-length" and self.command != "HEAD"):
                self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - name of the base class
        """Nothing: tests look at the faults' hits."""
