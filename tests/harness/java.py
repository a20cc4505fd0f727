import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mainstem.runtime.spark.java import SHORT_LIVED as OPTIONS

from harness.errors import HarnessError


VERSIONS = ("17", "21")
SHORT_LIVED = {"JDK_JAVA_OPTIONS": OPTIONS}
"""Environment of a driver whose JVM lives for seconds."""


def find_java() -> Path:
    """Return a `java` of version 17 or 21: from /usr/lib/jvm, for the default may be newer, else JAVA_HOME, else PATH.

    :raises HarnessError: when none of them has one.
    """
    for java in _candidates():
        if java.is_file() and _is_wanted(java):
            return java
    raise HarnessError(
        "Java 17 or 21 is needed, in /usr/lib/jvm, JAVA_HOME or PATH: openjdk-17-jre-headless on Debian"
    )


def _candidates() -> Iterator[Path]:
    for version in VERSIONS:
        yield from sorted(Path("/usr/lib/jvm").glob(f"*{version}*/bin/java"))
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    if home:
        yield Path(home) / "bin" / "java"
    if on_path:
        yield Path(on_path)


def _is_wanted(java: Path) -> bool:
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    return any(f'version "{version}.' in answer.stderr for version in VERSIONS)
