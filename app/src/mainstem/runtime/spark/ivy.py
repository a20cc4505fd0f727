"""Resolves artifacts of Maven repositories with the Ivy of Spark's distribution."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import quoteattr

from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.runtime.spark import command_line, java, scratch


TIMEOUT_SECONDS: Final = 600.0
"""Time-out of a resolution in seconds."""
_FAILED: Final = re.compile(r":: ([\w.-]+#[\w.-]+;\S+: .+?) *:*$")
_TROUBLE: Final = re.compile(
    r"(?:Server access error at url|SERVER ERROR:|problem while downloading|Exception:) ?(.*)"
)


def resolve(
    coordinates: Sequence[str],
    repositories: Sequence[str],
    target: Path,
    *,
    cache: Path | None = None,
    settings: Path | None = None,
) -> None:
    """Put the jars of artifacts and of their dependencies into a folder, as `artifact-version.jar`.

    Args:
        coordinates: the artifacts as `group:artifact:version`.
        repositories: URLs of repositories to search after Maven Central.
        target: the folder, which must exist.
        cache: the folder of Ivy's cache; None for a temporary folder.
        settings: an Ivy settings file, which replaces Maven Central and the repositories.

    Raises:
        NotReady: `PackagesNotResolved`, with the artifacts and Ivy's errors; `JavaNotFound`.
    """
    with scratch.folder() as own:
        (own / "ivy.xml").write_text(_module(coordinates), encoding="utf-8")
        (own / "settings.xml").write_text(_settings(repositories), encoding="utf-8")
        ivy_jars = sorted((command_line.spark_home() / "jars").glob("ivy-*.jar"))
        command: list[str | Path] = [
            f"{java.home()}/bin/java",
            f"-Djava.io.tmpdir={own}",
            "-jar",
            ivy_jars[-1],
        ]
        command += [
            "-ivy",
            own / "ivy.xml",
            "-settings",
            settings or own / "settings.xml",
            "-confs",
            "default",
        ]
        command += ["-cache", cache or own / "cache", "-types", "jar", "bundle", "-retrieve"]
        command += [f"{target}/[artifact]-[revision](-[classifier]).[ext]"]
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise _unresolved(coordinates, f"no answer within {TIMEOUT_SECONDS:g} seconds") from None
    if process.returncode:
        raise _unresolved(coordinates, cause_of(process.stdout + process.stderr))


def cause_of(output: str) -> str:
    """The cause of a failure from Ivy's output: artifacts that do not exist, and servers that do not answer.

    >>> cause_of("  :: a.b#c;1: not found")
    'a.b#c;1: not found'
    """
    lines = [line.strip() for line in output.splitlines()]
    failed = [match[1] for line in lines if (match := _FAILED.search(line))]
    trouble = [match[1] for line in lines if (match := _TROUBLE.search(line)) and match[1]]
    last = [line for line in lines if line][-1:]
    return "; ".join(list(dict.fromkeys([*failed, *trouble]))[:6] or last) or "Ivy wrote no output"


def _unresolved(coordinates: Sequence[str], cause: str) -> NotReady:
    return NotReady(
        f"the packages {', '.join(coordinates)} cannot be resolved: {cause}",
        reason=reasons.PACKAGES_NOT_RESOLVED,
        remedy="check the coordinates and the network; or name a mirror in packages.repositories or in the Ivy settings "
        "file of $MAINSTEM_IVY_SETTINGS; or list the jars in packages.jars",
    )


def _module(coordinates: Sequence[str]) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(group)} name={quoteattr(name)} rev={quoteattr(version)} conf='default->default' force='true'/>"
        for group, name, version in (each.split(":") for each in coordinates)
    )
    return (
        "<ivy-module version='2.0'><info organisation='dev.mainstem' module='packages'/>"
        "<configurations><conf name='default'/></configurations>"
        f"<publications/><dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _settings(repositories: Sequence[str]) -> str:
    mirrors = "".join(
        f"<ibiblio name='repository-{number}' m2compatible='true' root={quoteattr(url)}/>"
        for number, url in enumerate(repositories)
    )
    return (
        "<ivysettings><settings defaultResolver='all'/><resolvers><chain name='all'>"
        f"<ibiblio name='central' m2compatible='true'/>{mirrors}</chain></resolvers></ivysettings>"
    )
