"""Servers that refuse connections, never answer, or answer: what is reported of each kind of connection."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from harness.process import free_port
from mainstem.language.model.connections import Connection
from mainstem.runtime.clients import reachability


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "ANSWER_SECONDS", 0.2)


def kafka(port: int, protocol: str = "PLAINTEXT") -> dict[str, Any]:
    servers = f"127.0.0.1:{port}"
    return {"kafka": {"bootstrapServers": servers, "properties": {"security.protocol": protocol}}}


def s3(port: int, scheme: str = "http") -> dict[str, Any]:
    return {"s3": {"buckets": ["lake"], "endpoint": f"{scheme}://127.0.0.1:{port}", "pathStyle": True}}


def error(connection: dict[str, Any]) -> str:
    """The error with its reason; empty where the server answers."""
    return str(
        reachability.connection_error(Connection.model_validate({"name": "events", **connection})) or ""
    )


BROKER = "no broker of connection 'events' answers: 127.0.0.1:{}: {} [BrokerUnreachable]"
STORE = "the S3 store of connection 'events' (lake) at {} does not answer: {} [StoreUnreachable]"


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """The port of something that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"])
def test_a_broker_that_never_answers_is_reported(protocol: str) -> None:
    with silent() as port:
        assert error(kafka(port, protocol)) == BROKER.format(port, "no answer within 0.2 s")


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_store_that_never_answers_is_reported(scheme: str) -> None:
    with silent() as port:
        expected = STORE.format(f"{scheme}://127.0.0.1:{port}", "no answer within 0.2 s")
        assert error(s3(port, scheme)) == expected


def test_a_database_that_never_answers_is_reported() -> None:
    with silent() as port:
        expected = f"at 127.0.0.1:{port} does not answer: no answer within 0.2 s [DatabaseUnreachable]"
        database = {"url": f"jdbc:postgresql://127.0.0.1:{port}/shop"}
        assert error({"jdbc": database}) == f"the database of connection 'events' {expected}"


def test_a_refused_connection_is_reported() -> None:
    port = free_port()
    assert error(kafka(port)) == BROKER.format(port, "connection refused")
    assert error(s3(port)) == STORE.format(f"http://127.0.0.1:{port}", "connection refused")


def test_one_reachable_broker_is_enough() -> None:
    with answering() as port:
        servers = f"127.0.0.1:{free_port()},127.0.0.1:{port}"
        assert error({"kafka": {"bootstrapServers": servers}}) == ""


@contextlib.contextmanager
def answering() -> Iterator[int]:
    """The port of something that answers one request."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_once, args=(server,))
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def answer_once(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        client.recv(1024)
        client.sendall(b"\0")
