"""A class archive for Spark's JVM, like that of the app's image: it saves each driver of a test seconds."""

import os
import subprocess
import sys
from pathlib import Path

import mainstem_jars
from mainstem.runtime.spark import java
from mainstem.runtime.spark.command_line import ARCHIVE, class_path, spark_home

from harness.cache import content_hash


FOLDER = Path(__file__).resolve().parents[2] / "build" / "classes"
"""In the checkout, for an archive names the jars by their place; some 250 MB."""
_WITHIN = 600.0


def environment() -> dict[str, str]:
    """Environment of drivers that use the archive of these jars; empty where none can be created. Creates a missing one."""
    if os.environ.get(ARCHIVE):
        return {}
    target = FOLDER / f"{_key()}.jsa"
    if not target.exists() and not _made(target):
        return {}
    return {ARCHIVE: str(target)}


def _key() -> str:
    """Java refuses an archive of other jars, of another order of them, and of another time of any."""
    jars = class_path(mainstem_jars.paths(), spark_home()).split(":")
    times = [f"{jar} {Path(jar).stat().st_size} {Path(jar).stat().st_mtime_ns}" for jar in jars]
    return content_hash(os.path.realpath(java.home()), *times)


def _made(target: Path) -> bool:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    part = target.with_suffix(f".{os.getpid()}")  # no reader gets an incomplete file
    command = [sys.executable, "-m", "mainstem.runtime.spark.class_data_sharing", str(part)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_WITHIN, check=False)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode:
        sys.stderr.write(f"no archive of classes, all drivers start slower: {done.stderr[-2000:]}\n")
        return False
    part.rename(target)
    return True
