"""`mainstem packages`: installs jars into an image; a Dockerfile runs this command."""

import os
from pathlib import Path

import click

from mainstem import names
from mainstem.errors import MainstemError


@click.group()
def packages() -> None:
    """Add jars to an image, such as connectors and JDBC drivers."""


@packages.command()
@click.argument("wanted", nargs=-1, required=True, metavar="WHAT...")
@click.option(
    "--repository", "repositories", multiple=True, metavar="URL", help="A Maven repository; may be repeated."
)
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"The folder for the jars. Default: ${names.ENV_PACKAGES}, which images set.",
)
def install(wanted: tuple[str, ...], repositories: tuple[str, ...], into: Path | None) -> None:
    """Copy jars into the image's folder, which is on the class path of driver and executors.

    WHAT is a Maven coordinate (group:artifact:version), a jar, or a document, which stands for its spec.packages.
    """
    from mainstem.logs import redact

    try:
        for name in _install(wanted, repositories, into):
            click.echo(name)
    except MainstemError as error:
        click.echo(redact(f"error: {error}"), err=True)
        raise SystemExit(error.exit_code) from None


def _install(wanted: tuple[str, ...], repositories: tuple[str, ...], into: Path | None) -> list[str]:
    from mainstem.language.document import read
    from mainstem.language.model.packages import Packages, is_coordinate
    from mainstem.runtime.spark.packages import install

    default = os.environ.get(names.ENV_PACKAGES)
    target = into or (Path(default) if default else None)
    if target is None:
        raise click.UsageError(f"the folder for the jars is missing; use --into, or set {names.ENV_PACKAGES}")
    maven = [each for each in wanted if is_coordinate(each)]
    jars = [each for each in wanted if each.endswith(".jar") and each not in maven]
    parts = [(Packages(maven=tuple(maven), jars=tuple(jars), repositories=repositories), Path())]
    for each in wanted:
        if each not in maven and each not in jars:
            own = read(each).pipeline.spec.packages
            own = own.model_copy(update={"repositories": (*own.repositories, *repositories)})
            parts.append((own, Path(each).parent))
    return sorted({name for part, folder in parts for name in install(part, folder, target)})
