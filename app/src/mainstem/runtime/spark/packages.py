"""Finds the jars of a document's `packages`: in the image, and on one machine also as files and in Maven repositories."""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from mainstem import logs, names, reasons
from mainstem.errors import NotReady
from mainstem.language.model.packages import Packages, jar_of
from mainstem.runtime.spark import command_line, ivy


IVY_SETTINGS: Final = "MAINSTEM_IVY_SETTINGS"
"""Variable with the path of an Ivy settings file, which replaces Maven Central and `packages.repositories`.

The file may name mirrors, proxies and credentials.
"""


def class_path(packages: Packages, folder: Path | None) -> list[Path]:
    """The jars after those of Mainstem and Spark on the class path: the image's jars, then those that the image lacks.

    Args:
        packages: the packages of the document.
        folder: the folder of the document, for relative paths; None in a pod, whose image must have all jars.

    Raises:
        NotReady: `PackagesMissing`, `JarNotFound`, `PackagesNotResolved`.
    """
    image = command_line.image_jars(os.environ)
    image_names = {jar.name for jar in image}
    maven = [each for each in packages.maven if jar_of(each) not in image_names]
    jars = [each for each in packages.jars if Path(each).name not in image_names]
    if folder is None and (maven or jars):
        raise _missing(maven, jars)
    local = [_local(folder or Path(), jar) for jar in jars]
    maven_jars = _resolve(maven, packages.repositories) if maven else []
    return [*image, *local, *(jar for jar in maven_jars if jar.name not in image_names)]


def install(packages: Packages, folder: Path, target: Path) -> list[str]:
    """Copy jars into an image's folder of packages; returns their names.

    Args:
        packages: the packages to install.
        folder: the folder of the document, for relative paths.
        target: the image's folder of packages.

    Raises:
        NotReady: `JarNotFound`, `PackagesNotResolved`, `PathNotWritable`.
    """
    local = [_local(folder, jar) for jar in packages.jars]
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target, prefix=".part-") as part:
            if packages.maven:
                ivy.resolve(packages.maven, packages.repositories, Path(part), settings=_settings())
            jars = [*local, *_useful(Path(part).glob("*.jar"), packages.maven)]
            for jar in jars:
                shutil.copyfile(jar, target / jar.name)
    except OSError as error:
        message = f"{target} is not writable: {error.strerror or error}"
        raise NotReady(message, reason=reasons.PATH_NOT_WRITABLE) from None
    return sorted(jar.name for jar in jars)


def _missing(maven: Sequence[str], jars: Sequence[str]) -> NotReady:
    lines = ["FROM the current image of the pipeline"]
    lines += [f"RUN mainstem packages install {' '.join(maven)}"] if maven else []
    file_names = " ".join(Path(jar).name for jar in jars)
    lines += [f"COPY {file_names} {os.environ.get(names.ENV_PACKAGES, '')}/"] if jars else []
    return NotReady(
        f"the image has no {', '.join([*map(jar_of, maven), *(Path(jar).name for jar in jars)])}",
        reason=reasons.PACKAGES_MISSING,
        remedy=f"build an image from these lines and set it as spec.image: {' | '.join(lines)}",
    )


def _local(folder: Path, jar: str) -> Path:
    file = (folder / jar).absolute()
    if not file.is_file():
        raise NotReady(f"packages.jars: the file {file} does not exist", reason=reasons.JAR_NOT_FOUND)
    return file


def _resolve(maven: Sequence[str], repositories: Sequence[str]) -> list[Path]:
    """The jars of artifacts and of their dependencies, resolved once and then read from the cache."""
    settings = _settings()
    rules = settings.read_text(encoding="utf-8") if settings else ""
    key = hashlib.sha256(json.dumps([*maven, "", *repositories, "", rules]).encode()).hexdigest()[:16]
    entry = _cache() / key
    if not entry.is_dir():
        logs.get("mainstem").info("resolving packages", maven=", ".join(maven))
        entry.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=entry.parent, prefix=f"{key}-"))
        try:
            ivy.resolve(maven, repositories, part, cache=entry.parent / "ivy", settings=settings)
            try:
                part.rename(entry)
            except OSError:  # another run was faster
                shutil.rmtree(part)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
    return _useful(entry.glob("*.jar"), maven)


def _useful(jars: Iterable[Path], maven: Sequence[str]) -> list[Path]:
    """The jars without those that Spark or Mainstem has, in any version; jars of named artifacts stay.

    Spark's jars come first on the class path. From another version of such a jar the JVM would load only the classes that
    Spark's version lacks, and these do not fit the others.
    """
    named_jars = set(map(jar_of, maven))
    own = {_artifact(jar.name) for jar in [*(command_line.spark_home() / "jars").glob("*.jar"), *_own_jars()]}
    return sorted(jar for jar in jars if jar.name in named_jars or _artifact(jar.name) not in own)


def _own_jars() -> list[Path]:
    try:
        import mainstem_jars

        return mainstem_jars.paths()
    except (ImportError, FileNotFoundError):
        return []


def _artifact(file: str) -> str:
    """The name of a jar's artifact, without its version.

    >>> _artifact("scala-library-2.13.18.jar"), _artifact("spark-sql_2.13-4.2.0.jar")
    ('scala-library', 'spark-sql_2.13')
    """
    return re.split(r"-(?=\d)", file.removesuffix(".jar"))[0]


def _settings() -> Path | None:
    file = os.environ.get(IVY_SETTINGS)
    if file and not Path(file).is_file():
        raise NotReady(
            f"the file {file} of ${IVY_SETTINGS} does not exist", reason=reasons.PACKAGES_NOT_RESOLVED
        )
    return Path(file) if file else None


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "mainstem" / "packages"
