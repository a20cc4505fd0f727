"""Options and arguments that all commands of `mainstem checkpoint` share, and their output."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import click

from mainstem.cli_errors import fail, fail_without_spark
from mainstem.cli_options import output_option, set_option
from mainstem.errors import MainstemError


Command = TypeVar("Command", bound=Callable[..., Any])


class Target(NamedTuple):
    """What the command line names.

    Attributes:
        root: the folder.
        query: the query of the document whose checkpoint it is; None without a document or without a query.
        graph: the document's graph.
    """

    root: Any
    query: Any = None
    graph: Any = None

    @property
    def pipeline(self) -> Any:
        """The document's pipeline; None without a document."""
        return None if self.graph is None else self.graph.pipeline


_file = click.option(
    "-f",
    "--file",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The document that names the checkpoint.",
)
_query = click.option("--query", metavar="NAME", help="The query of the document whose checkpoint it is.")


def command_options(command: Command) -> Command:
    """The options of all commands on one checkpoint."""
    return _file(_query(set_option(output_option(command))))


def target_of(
    path: str | None, file: str | None, query: str | None, overrides: dict[str, str], *, every: bool = False
) -> Target:
    """The folder that the command line names, by a path or by a document and a query."""
    from mainstem.checkpoints import finding

    if file is None:
        if path is None or query is not None:
            raise click.UsageError("name a path, or a document with -f")
        return Target(finding.opened(path))
    from mainstem.language.document import read

    graph = read(file, overrides).graph
    pipeline, spec = graph.pipeline, graph.spec
    chosen = _query_of(spec.queries, query, every=every or path is not None)
    if path is None:
        below = chosen.checkpoint_id if every and query else "" if every else chosen.checkpoint_path
        path = f"{spec.checkpoints.location.rstrip('/')}/{below}".rstrip("/")
    return Target(finding.opened(path, pipeline), chosen, graph)


def _query_of(queries: Any, name: str | None, *, every: bool) -> Any:
    """The named query; without a name the only one, or None if any will do."""
    names = [each.name for each in queries]
    if name is None and len(queries) != 1 and not every:
        raise click.UsageError(f"the document has several queries; name one with --query: {', '.join(names)}")
    if name is not None and name not in names:
        raise click.BadParameter(
            f"the document has no query {name!r}; its queries are {', '.join(names)}", param_hint="--query"
        )
    return next((each for each in queries if (name is None and len(queries) == 1) or each.name == name), None)


def write(shown: Any, output: str, text: Callable[[Any], str]) -> None:
    """Print the result of a command, as JSON or as text."""
    click.echo(json.dumps(shown, indent=2) if output == "json" else text(shown))


@contextmanager
def reporting(file: str | None) -> Iterator[None]:
    """Reports an error as all commands do."""
    try:
        yield
    except MainstemError as error:
        fail(error, file or "", verbose=False)
    except FileNotFoundError as error:
        from mainstem import reasons
        from mainstem.errors import NotReady

        message = f"{error.filename or error} disappeared during the command: a driver uses the checkpoint"
        fail(NotReady(message, reason=reasons.CHECKPOINT_IN_USE), file or "", verbose=False)
    except ImportError as error:
        fail_without_spark(error)
