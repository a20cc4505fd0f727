"""The end of a session, where the JVM does not do its part."""

import socket
import threading
import time

import pytest
from mainstem.run.session import shut_down
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters


def connected(port: int) -> socket.socket:
    """A connection to the server, which has its port a moment before its thread listens there."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.timeout(120)
def test_a_connection_that_the_jvm_leaves_open_holds_nothing_up() -> None:
    python = PythonParameters(port=0, daemonize=True, daemonize_connections=True)
    gateway = ClientServer(JavaParameters(port=1), python)
    server = gateway._callback_server
    with connected(server.get_listening_port()) as left_open:
        left_open.sendall(b"c\n")  # the first line of a call: a thread reads on
        while not server.connections:
            time.sleep(0.01)
        ending = threading.Thread(target=shut_down, args=(gateway,), daemon=True)
        ending.start()
        ending.join(30)
        assert not ending.is_alive()
