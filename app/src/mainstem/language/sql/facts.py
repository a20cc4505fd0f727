"""Finds the facts about a SQL text that are certain without Spark.

sqlglot parses the text in Spark's dialect. It does not know all of Spark's grammar. So an uncertain answer is `None`, and
Spark's own analysis at the start decides.
"""

import logging
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlglot import exp

from mainstem import reasons
from mainstem.language.sql.builtins import GRAMMAR
from mainstem.language.sql.other_dialects import Phrase, is_foreign, phrase, time_travel
from mainstem.language.sql.parser import NotReadable, parse
from mainstem.language.sql.text import (
    SqlRefusal,
    forbidden_calls,
    statement,
    table_queries,
    unended,
    unread_relation,
)


logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # Mainstem handles "unsupported syntax" itself

_QUERIES: Final = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values, exp.Table)
FILE_FORMATS: Final = frozenset(
    ["avro", "binaryfile", "csv", "delta", "json", "orc", "parquet", "text", "xml"]
)
"""File formats that Spark's SQL can read by path."""


@dataclass(frozen=True)
class Reference:
    """One occurrence of a relation's name in a SQL text.

    Attributes:
        name: the name in lower case, as Spark resolves it.
        start: offset of its first character, backquotes included.
        end: offset after its last character.
        aliased: whether the text has an alias for it, or cannot have one there.
    """

    name: str
    start: int
    end: int
    aliased: bool


@dataclass(frozen=True)
class Facts:
    """The certain facts about one SQL text.

    Attributes:
        references: the relations that the text reads, in its order; None if sqlglot cannot read the text.
        refusals: the parts that a text must not contain.
        tree: sqlglot's tree; None if sqlglot cannot read the text.
        unread: offset of the first character that sqlglot cannot read; None if it can read the text, or need not.
        foreign: the construct of another dialect for which it cannot be read.
    """

    references: tuple[Reference, ...] | None
    refusals: tuple[SqlRefusal, ...]
    tree: exp.Expr | None
    unread: int | None = None
    foreign: Phrase | None = None


UNREAD: Final = Facts(None, (), None)
"""The facts for a view without SQL."""


@lru_cache(maxsize=256)
def read(sql: str) -> Facts:
    """The facts about one text; never raises."""
    if refusal := statement(sql):
        return Facts(None, (refusal,), None)
    refusals = tuple(forbidden_calls(sql))
    tables = table_queries(sql)
    text = _as_from(sql, tables)
    try:
        trees = parse(unended(text))
    except NotReadable as error:  # Spark decides about the text
        return Facts(None, refusals, None, error.offset, phrase(text))
    tree = trees[0] if len(trees) == 1 else None
    if isinstance(tree, (exp.DML, exp.DDL)) and not isinstance(tree, _QUERIES):
        message = f"{type(tree).__name__.upper()} is a statement; a view is exactly one query"
        return Facts(None, (SqlRefusal(message, reasons.NOT_A_QUERY), *refusals), None)
    refusals += tuple(_refused_tables(tree)) if tree is not None else ()
    unread = unread_relation(text)
    if not isinstance(tree, _QUERIES) or unread is not None or _selects_nothing(tree):
        return Facts(None, refusals, None, unread or 0, phrase(text, unread or 0))
    if is_foreign(tree):
        return Facts(None, refusals, None, 0, phrase(text))
    references = _references(tree, {name for _, name in tables})
    return Facts(references, refusals, tree, 0 if references is None else None)


def _selects_nothing(tree: exp.Expr) -> bool:
    """Whether a SELECT has no columns for sqlglot: for Spark the word behind it is one, as in `SELECT from t`."""
    return any(not select.expressions for select in tree.find_all(exp.Select))


def _as_from(sql: str, tables: list[tuple[int, int]]) -> str:
    """The text with each `TABLE t` as `FROM  t`, which sqlglot can read and which has the same length."""
    for start, _ in tables:
        sql = f"{sql[:start]}FROM {sql[start + len('TABLE') :]}"
    return sql


