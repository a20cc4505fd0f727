"""`mainstem diff`: what the change from one document to another does to each query, before anything restarts."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from mainstem.cli_errors import fail
from mainstem.cli_options import set_option
from mainstem.errors import MainstemError
from mainstem.reasons import Exit


if TYPE_CHECKING:
    from mainstem.changes.verdict import Change, Verdict
    from mainstem.language.document import Document

_CONSEQUENCES: Final = {
    "unchanged": "keeps its checkpoint and its state",
    "live": "takes the change without a restart",
    "continues": "restarts at a batch's end, and continues with its state",
    "empty": "starts without state, and reads its sources from their start",
    "removed": "stops at a batch's end; its checkpoint stays",
    "misreads": "REFUSED: it would start, but its rows could be wrong",
    "incompatible": "REFUSED: it cannot start on its checkpoint",
}
_PART: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_RUNS_ON: Final = "The running driver takes the change over: only the queries that it concerns restart, each at a batch's end."
_REFUSED: Final = "A running driver refuses this document, and every query continues with the previous one."
_DRIVER: Final = "Then each query stops at a batch's end and continues from its checkpoint."


@click.command()
@click.argument("old", type=click.Path(dir_okay=False))
@click.argument("new", type=click.Path(dir_okay=False))
@set_option
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def diff(old: str, new: str, overrides: dict[str, str], output: str) -> None:
    """Compare OLD, the running document, with NEW, and show what happens to each query and its checkpoint.

    Exit code 5: a query must not start on its checkpoint, because it would misread the checkpoint or cannot use it.
    """
    from mainstem.changes import compare
    from mainstem.changes.transition import transition
    from mainstem.language.document import read

    file = old
    try:
        before = read(old, overrides)
        file = new
        after = read(new, overrides)
    except MainstemError as error:
        fail(error, file, verbose=False)
    verdict = replace(compare(before.graph, after.graph), driver=transition(before.graph, after.graph).driver)
    if output == "json":
        click.echo(json.dumps(_json(verdict, before, after), indent=2))
    else:
        for line in _text(verdict, before, after, shutil.get_terminal_size((80, 24)).columns):
            click.echo(line)
    sys.exit(Exit.NOT_READY if verdict.refused else Exit.OK)


def place(path: str, *documents: "Document") -> tuple[str, int]:
    """File and line of a field with named items, such as `spec.views[daily].sql`, in the first document that has it.

    If no document has the field, the line is that of the nearest field above it in the first document.
    """
    parts = [match[1] if match[1] is not None else match[2] for match in _PART.finditer(path)]
    candidates = [(document, _positions(document, parts)) for document in documents]
    document, positions = next((each for each in candidates if len(each[1]) == len(parts)), candidates[0])
    return document.file, document.text.where(tuple(positions))[0]


def _positions(document: "Document", parts: list[str]) -> list[str | int]:
    """The path with the positions of items, as far as the document has it."""
    data: Any = document.text.data
    positions: list[str | int] = []
    for part in parts:
        if isinstance(data, list):
            places = [
                at for at, item in enumerate(data) if isinstance(item, dict) and item.get("name") == part
            ]
            if not places:
                break
            positions.append(places[0])
            data = data[places[0]]
        elif isinstance(data, dict) and part in data:
            positions.append(part)
            data = data[part]
        else:
            break
    return positions


def _text(verdict: "Verdict", before: "Document", after: "Document", width: int) -> Iterator[str]:
    from mainstem.changes.refusals import refused_queries

    names = max([len("QUERY"), *(len(query.query) for query in verdict.queries)])
    effects = max(map(len, _CONSEQUENCES))
    yield f"{'QUERY':{names}}  {'EFFECT':{effects}}  CONSEQUENCE"
    for query in verdict.queries:
        start = f"{query.query:{names}}  {query.effect:{effects}}  "
        yield from textwrap.wrap(
            start + _CONSEQUENCES[query.effect], width, subsequent_indent=" " * len(start)
        )
    for query in verdict.queries:
        if query.changes:
            yield ""
            yield f"{query.query}:"
        for change in query.changes:
            yield from _change_lines(change, before, after, width)
    yield ""
    if refused_queries(verdict, after.graph.pipeline):
        yield from textwrap.wrap(_REFUSED, width)
    elif verdict.driver:
        restart = f"The driver restarts for {', '.join(verdict.driver)}. {_DRIVER}"
        yield from textwrap.wrap(restart, width)
    elif any(query.effect not in ("unchanged", "live") for query in verdict.queries):
        yield from textwrap.wrap(_RUNS_ON, width)
    else:
        yield "Nothing restarts."


def _change_lines(change: "Change", before: "Document", after: "Document", width: int) -> Iterator[str]:
    file, line = place(change.path, after, before)
    yield f"  {file}:{line}: {change.path} [{change.effect}]"
    indent = " " * 4
    texts = [change.text, *([f"to do: {change.remedy}"] if change.remedy else [])]
    for text in texts:
        yield from textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)


def _json(verdict: "Verdict", before: "Document", after: "Document") -> dict[str, Any]:
    return {
        "queries": [
            {
                "query": query.query,
                "effect": query.effect,
                "consequence": _CONSEQUENCES[query.effect],
                "changes": [_change_json(change, before, after) for change in query.changes],
            }
            for query in verdict.queries
        ],
        "driver": list(verdict.driver),
        "refused": [query.query for query in verdict.refused],
    }


def _change_json(change: "Change", before: "Document", after: "Document") -> dict[str, Any]:
    file, line = place(change.path, after, before)
    return {
        "path": change.path,
        "effect": change.effect,
        "text": change.text,
        "remedy": change.remedy,
        "file": file,
        "line": line,
    }
