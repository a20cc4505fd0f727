"""Which queries must not start after a change, and the message about each; pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from mainstem.changes.verdict import REFUSED, Change, QueryVerdict, Verdict
from mainstem.language.model.pipeline import PipelineSpec, StreamingPipeline
from mainstem.language.yaml.yamltext import Path, parse_path


WAYS_OUT: Final = (
    "undo the change; or start with an empty checkpoint by a higher checkpoint.generation or by checkpoint.onChange: "
    "newGeneration; or accept the result by checkpoint.onChange: keep"
)
Place = Callable[[str], str]
"""Gives a field's path with its place in a file, if there is one."""


@dataclass(frozen=True)
class RefusedQuery:
    """A query that must not start with a changed document.

    Attributes:
        query: its name.
        message: the query, the changed fields, and what would go wrong.
    """

    query: str
    message: str


def refused_queries(verdict: Verdict, wanted: StreamingPipeline) -> tuple[RefusedQuery, ...]:
    """The refused queries of a verdict, without suspended ones and those that accept the change by `checkpoint.onChange`."""
    starting = {
        query.name
        for query in wanted.spec.queries
        if not query.suspend and not query.checkpoint.accepts_any_change
    }
    return tuple(
        RefusedQuery(each.query, message(each)) for each in verdict.refused if each.query in starting
    )


def message(verdict: QueryVerdict, place: Place = str) -> str:
    """What is wrong with a refused query, without the ways out."""
    refused = [change for change in verdict.changes if change.effect in REFUSED]
    return (
        f"the query {verdict.query!r} cannot continue from its checkpoint: "
        f"{'; '.join(_sentence(change, place) for change in refused)}"
    )


def _sentence(change: Change, place: Place) -> str:
    return f"{place(change.path)}: {change.text}"


def path_in(spec: PipelineSpec, field: str) -> Path:
    """The path of a field whose list items have names: `spec.views[daily].sql` is `("spec", "views", 0, "sql")`.

    The path ends before a name that the document does not have.
    """
    numbered = field
    for kind, name in re.findall(r"(?:^|\.)(\w+)\[([^\]]*[^\]\d][^\]]*)\]", field):
        names = [each.name for each in getattr(spec, kind, ())]
        if name not in names:
            return parse_path(numbered.partition(f"[{name}]")[0])
        numbered = numbered.replace(f"[{name}]", f"[{names.index(name)}]", 1)
    return parse_path(numbered)
