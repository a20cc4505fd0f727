"""The jars that Spark needs for Mainstem, as files beside this module."""

from pathlib import Path


def paths() -> list[Path]:
    """Every jar, sorted by name, so that a class path made from it is the same on each machine.

    Raises:
        FileNotFoundError: the wheel was built before `make jars` had filled its folder.
    """
    found = sorted((Path(__file__).parent / "jars").glob("*.jar"))
    if not found:
        raise FileNotFoundError("mainstem-jars has no jars: run `make jars`, or install the wheel")
    return found
