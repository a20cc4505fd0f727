"""A TCP proxy before a real server: connections that hang, break or are refused, as networks make them."""

import socket
import threading
from contextlib import suppress
from typing import Literal, Self


State = Literal["open", "silent", "cut", "unavailable"]
_CHUNK = 65536
_UNAVAILABLE = b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_QUIET = 0.2
"""Seconds without a byte after which a request is taken to be complete."""


class TcpProxy:
    """Passes bytes in both directions between clients and a server on 127.0.0.1. Use it as a context manager.

    Args:
        port: of the server.
        host: the address of this machine at which clients reach the proxy.

    Attributes:
        port: the port in place of the server's; it stays the same.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = port
        self._listener = socket.create_server((host, 0))
        self.port: int = self._listener.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._state: State = "open"
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="tcp-proxy", daemon=True).start()
        return self

    def __exit__(self, *_exc: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        self._open.set()

    def silence(self) -> None:
        """Accept connections, and pass nothing on: neither side gets an answer or an end."""
        self._state = "silent"
        self._open.clear()

    def cut(self) -> None:
        """Break all connections, and each new one at once."""
        self._state = "cut"
        self._end_all()

    def refuse(self) -> None:
        """Answer each HTTP request with 503, as a store does that is overloaded; the server gets none of them."""
        self._state = "unavailable"
        self._end_all()

    def _end_all(self) -> None:
        self._open.set()
        with self._lock:
            for each in self._sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def heal(self) -> None:
        """Pass everything on again, also the bytes that waited."""
        self._state = "open"
        self._open.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._open.wait()
        try:
            if self._state == "cut":
                return
            if self._state == "unavailable":
                _answer_unavailable(client)
                return
            server = socket.create_connection(("127.0.0.1", self._target), timeout=10)
        except OSError:  # the server itself is away: its clients see what they would see without the proxy
            return
        else:
            server.settimeout(None)
            with self._lock:
                self._sockets |= {client, server}
            back = threading.Thread(target=self._pass_on, args=(server, client), daemon=True)
            back.start()
            self._pass_on(client, server)
            back.join()
            with self._lock:
                self._sockets -= {client, server}
            server.close()
        finally:
            client.close()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(_CHUNK):
                self._open.wait()
                target.sendall(chunk)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _answer_unavailable(client: socket.socket) -> None:
    """Read the request, answer it, and end the connection: an answer before the end of the request may be lost."""
    client.settimeout(_QUIET)
    with suppress(TimeoutError):
        while client.recv(_CHUNK):
            continue
    client.sendall(_UNAVAILABLE)
