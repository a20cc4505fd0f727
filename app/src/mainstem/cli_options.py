"""Options that several commands share, and the end of a command by an interrupt."""

from typing import Any

import click

from mainstem import interrupts


class Commands(click.Group):
    """The group of all commands. An interrupt ends a command with one line and the exit code that shells expect."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command. On an interrupt click itself would print an empty line and "Aborted!", with exit code 1."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt as interrupt:
            interrupts.report()
            context.exit(interrupts.exit_code(interrupt))


def _parameters(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [item.partition("=") for item in given]
    for name, equals, _ in pairs:
        if not equals:
            raise click.BadParameter(f"{name!r} has no value; write NAME=VALUE")
    return {name: value for name, _, value in pairs}


def parse_duration(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    """The seconds of a duration on the command line."""
    from mainstem.language.base import seconds

    try:
        return None if given is None else seconds(given)
    except (ValueError, KeyError):
        raise click.BadParameter(f"{given!r} is not a duration such as '30 seconds' or '30s'") from None


def parse_heap(_context: click.Context, _option: click.Parameter, given: str) -> str:
    """A size of the Java heap that Java accepts and that is large enough for Spark."""
    from mainstem.language.model.deployment import HEAP, LEAST_HEAP, WANTED_HEAP, memory_bytes

    heap = given.lower()
    if not HEAP.fullmatch(heap):
        raise click.BadParameter(f"{given!r} is not a size such as 512m or 2g")
    if memory_bytes(heap) < LEAST_HEAP:
        raise click.BadParameter(f"{given!r} is too small for Spark; give at least {WANTED_HEAP}")
    return heap


set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_parameters,
    help="The value of a parameter of the document; may be repeated.",
)
query_option = click.option(
    "--query", "queries", multiple=True, metavar="NAME", help="Use only this query; may be repeated."
)
output_option = click.option(
    "--output", type=click.Choice(["text", "json"]), default="text", show_default=True
)
cores_option = click.option(
    "--cores", type=click.IntRange(min=1), help="Threads for tasks. Default: the machine's cores."
)
heap_option = click.option(
    "--heap",
    default="2g",
    show_default=True,
    metavar="SIZE",
    callback=parse_heap,
    help="Java heap of the driver.",
)
verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Show Spark's INFO lines and stack traces."
)
