"""The end of a session, where the JVM does not do its part."""

import socket
import threading
import time

import pytest
from mainstem.run.session import shut_down
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters


@pytest.mark.timeout(30)
def test_a_connection_that_the_jvm_leaves_open_holds_nothing_up() -> None:
    python = PythonParameters(port=0, daemonize=True, daemonize_connections=True)
    gateway = ClientServer(JavaParameters(port=1), python)
    server = gateway._callback_server
    with socket.create_connection(("127.0.0.1", server.get_listening_port())) as left_open:
        left_open.sendall(b"c\n")  # the first line of a call: a thread reads on
        while not server.connections:
            time.sleep(0.01)
        ending = threading.Thread(target=shut_down, args=(gateway,), daemon=True)
        ending.start()
        ending.join(5)
        assert not ending.is_alive()
