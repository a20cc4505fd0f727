"""Runs of the compared programs, each in a fresh folder and measured with all its processes."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import mainstem_jars
from mainstem.run import java


HERE: Final = Path(__file__).parent
BUILD: Final = HERE.parent / "build" / "bench"
HEAP: Final = "2g"
CORES: Final = os.cpu_count() or 1


class RunFailed(Exception):
    """A measured program failed, or wrote something else than it should."""


@dataclass(frozen=True)
class Measured:
    """What one run took.

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


def measure(command: Sequence[str], folder: Path, watched: Path) -> Measured:
    """Run the command to its end.

    Args:
        command: its arguments.
        folder: takes its log, run.log.
        watched: a file whose first sight is timed.

    Raises:
        RunFailed: it exits with another code than 0.
    """
    result, log = folder / "measured.json", folder / "run.log"
    wrapper = [sys.executable, str(HERE / "measure.py"), str(result), str(log), str(watched)]
    environment = os.environ | {"JAVA_HOME": java.home(), "SPARK_LOCAL_IP": "127.0.0.1", "TERM": "xterm"}
    subprocess.run([*wrapper, *command], env=environment, check=True)
    found = json.loads(result.read_text(encoding="utf-8"))
    if found["exit"] != 0:
        end = log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise RunFailed(f"exit code {found['exit']}; the end of {log}:\n{end}")
    return Measured(found["cpu"], found["driver"], found["wall"], found["first"])
