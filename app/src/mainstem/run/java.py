"""Where Java 17 is."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mainstem.errors import NotReady


def home() -> str:
    """The home of a Java 17: `JAVA_HOME` if it is one, else one below /usr/lib/jvm, else that of `java` on the path.

    Raises:
        NotReady: `JavaNotFound`.
    """
    for candidate in _candidates():
        if (candidate / "bin" / "java").exists() and _version(candidate) == "17":
            return str(candidate)
    raise NotReady(
        "Java 17 was not found",
        reason="JavaNotFound",
        remedy="install openjdk-17-jre-headless, or set JAVA_HOME to a Java 17",
    )


def _candidates() -> Iterator[Path]:
    if given := os.environ.get("JAVA_HOME"):
        yield Path(given)
    yield from sorted(Path("/usr/lib/jvm").glob("*17*"))
    if found := shutil.which("java"):
        yield Path(found).resolve().parent.parent


def _version(candidate: Path) -> str | None:
    """Major version; from the `release` file, which is there for every JDK and spares starting a JVM."""
    try:
        text = (candidate / "release").read_text(encoding="utf-8")
    except OSError:
        java = str(candidate / "bin" / "java")
        text = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'(?:JAVA_VERSION=|version )"(\d+)', text)
    return match[1] if match else None
