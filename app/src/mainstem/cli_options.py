"""What the commands of the command line share: options, and how an interrupt ends them."""

from typing import Any

import click

from mainstem import interrupts


class Commands(click.Group):
    """The group of commands; an interrupt ends a command with one line and the exit code that shells expect."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command; click's own answer to an interrupt is an empty line, "Aborted!" and exit code 1."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            interrupts.tell()
            context.exit(interrupts.EXIT_CODE)


def _parameters(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [item.partition("=") for item in given]
    for name, equals, _ in pairs:
        if not equals:
            raise click.BadParameter(f"{name!r} is not NAME=VALUE")
    return {name: value for name, _, value in pairs}


def parse_duration(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    """Seconds of a duration on the command line."""
    from mainstem.language.base import seconds

    try:
        return None if given is None else seconds(given)
    except (ValueError, KeyError):
        raise click.BadParameter(f"{given!r} is not a duration such as '30 seconds' or '30s'") from None


def parse_heap(_context: click.Context, _option: click.Parameter, given: str) -> str:
    """A size of the Java heap that Java takes and Spark starts with."""
    from mainstem.language.model.deployment import HEAP, LEAST_HEAP, WANTED_HEAP, memory_bytes

    heap = given.lower()
    if not HEAP.fullmatch(heap):
        raise click.BadParameter(f"{given!r} is not a size such as 512m or 2g")
    if memory_bytes(heap) < LEAST_HEAP:
        raise click.BadParameter(f"{given!r} is too small for Spark: at least {WANTED_HEAP}")
    return heap


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parameters,
    help="Value of a parameter.",
)
query_option = click.option(
    "--query", "queries", multiple=True, metavar="NAME", help="Only this query; may be repeated."
)
verbose_option = click.option("--verbose", "-v", is_flag=True, help="Spark's INFO lines, and stack traces.")