def streamed_calls(facts: Facts, names: set[str], streaming: dict[str, bool]) -> Iterator[tuple[str, int]]:
    """Calls of the named functions in a SELECT that certainly reads a stream: (name, offset)."""
    for call in facts.tree.find_all(exp.Anonymous) if facts.tree is not None else ():
        select = call.find_ancestor(exp.Query)
        name = str(call.name).lower()
        if name in names and isinstance(select, exp.Select) and _reads_stream_directly(select, streaming):
            yield name, call.meta.get("start", 0)


def unknown_calls(facts: Facts, known: Collection[str]) -> Iterator[tuple[str, int]]:
    """The first call of each unknown function: (name, offset).

    Table functions and names with a catalog or schema are left out.
    """
    reported: set[str] = set()
    for call in facts.tree.find_all(exp.Anonymous, bfs=False) if facts.tree is not None else ():
        name, start = str(call.name).lower(), call.meta.get("start")
        elsewhere = isinstance(call.parent, (exp.Dot, exp.Table, exp.Lateral, exp.Hint))
        if name in known or name in reported or name in GRAMMAR or elsewhere or start is None:
            continue
        if re.fullmatch(r"[^\W\d]\w*", name):
            reported.add(name)
            yield name, start


def _reads_stream_directly(select: exp.Select, streaming: dict[str, bool]) -> bool:
    clause = select.args.get("from_") or select.args.get("from")
    ctes = {cte.alias.lower() for cte in select.ctes}
    table = clause.this if clause is not None else None
    if not isinstance(table, exp.Table) or table.db or table.name.lower() in ctes:
        return False
    return streaming.get(table.name.lower(), False)


def _refused_tables(tree: exp.Expr) -> Iterator[SqlRefusal]:
    """Files that the text reads by path, as in text.`/a/path`, and earlier versions of relations, as in `t VERSION AS OF 3`."""
    for table in tree.find_all(exp.Table):
        start = table.this.meta.get("start", 0)
        if table.db.lower() in FILE_FORMATS and "/" in table.name and isinstance(table.this, exp.Identifier):
            message = (
                f"{table.db}.`{table.name}` reads files by path; add a source of kind files or static instead"
            )
            yield SqlRefusal(message, reasons.FILE_IN_SQL, start)
        elif table.args.get("version") and not table.db:
            yield SqlRefusal(time_travel(table.name), reasons.TIME_TRAVEL_NOT_ALLOWED, start)


def _references(tree: exp.Expr, bare: Collection[int]) -> tuple[Reference, ...] | None:
    """The relations that a tree reads; at the offsets `bare` the text cannot have an alias."""
    references = []
    for table in tree.find_all(exp.Table):
        name = table.this
        if not isinstance(name, exp.Identifier) or table.find_ancestor(exp.Hint) is not None:
            continue
        if (
            table.db.lower() == "session"
        ):  # Spark's qualifier of temporary views, which Mainstem does not support
            return None
        if table.db or _is_cte(table):
            continue
        if "start" not in name.meta:
            return None
        start, end = name.meta["start"], name.meta["end"] + 1
        references.append(Reference(name.name.lower(), start, end, bool(table.alias) or start in bare))
    return tuple(sorted(references, key=lambda reference: reference.start))


def _is_cte(table: exp.Table) -> bool:
    """Whether a name is that of a visible common table expression, and not of a relation."""
    name = table.name.lower()
    own: exp.Expr | None = None  # the CTE that contains the table
    within: exp.Expr | None = None
    above: exp.Expr | None = table
    while above is not None:
        if isinstance(above, exp.CTE):
            own = above
        elif isinstance(above, exp.With):
            within = above
        elif isinstance(clause := above.args.get("with_"), exp.With):
            if name in _visible_names(clause, own if clause is within else None):
                return True
            own = within = None
        above = above.parent
    return False


def _visible_names(clause: exp.With, own: exp.Expr | None) -> set[str]:
    """The names of a WITH clause that are visible in one of its CTEs (the earlier ones), or else in its query."""
    names: set[str] = set()
    for cte in clause.expressions:
        if cte is own and not clause.args.get("recursive"):
            break
        names.add(cte.alias.lower())
        if cte is own:
            break
    return names
