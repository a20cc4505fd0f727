"""Rules for jars: fixed versions, the Scala version of Spark, unique file names."""

import posixpath
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import show
from mainstem.language.model.packages import SCALA, jar_of
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_MOVING: Final = re.compile(r"^(latest|release|latest\..*)$|-snapshot$", re.IGNORECASE)
_SCALA: Final = re.compile(r"_(2\.1[0-9]|3)$")


def versions(context: Context) -> Iterator[Problem]:
    """A version is one release, not the latest one or a snapshot. A Scala artifact is built for Spark's Scala 2.13."""
    for index, coordinate in enumerate(context.spec.packages.maven):
        path: Path = ("packages", "maven", index)
        _, artifact, version = coordinate.split(":")
        if _MOVING.search(version):
            message = (
                f"the version {version} of {artifact} changes with time, so two starts of a document could run different "
                "code; use one fixed release"
            )
            yield context.problem(path, message, reasons.VERSION_NOT_PINNED)
        scala = _SCALA.search(artifact)
        if scala and scala[1] != SCALA:
            message = (
                f"{artifact} is built for Scala {scala[1]}, and Spark 4 runs Scala {SCALA}; use "
                f"{artifact[: scala.start()]}_{SCALA}, in a version for Spark 4"
            )
            yield context.problem(path, message, reasons.SCALA_MISMATCH)


def files(context: Context) -> Iterator[Problem]:
    """Jars are local files that end in `.jar`. File names are unique, because an image keeps all jars in one folder."""
    names: dict[str, str] = {jar_of(each): each for each in reversed(context.spec.packages.maven)}
    for index, coordinate in enumerate(context.spec.packages.maven):
        if names[jar_of(coordinate)] != coordinate:
            yield _duplicate(context, ("packages", "maven", index), coordinate, names[jar_of(coordinate)])
    for index, jar in enumerate(context.spec.packages.jars):
        path: Path = ("packages", "jars", index)
        if urlsplit(jar).scheme or not jar.endswith(".jar"):
            message = f"{show(jar)} is not a local path that ends in .jar; put artifacts of a repository under maven"
            yield context.problem(path, message, reasons.INVALID_VALUE)
        elif (other := names.setdefault(posixpath.basename(jar), jar)) != jar:
            yield _duplicate(context, path, jar, other)


def repositories(context: Context) -> Iterator[Problem]:
    """The address of a repository is an http or https URL."""
    for index, repository in enumerate(context.spec.packages.repositories):
        if not re.match(r"^https?://[^/\s]", repository):
            message = f"{show(repository)} is not a URL such as https://repo.example.com/maven"
            yield context.problem(("packages", "repositories", index), message, reasons.INVALID_ADDRESS)


def _duplicate(context: Context, path: Path, name: str, other: str) -> Problem:
    message = f"{show(name)} and {show(other)} have the same file name, and an image keeps all jars in one folder; remove one of them"
    return context.problem(path, message, reasons.DUPLICATE_NAME)
