"""The Kafka broker's jars: what kafka/pom.xml names and all that it needs, resolved by Maven into the cache."""

import re
from pathlib import Path
from typing import IO

from harness import maven
from harness.cache import Built, build_once, content_hash


_POM = Path(__file__).parent / "kafka" / "pom.xml"


def build() -> Built:
    """Return the folder of the jars; resolve it unless it is cached.

    :raises HarnessError: when there is no Maven, or when it cannot resolve them.
    """
    match = re.search(r"<kafka\.version>(.+)</kafka\.version>", _POM.read_text())
    assert match, "kafka/pom.xml names the version as kafka.version"
    return build_once("kafka", f"{match[1]}-{content_hash(_POM)}", _resolve)


def _resolve(target: Path, log: IO[str]) -> None:
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    maven.run(log, "-f", str(_POM), *goal)
