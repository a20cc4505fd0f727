"""Starts Spark's JVM as a child process, in a session of its own, and reads its output line by line."""

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

from pyspark import SparkConf
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway

from mainstem import logs
from mainstem.errors import NotReady
from mainstem.runtime.spark import command_line, java


# Spark waits a second for its driver's pod to be ready before it asks for executors, and a driver is ready once its
# queries run. Told as an error, with an exception, at every start.
_HARMLESS = "Timed out waiting for [1000] milliseconds for [Pod]"
_FRAME = re.compile(r"\s+at \S+\(|\s+\.\.\. \d+ more")
"""A line of a stack trace of Java's."""
_LEVELS = {"FATAL": "error", "ERROR": "error", "WARN": "warning", "INFO": "info"}


class Jvm(NamedTuple):
    """A running JVM of Spark.

    Attributes:
        gateway: py4j's.
        last_lines: the last lines that it said outside its log.
    """

    gateway: Any
    last_lines: Callable[[], str]


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

    The JVM leads a session of its own, because signals for this process's group (a closed terminal, `timeout`) would
    otherwise end it in the middle of a batch; it still ends with this process, whose pipe it reads.

    Args:
        conf: Spark properties.
        output: called with each line of the JVM's standard output: the rows of console sinks.
        scratch: a folder in which Java keeps its temporary files, and this an empty one for Spark's settings.
        address: where Spark's UI listens; None is every address.
        verbose: let Spark's INFO lines through.
        packages: jars behind Spark's own on the class path.

    Raises:
        NotReady: `JvmNotStarted`, with the last lines that the JVM said.
    """
    _own_environment(scratch, address)
    options = conf["spark.driver.extraJavaOptions"]
    spark, stream, task = ("info", "error", "warn") if verbose else ("warn", "off", "off")
    levels = f"-Dmainstem.spark.level={spark} -Dmainstem.stream.level={stream} -Dmainstem.task.level={task}"
    # Native libraries and artifacts, which a JVM that is killed cannot remove: they go with the scratch folder.
    temporary = shlex.quote(f"-Djava.io.tmpdir={scratch}")
    conf = conf | {"spark.driver.extraJavaOptions": f"{options} {levels} {temporary}"}
    pump = _Pump(output)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    settings = SparkConf(loadDefaults=False).setAll(list(conf.items()))

    def command(arguments: list[str]) -> list[str]:
        home = Path(os.environ["SPARK_HOME"])
        return command_line.driver(os.environ["JAVA_HOME"], home, conf, arguments, os.environ, packages)

    try:
        with _popen_hook(command, pump.start):
            gateway = launch_gateway(settings, pipes)
    except PySparkRuntimeError:
        raise NotReady(f"Spark's JVM did not start: {pump.last_lines()}", reason="JvmNotStarted") from None
    if os.environ.get(command_line.DUMP):
        from mainstem.runtime.spark import class_data_sharing

        class_data_sharing.load_clients(gateway.jvm)
        atexit.register(_ended, gateway.proc)
    return Jvm(gateway, pump.last_lines)


def _ended(process: subprocess.Popen[bytes]) -> None:
    """Wait for the JVM's end, which is when it writes its archive of classes; a closed pipe tells it to end."""
    if process.stdin is not None:
        process.stdin.close()
    process.wait()


def _own_environment(scratch: Path, address: str | None) -> None:
    """The JVM is that of the installed pyspark, with our settings alone, whatever Spark the machine has besides."""
    # Not Java's own folder: for every executor that it asks for, Spark reads the files of this one.
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
        "PYTHONHASHSEED": os.environ.get(
            "PYTHONHASHSEED", "0"
        ),  # of the JVM's Python workers: all hash a string alike
    }


class _Pump:
    """Reads both pipes of the JVM from the moment it is started, so that it never waits for a reader."""

    def __init__(self, output: Callable[[str], None]) -> None:
        self._output = output
        self._log = logs.get("spark")
        self._last_lines: dict[str, list[str]] = {"stderr": [], "stdout": []}

    def last_lines(self) -> str:
        """The last lines outside the log, on one line; a JVM that cannot start writes its error to either stream."""
        return (
            " | ".join(self._last_lines["stderr"] or self._last_lines["stdout"]) or "the JVM wrote no output"
        )

    def start(self, process: subprocess.Popen[bytes]) -> None:
        """Read both pipes of the process, each in a thread of its own."""
        for pipe, take in ((process.stdout, self._row), (process.stderr, self._log_line)):
            if pipe is not None:
                threading.Thread(target=_read, args=(pipe, take), daemon=True, name="spark-output").start()

    def _row(self, line: str) -> None:
        self._keep("stdout", line)
        self._output(line)

    def _keep(self, stream: str, line: str) -> None:
        if not _FRAME.match(line):  # what an exception says, not where
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
    """While this context is open, `spark-submit ARGUMENTS` is started as the JVM that it would end in.

    The script starts one JVM to ask it for the command line of the next, in which the class path has no fixed order.
    And pyspark keeps the process to itself until the gateway is up; its pipes must be read before that.
    """

    def __init__(
        self, command: Callable[[list[str]], list[str]], started: Callable[[subprocess.Popen[bytes]], None]
    ) -> None:
        self._command = command
        self._started = started

    def __enter__(self) -> None:
        from pyspark import java_gateway

        def popen(submit: list[str], **kwargs: Any) -> subprocess.Popen[bytes]:
            process: subprocess.Popen[bytes] = subprocess.Popen(self._command(submit[1:]), **kwargs)
            self._started(process)
            return process

        java_gateway.Popen = popen

    def __exit__(self, *_exc: object) -> None:
        from pyspark import java_gateway

        java_gateway.Popen = subprocess.Popen
