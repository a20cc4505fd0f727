"""A JVM that compiles once has as much room for its code as one that compiles twice."""

import os
import subprocess

import pytest
from harness.java import find_java
from mainstem.runtime.spark.java import SHORT_LIVED


def code_cache(*options: str) -> int:
    """Bytes that Java reserves for compiled code."""
    command = [find_java(), *options, "-XX:+PrintFlagsFinal", "-version"]
    plain = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    flags = subprocess.run(command, env=plain, capture_output=True, text=True, check=True).stdout
    [line] = [line for line in flags.splitlines() if " ReservedCodeCacheSize " in line]
    return int(line.split("=")[1].split()[0])


@pytest.mark.S28
def test_a_single_compiler_gets_as_much_code_cache_as_two() -> None:
    """Java reserves a fifth for one compiler alone. A driver filled it in three minutes, and its JVM ended."""
    assert code_cache("-XX:TieredStopAtLevel=1") < code_cache()
    assert code_cache(*SHORT_LIVED.split()) >= code_cache()
