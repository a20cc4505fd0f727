"""The end of a session whose JVM does not respond."""

import socket
import threading
import time

import pytest
from mainstem.runtime.failures.classification import classify_text
from mainstem.runtime.spark.environment import this_machine
from mainstem.runtime.spark.session import shut_down, start_error
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
def test_a_connection_that_the_jvm_leaves_open_does_not_block_the_end() -> None:
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
