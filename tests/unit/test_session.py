"""The end of a session whose JVM does not respond."""

import socket
import threading
from contextlib import suppress
from typing import cast

from harness.waiting import LIMIT, eventually
from mainstem.runtime.failures.classification import classify_text
from mainstem.runtime.spark.environment import this_machine
from mainstem.runtime.spark.session import shut_down, start_error
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters


def connected(port: int) -> socket.socket:
    """A connection to the server, which has its port a moment before its thread listens there."""

    def open_() -> socket.socket | None:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        return None

    return cast("socket.socket", eventually("a connection", open_))


def test_a_connection_that_the_jvm_leaves_open_does_not_block_the_end() -> None:
    python = PythonParameters(port=0, daemonize=True, daemonize_connections=True)
    gateway = ClientServer(JavaParameters(port=1), python)
    server = gateway._callback_server
    with connected(server.get_listening_port()) as left_open:
        left_open.sendall(b"c\n")  # the first line of a call: a thread reads on
        eventually("the server has it", lambda: server.connections)
        ending = threading.Thread(target=shut_down, args=(gateway,), daemon=True)
        ending.start()
        ending.join(LIMIT)
        assert not ending.is_alive()


def test_a_heap_too_small_for_spark_is_reported_by_its_own_setting() -> None:
    """Spark's own advice is an option and a property that this project's user never sets."""
    spark = (
        "org.apache.spark.SparkIllegalArgumentException: [INVALID_DRIVER_MEMORY] System memory 447741952 must be at least 471859200.\n"
        'Please increase heap size using the --driver-memory option or "spark.driver.memory" in Spark configuration. SQLSTATE: F0000'
    )
    error = start_error(classify_text(spark), this_machine(heap="480m"))
    assert str(error) == (
        "Spark did not start: a Java heap of 480m is too small; the minimum is 512m; raise --heap [JvmNotStarted]"
    )
