"""Opens the Spark session of one pipeline: its scratch folder, properties and JVM."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import quiet_shutdown
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from mainstem import interrupts, reasons
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.deployment import WANTED_HEAP
from mainstem.runtime import start_line
from mainstem.runtime.failures.classification import Failure, classify
from mainstem.runtime.spark import host, packages
from mainstem.runtime.spark.conf import (
    FILE_BATCHES,
    LOCAL_CONTEXT,
    LOCAL_FILES,
    LOG4J,
    Machine,
    pools_xml,
    spark_conf,
)
from mainstem.runtime.spark.environment import Environment
from mainstem.runtime.spark.jvm import Jvm, launch
from mainstem.runtime.spark.local_time import set_time_zone
from mainstem.runtime.spark.scratch import LEAST, folder


@contextmanager
def open_session(
    graph: Graph, environment: Environment, *, output: Callable[[str], None], verbose: bool
) -> Iterator[SparkSession]:
    """A session for the pipeline; closing the context stops the session and removes its scratch folder.

    Raises:
        NotReady: Java, jars, packages or a secret are missing, a limit of the machine is too low, or the JVM does not
            start; `JvmLost` if the JVM ends while the context is open.
    """
    with ExitStack() as stack:
        with start_line.shown(graph.pipeline.name, "starts Spark"):
            opened = open_jvm(graph, environment, output=output, verbose=verbose)
            jvm, conf = stack.enter_context(opened)
            session = _session(jvm.gateway, conf, environment)
        try:
            yield session
        finally:
            with suppress(Py4JError, ConnectionError):  # the JVM may have ended already
                session.stop()


@contextmanager
def open_jvm(
    graph: Graph, environment: Environment, *, output: Callable[[str], None], verbose: bool
) -> Iterator[tuple[Jvm, dict[str, str]]]:
    """Spark's JVM without a session, and the Spark properties for one; raises as `open_session`."""
    interrupts.clean_up_first()
    # pyspark would print every analysis error itself, as JSON with a stack trace.
    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    # py4j would log an exception of foreachBatch, which the failure of the query already contains.
    logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL + 1)
    host.check()
    with folder(LEAST) as scratch:
        conf = spark_conf(graph.pipeline, _machine(graph, scratch, environment))
        jars = packages.class_path(graph.spec.packages, environment.code)
        set_time_zone(graph.spec.time_zone)
        jvm = launch(conf, output, scratch, address=environment.address, verbose=verbose, packages=jars)
        try:
            _check_own_jar(jvm.gateway)
            yield jvm, conf
        except (Py4JNetworkError, ConnectionError) as error:
            raise NotReady(
                f"Spark's JVM has ended: {jvm.last_lines()}",
                reason=reasons.JVM_LOST,
                remedy=f"often the Java heap is too small: raise {environment.memory}",
            ) from error
        finally:
            shut_down(jvm.gateway)


def shut_down(gateway: Any) -> None:
    """Close the gateway without waiting for the JVM."""
    server = gateway.__dict__.get("_callback_server")
    if server is not None:
        # py4j closes a connection's stream before its socket, and so waits for the thread that reads the stream. The
        # thread ends when the JVM closes its side, which it does not while one of its calls is running.
        with server.lock:
            for connection in list(server.connections):
                quiet_shutdown(connection.socket)
    gateway.shutdown()


def _session(gateway: Any, conf: dict[str, str], environment: Environment) -> SparkSession:
    settings = SparkConf(loadDefaults=False).setAll(list(conf.items()))
    try:
        return SparkSession(SparkContext(gateway=gateway, conf=settings))
    except Py4JNetworkError:
        raise
    except (PySparkException, Py4JError) as error:
        raise start_error(classify(error), environment) from error


def start_error(failure: Failure, environment: Environment) -> NotReady:
    """The error of a failed start of Spark; if the heap is too small, with the option or field that sets it."""
    if failure.reason == "INVALID_DRIVER_MEMORY":
        message = f"Spark did not start: a Java heap of {environment.heap} is too small; the minimum is {WANTED_HEAP}"
        return NotReady(message, reason=reasons.JVM_NOT_STARTED, remedy=f"raise {environment.memory}")
    return NotReady(f"Spark did not start: {failure.message}", reason=reasons.JVM_NOT_STARTED)


def _check_own_jar(gateway: Any) -> None:
    """Refuse jars of another version: Spark only logs a warning if an extension is missing, and continues without it."""
    for name in (FILE_BATCHES, LOCAL_FILES, LOCAL_CONTEXT):
        try:
            gateway.jvm.java.lang.Class.forName(name)
        except Py4JError:
            raise NotReady(
                f"mainstem-jars has another version than mainstem: it lacks the class {name}, without which Spark would "
                "read files twice, in another order or not at all",
                reason=reasons.JARS_NOT_FOUND,
                remedy="install the mainstem-jars of mainstem's version; in a checkout run `make jars`",
            ) from None


def _machine(graph: Graph, scratch: Path, environment: Environment) -> Machine:
    pools = scratch / "pools.xml"
    pools.write_text(pools_xml(graph.pipeline), encoding="utf-8")
    return Machine(
        cores=environment.cores,
        heap=environment.heap,
        jars=_jars(),
        log4j=LOG4J,
        pools=pools,
        scratch=scratch,
        defaults=environment.defaults,
        owned=environment.owned,
    )


def _jars() -> tuple[Path, ...]:
    try:
        import mainstem_jars

        return tuple(mainstem_jars.paths())
    except (ImportError, FileNotFoundError) as error:
        raise NotReady(
            f"the JVM dependencies are missing: {error}",
            reason=reasons.JARS_NOT_FOUND,
            remedy="install mainstem with its extra spark, see Installing in the README; in a checkout run `make setup`",
        ) from None
