"""Jars that a document needs in addition to Mainstem's: connectors, database drivers, functions."""

import posixpath
import re
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from mainstem.language.base import LIST_SET, MAX_ITEMS, UNIQUE, Model, Text, pattern


Coordinate = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9][A-Za-z0-9_.-]*$",
        max_length=255,
    ),
]
"""An artifact of a Maven repository: `group:artifact:version`."""
SCALA: Final = "2.13"
"""The Scala version of Spark. An artifact whose name ends in another version does not run on it."""


class Packages(Model):
    """Jars besides Mainstem's own, for driver and executors. On one machine `mainstem run` resolves
    them. On a cluster the image has them. If a jar is missing there, the driver does not start (`PackagesMissing`).
    """

    maven: Annotated[
        tuple[Coordinate, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_SET), UNIQUE
    ] = ()
    """Artifacts, `group:artifact:version`; Mainstem adds their dependencies. The version is one exact release."""
    jars: Annotated[tuple[Text, ...], Field(max_length=MAX_ITEMS, json_schema_extra=LIST_SET), UNIQUE] = ()
    """Jar files: local paths, relative to the document. On a cluster only the file name matters."""
    repositories: Annotated[tuple[Text, ...], Field(max_length=16, json_schema_extra=LIST_SET), UNIQUE] = ()
    """URLs of Maven repositories, searched after Maven Central. `$MAINSTEM_IVY_SETTINGS` replaces these and Maven
    Central."""

    @property
    def files(self) -> tuple[str, ...]:
        """The file names of all jars of the document, those of Maven first."""
        return (*map(jar_of, self.maven), *map(posixpath.basename, self.jars))


def is_coordinate(text: str) -> bool:
    """Whether a text is an artifact's `group:artifact:version`."""
    return re.fullmatch(pattern(Coordinate), text) is not None


def jar_of(coordinate: str) -> str:
    """The file name of an artifact.

    >>> jar_of("org.mariadb.jdbc:mariadb-java-client:3.5.6")
    'mariadb-java-client-3.5.6.jar'
    """
    _, artifact, version = coordinate.split(":")
    return f"{artifact}-{version}.jar"
