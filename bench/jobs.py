"""Runs of the compared programs, each in a fresh folder and measured with all its processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mainstem_jars
from mainstem.runtime.spark import java


HERE: Final = Path(__file__).parent
BUILD: Final = HERE.parent / "build" / "bench"
HEAP: Final = "2g"
CORES: Final = os.cpu_count() or 1


class RunFailed(Exception):
    """A measured program failed, or its output is wrong."""


@dataclass(frozen=True)
class Measured:
    """CPU and time of one run.

    Attributes:
        cpu: user and system seconds of all its processes.
        driver: those of the command's own process, the Python driver.
        wall: seconds until the command itself ended.
        first: seconds until the watched file was there; None where it never was.
    """

    cpu: float
    driver: float
    wall: float
    first: float | None


def fresh(name: str) -> Path:
    """An empty folder below build/bench."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def mainstem(document: str, values: Mapping[str, object], *options: str) -> list[str]:
    """The command line of `mainstem run`."""
    given = [part for name, value in values.items() for part in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "mainstem", "run", str(HERE / document)]
    return [*command, "--cores", str(CORES), "--heap", HEAP, *given, *options]


def by_hand(script: str, values: Mapping[str, object], *arguments: str) -> list[str]:
    """The command line of a hand-written job."""
    settings = {"cores": CORES, "heap": HEAP, "jars": jars()}
    given = [
        part
        for name, value in (settings | dict(values)).items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    return [sys.executable, str(HERE / script), *arguments, *given]


def jars() -> str:
    """The class path besides Spark's own."""
    return ":".join(map(str, mainstem_jars.paths()))


def measure(command: Sequence[str], folder: Path, watched: Path, **environment: str) -> Measured:
    """Run the command to its end.

    Args:
        command: its arguments.
        folder: takes its log, run.log.
        watched: a file whose first sight is timed.
        environment: variables besides those of this process.

    Raises:
        RunFailed: it exits with another code than 0.
    """
    result, log = folder / "measured.json", folder / "run.log"
    wrapper = [sys.executable, str(HERE / "measure.py"), str(result), str(log), str(watched)]
    subprocess.run([*wrapper, *command], env=_environment() | environment, check=True)
    figures = json.loads(result.read_text(encoding="utf-8"))
    if figures["exit"] != 0:
        end = log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise RunFailed(f"exit code {figures['exit']}; the end of {log}:\n{end}")
    return Measured(figures["cpu"], figures["driver"], figures["wall"], figures["first"])


@contextmanager
def running(command: Sequence[str], folder: Path, **environment: str) -> Iterator[None]:
    """Run the command, with further variables of the environment, for as long as the context is open; its log is run.log."""
    with (folder / "run.log").open("wb") as log:
        child = subprocess.Popen(
            command,
            env=_environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            yield
        finally:
            child.terminate()
            try:
                child.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def wait(folder: Path, holds: Callable[[], bool], seconds: float) -> None:
    """Wait until a condition of the running command is true.

    Raises:
        RunFailed: it does not within so many seconds; with the end of the log.
    """
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            end = (folder / "run.log").read_text(encoding="utf-8", errors="replace")[-3000:]
            raise RunFailed(f"not within {seconds:g} s; the end of the log:\n{end}")
        time.sleep(0.2)


def verdict(figure: str, measured: str, target: str, *, met: bool) -> None:
    """Print how a figure compares with its target."""
    print(f"\n{figure}: {measured}, target {target}: {'met' if met else 'NOT met'}\n")


def shorter(figure: str, times: float, least: float) -> None:
    """Print the verdict about how many times shorter a figure is with Mainstem."""
    verdict(f"{figure} is shorter by", f"{times:.1f} times", f"at least {least:g} times", met=times >= least)


def run_parts(parts: Mapping[str, Callable[[], Any]], arguments: Mapping[str, Any], name: str) -> None:
    """Run each part, which prints its table, and keep every figure of theirs in a file below build/bench."""
    results: dict[str, Any] = {"machine": {"cores": CORES, "heap": HEAP}, "arguments": dict(arguments)}
    for part, run in parts.items():
        results[part] = run()
    file = BUILD / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(f"every run: {file.relative_to(HERE.parent)}")


def note(text: str) -> None:
    """Print the progress, beside the tables."""
    print(text, file=sys.stderr, flush=True)


def _environment() -> dict[str, str]:
    return os.environ | {"JAVA_HOME": java.home(), "SPARK_LOCAL_IP": "127.0.0.1", "TERM": "xterm"}
