"""Names in SQL: columns and functions that certainly do not exist, and columns that two relations have."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import did_you_mean, nearest_of
from mainstem.language.rules.context import Context
from mainstem.language.sql import other_dialects
from mainstem.language.sql.builtins import BUILTINS
from mainstem.language.sql.columns import UnresolvedName
from mainstem.language.sql.facts import unknown_calls


_NOT_READ: Final = (
    "Mainstem cannot read the SQL from here, and checks nothing of this view; only Spark checks it: `mainstem preflight` shows "
    "what it finds"
)
_MOST_SHOWN: Final = 20
"""Columns that a message lists."""
_MOST_COMPARED: Final = 200
"""Columns that are compared to find the most similar name."""


def unread(context: Context) -> Iterator[Problem]:
    """A warning: SQL of a view that cannot be read without Spark, so that nothing of it is checked."""
    for index, view in enumerate(context.spec.views):
        facts = context.graph.facts[view.name]
        if facts.unread is not None and not facts.refusals:
            foreign = facts.foreign
            message = f"Spark has no {foreign.name}: {foreign.advice}. {_NOT_READ}" if foreign else _NOT_READ
            offset = foreign.offset if foreign else facts.unread
            yield context.problem(
                ("views", index, "sql"), message, reasons.SQL_NOT_READ, offset=offset, warning=True
            )


def columns(context: Context) -> Iterator[Problem]:
    """Every column in a view's SQL is a column of a relation that the view reads, if the columns of its relations are known."""
    for index, faults in _faults(context):
        for fault in faults:
            if not fault.owners:
                yield context.problem(
                    ("views", index, "sql"), _missing(fault), reasons.UNKNOWN_COLUMN, offset=fault.start
                )


def ambiguous_columns(context: Context) -> Iterator[Problem]:
    """A column that two relations of a FROM clause have must be qualified with its relation."""
    if context.has_conf("spark.sql.caseSensitive"):
        return
    for index, faults in _faults(context):
        for fault in faults:
            if fault.owners:
                ways = " or ".join(f"{owner}.{fault.name}" for owner in fault.owners)
                message = f"{' and '.join(fault.owners)} have a column {fault.name!r} each; write {ways}"
                yield context.problem(
                    ("views", index, "sql"), message, reasons.AMBIGUOUS_COLUMN, offset=fault.start
                )


def functions(context: Context) -> Iterator[Problem]:
    """Every function that a view's SQL calls is defined by Spark or by the document."""
    if any("catalog" in name.lower() for name in context.spec.spark.conf):
        return  # a catalog may have functions too
    own = {function.name.lower() for function in context.spec.functions}
    for index, view in enumerate(context.spec.views):
        if _may_register(context, view.name):
            continue
        for name, offset in unknown_calls(context.graph.facts[view.name], BUILTINS | own):
            message = (
                f"neither Spark nor the document has a function {name!r}{_instead(name, BUILTINS | own)}"
            )
            yield context.problem(("views", index, "sql"), message, reasons.UNKNOWN_FUNCTION, offset=offset)


def _instead(name: str, known: frozenset[str]) -> str:
    """What to write in place of an unknown function, as `did_you_mean`."""
    if advice := other_dialects.FUNCTIONS.get(name):
        return f"; {advice}"
    return did_you_mean(name, sorted(known)) or "; declare your own functions in spec.functions"


def _may_register(context: Context, view: str) -> bool:
    """Whether Python code may have registered functions in a session in which the view is built."""
    graph = context.graph
    built = [graph.closure(query.from_) for query in context.spec.queries]
    together = {view, *(name for names in built if view in names for name in names)}
    return any(name in graph.views and graph.views[name].python for name in together)


def _faults(context: Context) -> Iterator[tuple[int, list[UnresolvedName]]]:
    """The views, each with the first fault of each name."""
    for index, view in enumerate(context.spec.views):
        context.columns.columns_of(view.name)
        first: dict[tuple[str, tuple[str, ...]], UnresolvedName] = {}
        for fault in sorted(context.columns.faults.get(view.name, ()), key=lambda fault: fault.start):
            first.setdefault((fault.name.lower(), fault.relations), fault)
        yield index, list(first.values())


def _missing(fault: UnresolvedName) -> str:
    hint = did_you_mean(fault.name, fault.known[:_MOST_COMPARED])
    if fault.known and not hint:
        hint = nearest_of(fault.name, fault.known[:_MOST_SHOWN])
    if fault.qualifier:
        return f"no relation or column {fault.name!r} is read here{hint}"
    named = [repr(name) for name in fault.relations if name]
    if not fault.relations:
        return f"no column {fault.name!r}: there is no FROM clause"
    if len(named) != len(fault.relations):
        return f"the FROM clause has no column {fault.name!r}{hint}"
    if len(named) == 1:
        return f"{named[0]} has no column {fault.name!r}{hint}"
    return f"none of {', '.join(named)} has a column {fault.name!r}{hint}"
