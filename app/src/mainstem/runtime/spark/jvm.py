"""Starts Spark's JVM as a child process in its own session, and reads its output line by line."""

import atexit
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from mainstem import logs, reasons
from mainstem.errors import NotReady
from mainstem.runtime.spark import command_line, java
from mainstem.runtime.spark.java_classes import JavaClasses


# Spark waits a second until the driver's pod is ready before it asks for executors. A driver is ready only when its
# queries run, so Spark logs this as an error, with an exception, at every start.
_HARMLESS = "Timed out waiting for [1000] milliseconds for [Pod]"
_FRAME = re.compile(r"\s+at \S+\(|\s+\.\.\. \d+ more")
"""A line of a Java stack trace."""
_LEVELS = {"FATAL": "error", "ERROR": "error", "WARN": "warning", "INFO": "info"}


class Jvm(NamedTuple):
    """A running JVM of Spark.

    Attributes:
        gateway: the py4j gateway.
        last_lines: returns the last lines that the JVM wrote outside its log.
    """

    gateway: Any
    last_lines: Callable[[], str]

    def end(self) -> None:
        """End the JVM, and wait until it has ended."""
        _await_end(self.gateway.proc)


def launch(
    conf: dict[str, str],
    output: Callable[[str], None],
    scratch: Path,
    *,
    address: str | None,
    verbose: bool,
    packages: Sequence[Path] = (),
) -> Jvm:
    """Start the JVM.

    The JVM has its own session: otherwise signals to this process's group (a closed terminal, `timeout`) would end it in
    the middle of a batch. It still ends with this process, because it reads a pipe from this process.

    Args:
        conf: Spark properties.
        output: called with each line of the JVM's standard output: the rows of console sinks.
        scratch: a folder for Java's temporary files, and for an empty folder as Spark's configuration folder.
        address: the address on which Spark's UI listens; None means every address.
        verbose: whether Spark's INFO lines are logged.
        packages: jars after Spark's own on the class path.

    Raises:
        NotReady: `JvmNotStarted`, with the last lines that the JVM wrote.
    """
    _set_environment(scratch, address)
    options = conf["spark.driver.extraJavaOptions"]
    spark, stream, task = ("info", "error", "warn") if verbose else ("warn", "off", "off")
    levels = f"-Dmainstem.spark.level={spark} -Dmainstem.stream.level={stream} -Dmainstem.task.level={task}"
    # A killed JVM cannot remove its native libraries and artifacts; they are removed with the scratch folder.
    temporary = shlex.quote(f"-Djava.io.tmpdir={scratch}")
    conf = conf | {"spark.driver.extraJavaOptions": f"{options} {levels} {temporary}"}
    pump = _Pump(output)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    if SparkContext._active_spark_context is None:  # noqa: SLF001
        # pyspark would ask the JVM of an earlier session of this process, which has ended.
        SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    settings = SparkConf(loadDefaults=False).setAll(list(conf.items()))

    def command(arguments: list[str]) -> list[str]:
        home = Path(os.environ["SPARK_HOME"])
        return command_line.driver(os.environ["JAVA_HOME"], home, conf, arguments, os.environ, packages)

    try:
        with _popen_hook(command, pump.start):
            gateway = launch_gateway(settings, pipes)
    except PySparkRuntimeError:
        raise NotReady(
            f"Spark's JVM did not start: {pump.last_lines()}", reason=reasons.JVM_NOT_STARTED
        ) from None
    except BaseException:  # an interrupt
        # Without the file into which it writes its port, the JVM would go on for ever.
        pump.kill()
        raise
    gateway.jvm = JavaClasses(gateway.jvm)
    if os.environ.get(command_line.DUMP):
        from mainstem.runtime.spark import class_data_sharing

        class_data_sharing.load_clients(gateway.jvm)
        atexit.register(_await_end, gateway.proc)
    return Jvm(gateway, pump.last_lines)


def _await_end(process: subprocess.Popen[bytes]) -> None:
    """Close the JVM's pipe, which ends it, and wait until it has ended: it may write its class archive first."""
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


