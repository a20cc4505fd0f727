"""The SQL texts of Spark's own tests, of the version in use: the jar of its tests, resolved by Maven into the cache."""

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pyspark

from harness import maven
from harness.cache import build_once
from harness.errors import HarnessError


_SHA256 = "810bef6fd568e1626aad7354a1161e9e5ac629fbc55ba0a9a4e3cec8c06376eb"
"""Of the jar, 53 MB; another version of Spark needs another one."""


def texts() -> Iterator[tuple[str, str]]:
    """The statements and queries: the file's name in the jar, the text without the comments between texts.

    :raises HarnessError: when Maven cannot resolve the jar, or when it is another one.
    """
    folder = build_once("spark-texts", f"{pyspark.__version__}-{_SHA256[:12]}", _resolve).path
    with zipfile.ZipFile(next(folder.glob("*.jar"))) as jar:
        for name in sorted(jar.namelist()):
            if name.endswith(".sql"):
                yield from ((name, text) for text in _split(jar.read(name).decode()))


def _resolve(target: Path, log: IO[str]) -> None:
    artifact = f"org.apache.spark:spark-sql_2.13:{pyspark.__version__}:jar:tests"
    maven.run(log, "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={target}")
    [jar] = target.glob("*.jar")
    if hashlib.sha256(jar.read_bytes()).hexdigest() != _SHA256:
        raise HarnessError(f"{artifact} is not the jar with the SHA-256 {_SHA256}")


def _split(script: str) -> Iterator[str]:
    """The texts of a file of Spark's tests: each ends with a semicolon at the end of a line, or with its block."""
    lines: list[str] = []
    within = False
    for line in script.splitlines():
        mark = line.strip()
        if mark.startswith("--"):
            within = "QUERY-DELIMITER-START" in mark or (within and "QUERY-DELIMITER-END" not in mark)
        else:
            lines.append(line)
        if (mark.startswith("--QUERY-DELIMITER-END") or mark.endswith(";")) and not within:
            yield from _text(lines)
            lines = []
    yield from _text(lines)


def _text(lines: list[str]) -> Iterator[str]:
    text = "\n".join(lines).strip().rstrip(";").strip()
    if text:
        yield text
