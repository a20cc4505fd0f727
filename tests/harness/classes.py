"""A class archive for Spark's JVM, like that of the app's image: it saves each driver of a test seconds.

Java takes an archive only for the jars with which it was written: the same files, by their place or by their inode. So
the archive is written with links to the jars that lie in the cache, and fits every checkout whose jars are these files.
"""

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import IO, Final

import mainstem_jars
from mainstem.runtime.spark import java
from mainstem.runtime.spark.command_line import ARCHIVE, spark_home

from harness.cache import build_once, content_hash, keep_newest
from harness.errors import HarnessError


_WITHIN: Final = 600.0
_KEPT: Final = 3
"""Archives of some 250 MB, and as many folders of links; those used longest ago go."""


def environment() -> dict[str, str]:
    """Environment of drivers that use the archive of these jars; empty where none can be created. Creates a missing one."""
    if os.environ.get(ARCHIVE):
        return {}
    packages = spark_home(), Path(mainstem_jars.__file__).parent
    key = _key(packages)
    try:
        links = build_once("class-path", key, partial(_link, packages))
        archive = build_once("classes", key, partial(_write, links.path))
    except HarnessError as error:
        sys.stderr.write(f"no archive of classes, all drivers start slower: {error}\n")
        return {}
    for used in (links, archive):
        keep_newest(used.path, _KEPT)
    return {ARCHIVE: str(archive.path / "classes.jsa")}


def _key(packages: tuple[Path, ...]) -> str:
    """Java refuses an archive of other jars, of another order of them, and of another time of any."""
    jars = (jar for package in packages for jar in sorted((package / "jars").glob("*.jar")))
    files = ((jar.name, jar.stat()) for jar in jars)
    facts = (f"{name} {stat.st_dev} {stat.st_ino} {stat.st_size} {stat.st_mtime_ns}" for name, stat in files)
    return content_hash(os.path.realpath(java.home()), *facts)


def _link(packages: tuple[Path, ...], folder: Path, _log: IO[str]) -> None:
    for package in packages:
        shutil.copytree(package, folder / package.name, copy_function=os.link)


def _write(class_path: Path, folder: Path, log: IO[str]) -> None:
    command = [sys.executable, "-m", "mainstem.runtime.spark.class_data_sharing", str(folder / "classes.jsa")]
    variables = os.environ | {"PYTHONPATH": str(class_path)}
    subprocess.run(command, env=variables, stdout=log, stderr=log, timeout=_WITHIN, check=True)