def _set_environment(scratch: Path, address: str | None) -> None:
    """Set the environment so that the JVM uses the installed pyspark and no settings of another Spark on the machine."""
    # Not Java's temporary folder: for every executor that Spark requests, it reads all files of its configuration folder.
    settings = scratch / "spark-conf"
    settings.mkdir(exist_ok=True)
    for name in (
        "PYSPARK_GATEWAY_PORT",
        "PYSPARK_GATEWAY_SECRET",
        "PYSPARK_SUBMIT_ARGS",
        "PYSPARK_PIN_THREAD",
        "SPARK_LOCAL_IP",
    ):
        os.environ.pop(name, None)
    os.environ |= {
        "JAVA_HOME": java.home(),
        "SPARK_HOME": str(command_line.spark_home()),
        "SPARK_CONF_DIR": str(settings),
        **({"SPARK_LOCAL_IP": address} if address else {}),
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
        # All Python workers of the JVM must compute the same hash of a string.
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),
    }


class _Pump:
    """Reads both pipes of the JVM from its start on, so that the JVM never waits for a reader; ends a JVM that nobody needs."""

    def __init__(self, output: Callable[[str], None]) -> None:
        self._output = output
        self._log = logs.get("spark")
        self._last_lines: dict[str, list[str]] = {"stderr": [], "stdout": []}
        self._process: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """End the process at once, if it has started."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def last_lines(self) -> str:
        """The last lines outside the log, on one line; a JVM that cannot start writes its error to one of the pipes."""
        return (
            " | ".join(self._last_lines["stderr"] or self._last_lines["stdout"]) or "the JVM wrote no output"
        )

    def start(self, process: subprocess.Popen[bytes]) -> None:
        """Read both pipes of the process, each in a thread of its own."""
        self._process = process
        for pipe, take in ((process.stdout, self._row), (process.stderr, self._log_line)):
            if pipe is not None:
                threading.Thread(target=_read, args=(pipe, take), daemon=True, name="spark-output").start()

    def _row(self, line: str) -> None:
        self._keep("stdout", line)
        self._output(line)

    def _keep(self, stream: str, line: str) -> None:
        if not _FRAME.match(line):  # keep the message of an exception, not its stack trace
            self._last_lines[stream] = [*self._last_lines[stream][-4:], line]

    def _log_line(self, line: str) -> None:
        try:
            record = json.loads(line)
            level, text = _LEVELS.get(record["l"], "debug"), str(record["m"])
        except (ValueError, KeyError, TypeError):
            self._keep("stderr", line)
            self._log.debug(line)
            return
        if _HARMLESS in str(record.get("x")):
            return
        fields = {"spark_logger": record.get("c", "").rpartition(".")[2]}
        if record.get("x"):
            fields["error"] = str(record["x"]).splitlines()[0]
        getattr(self._log, level)(text.splitlines()[0] if text else "", **fields)
        if record.get("t"):
            self._log.debug(str(record["t"]))


def _read(pipe: IO[bytes], take: Callable[[str], None]) -> None:
    with pipe:
        for line in pipe:
            take(line.decode("utf-8", errors="replace").rstrip("\n"))


class _popen_hook:  # noqa: N801 - reads as the context manager it is
    """While this context is open, pyspark starts the JVM directly instead of the script `spark-submit`.

    The script starts a first JVM, which computes the command line of the second one, with a class path in no fixed order.
    Also, pyspark does not return the process before the gateway runs, but its pipes must be read before that.
    """

    def __init__(
        self, command: Callable[[list[str]], list[str]], on_start: Callable[[subprocess.Popen[bytes]], None]
    ) -> None:
        self._command = command
        self._on_start = on_start

    def __enter__(self) -> None:
        from pyspark import java_gateway

        def popen(submit: list[str], **kwargs: Any) -> subprocess.Popen[bytes]:
            process: subprocess.Popen[bytes] = subprocess.Popen(self._command(submit[1:]), **kwargs)
            self._on_start(process)
            return process

        java_gateway.Popen = popen

    def __exit__(self, *_exc: object) -> None:
        from pyspark import java_gateway

        java_gateway.Popen = subprocess.Popen
