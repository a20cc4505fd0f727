"""Finds a Java that Spark runs on."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mainstem import reasons
from mainstem.errors import NotReady


VERSIONS: Final = ("17", "21")
"""The versions that Spark 4.2 supports and Debian has as packages; the first one is tested most."""
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"""Options of a JVM that lives for seconds: on two cores the second compiler costs more time than it saves.

Java gives 48 MB to the code of a single compiler. Spark fills them, and a JVM whose code cache is full ends with a
`VirtualMachineError`. 240 MB is Java's default for both compilers; only the memory that is used counts.
"""


_OPTIONS: Final = "JDK_JAVA_OPTIONS"


@contextmanager
def started_with(options: str) -> Iterator[None]:
    """In the block, Java starts with these options, which count before those that the environment has."""
    before = os.environ.get(_OPTIONS)
    os.environ[_OPTIONS] = f"{before or ''} {options}".strip()
    try:
        yield
    finally:
        del os.environ[_OPTIONS]
        if before is not None:
            os.environ[_OPTIONS] = before


def home() -> str:
    """The home of a Java 17 or 21: `JAVA_HOME`, else a folder in /usr/lib/jvm, else the home of `java` on the PATH.

    Raises:
        NotReady: `JavaNotFound`.
    """
    for candidate in _candidates():
        if (candidate / "bin" / "java").exists() and _version(candidate) in VERSIONS:
            return str(candidate)
    raise NotReady(
        "no Java 17 or 21 was found",
        reason=reasons.JAVA_NOT_FOUND,
        remedy="install openjdk-17-jre-headless or openjdk-21-jre-headless, or set JAVA_HOME",
    )


def _candidates() -> Iterator[Path]:
    if java_home := os.environ.get("JAVA_HOME"):
        yield Path(java_home)
    for version in VERSIONS:
        yield from sorted(Path("/usr/lib/jvm").glob(f"*{version}*"))
    if java := shutil.which("java"):
        yield Path(java).resolve().parent.parent


def _version(candidate: Path) -> str | None:
    """The major version, from the `release` file if it exists, because starting a JVM takes time."""
    try:
        text = (candidate / "release").read_text(encoding="utf-8")
    except OSError:
        java = str(candidate / "bin" / "java")
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'(?:JAVA_VERSION=|version )"(\d+)', text)
    return match[1] if match else None
