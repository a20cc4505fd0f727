"""The Java of servers and drivers: that of the app."""

from pathlib import Path

from mainstem.errors import NotReady
from mainstem.runtime.spark import java

from harness.errors import HarnessError


SHORT_LIVED = {"JDK_JAVA_OPTIONS": java.SHORT_LIVED}
"""Environment of a driver whose JVM lives for seconds."""


def find_java() -> Path:
    """The executable of a Java that Spark supports.

    :raises HarnessError: when there is none.
    """
    try:
        return Path(java.home()) / "bin" / "java"
    except NotReady as error:
        raise HarnessError(str(error)) from error
