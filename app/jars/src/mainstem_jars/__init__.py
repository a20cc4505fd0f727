"""The jars that Spark needs for Mainstem, as files beside this module."""

from pathlib import Path


def paths() -> list[Path]:
    """Every jar, sorted by name, so that a class path of these jars is the same on each machine.

    Raises:
        FileNotFoundError: the wheel was built without `make jars`.
    """
    jars = sorted((Path(__file__).parent / "jars").glob("*.jar"))
    if not jars:
        raise FileNotFoundError("mainstem-jars has no jars: run `make jars`, or install the wheel")
    return jars
