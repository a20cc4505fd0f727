"""Finds the columns of a SQL text's result, and the names in the text that Spark certainly rejects.

Spark decides about names of relations that may have unknown columns, and about names that are not plain words.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from mainstem.language.sql.projections import aliases, lateral_view, projected, renamed
from mainstem.language.sql.scope import UNKNOWN, ColumnSet, Lookup, Relation, Scope, star


_WORD: Final = re.compile(r"[^\W\d]\w*")
_ALWAYS: Final = frozenset(
    ["_metadata", "grouping__id", "spark_grouping_id", "window", "session_window", "all", "user"]
    + [f"current_{name}" for name in ("date", "timestamp", "time", "user", "catalog", "database", "schema", "path")]
    + ["localtimestamp", "session_user", "session", "system", "spark_catalog", "builtin"]
)  # fmt: skip
"""Names that are valid everywhere: hidden columns, functions without brackets, catalogs."""
_MOST_FAULTS: Final = 100
"""The most faults of one text: nobody reads more."""
_UNITS: Final = re.compile(
    r"(year|quarter|month|week|day|dayofyear|hour|minute|second|milli(second)?|micro(second)?|nano(second)?)s?"
)


@dataclass(frozen=True)
class UnresolvedName:
    """A name in a text that Spark certainly rejects.

    Attributes:
        name: the name as written.
        start: the offset of its first character.
        known: valid names.
        relations: relations that could have the column: the relation that the text names, or all that it reads there.
        qualifier: whether the name stands before a dot, so that it may also be the name of a relation.
        owners: for an ambiguous name, the relations that each have a column of this name.
    """

    name: str
    start: int
    known: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    qualifier: bool = False
    owners: tuple[str, ...] = ()


class Resolver:
    """Resolves the names of one text.

    Args:
        lookup: returns the columns of a relation of the document.
    """

    def __init__(self, lookup: Lookup) -> None:
        self.faults: list[UnresolvedName] = []
        self._lookup = lookup

    def columns(self, tree: exp.Expr) -> ColumnSet:
        """The columns of the text's result; this call fills `faults`."""
        try:
            return self._query(tree, {}, None)
        except RecursionError:
            self.faults.clear()
            return UNKNOWN

    def _query(self, tree: exp.Expr, ctes: Mapping[str, ColumnSet], outer: Scope | None) -> ColumnSet:
        clause = tree.args.get("with_")
        if isinstance(clause, exp.With):
            ctes = self._with(clause, ctes, outer)
        if isinstance(tree, exp.Select):
            return self._select(tree, ctes, outer)
        if isinstance(tree, exp.SetOperation):
            left, right = (self._query(side, ctes, outer) for side in (tree.this, tree.expression))
            is_open = left.open or right.open or bool(tree.args.get("by_name"))
            return ColumnSet(left.names, is_open, repeated=left.repeated)
        if isinstance(tree, (exp.Subquery, exp.Table)):
            scope = Scope(outer=outer)
            self._from(tree, scope, ctes)
            return scope.starred()
        return UNKNOWN

    def _with(
        self, clause: exp.With, ctes: Mapping[str, ColumnSet], outer: Scope | None
    ) -> Mapping[str, ColumnSet]:
        for cte in clause.expressions:
            name = cte.alias.lower()
            if clause.args.get("recursive"):
                ctes = {**ctes, name: UNKNOWN}
            columns = self._query(cte.this, ctes, outer)
            ctes = {**ctes, name: UNKNOWN if clause.args.get("recursive") else renamed(cte, columns)}
        return ctes

    def _select(self, select: exp.Select, ctes: Mapping[str, ColumnSet], outer: Scope | None) -> ColumnSet:
        scope = Scope(outer=outer)
        clause = select.args.get("from_") or select.args.get("from")
        if clause is not None:
            self._from(clause.this, scope, ctes)
        self._joins(select, scope, ctes)
        for lateral in select.args.get("laterals") or ():
            self._expressions([lateral.this], scope, ctes)
            scope.relations.append(lateral_view(lateral))
        if select.args.get("pivots"):
            scope.relations = [Relation(relation.alias, UNKNOWN) for relation in scope.relations]
        where = select.args.get("where")
        self._expressions([where] if where else [], scope, ctes)
        scope.aliases = frozenset(aliases(select.expressions))
        self._expressions(select.expressions, scope, ctes)
        scope.ambiguous = False  # a name may now be one of the SELECT list
        later = (
            select.args.get(key) for key in ("group", "having", "sort", "order", "cluster", "distribute")
        )
        self._expressions([clause for clause in later if clause is not None], scope, ctes)
        return projected(select.expressions, scope)

    def _from(self, item: exp.Expr, scope: Scope, ctes: Mapping[str, ColumnSet]) -> None:
        """Add the relations of an item of the FROM clause, including its joins."""
        if isinstance(item, exp.Subquery) and isinstance(item.this, (exp.Table, exp.Subquery)):
            inner = Scope(outer=scope.outer)
            self._from(item.this, inner, ctes)
            added = [Relation(item.alias.lower(), inner.starred())] if item.alias else inner.relations
            scope.merged |= inner.merged
            scope.natural |= inner.natural
        elif isinstance(item, exp.Subquery):
            added = [Relation(item.alias.lower(), self._query(item.this, ctes, scope.outer))]
        elif isinstance(item, exp.Table) and isinstance(item.this, exp.Identifier):
            name = item.name.lower()
            known = UNKNOWN if item.db else ctes[name] if name in ctes else self._lookup(name)
            added = [Relation((item.alias or item.name).lower(), known)]
        elif isinstance(item, exp.Lateral):
            added = [lateral_view(item)]
        else:
            added = [Relation(item.alias.lower(), UNKNOWN)]
        if item.args.get("pivots"):
            added = [Relation(item.alias.lower() or relation.alias, UNKNOWN) for relation in added]
        else:
            added = [Relation(relation.alias, renamed(item, relation.columns)) for relation in added]
        scope.relations += added
        self._joins(item, scope, ctes)

    def _joins(self, tree: exp.Expr, scope: Scope, ctes: Mapping[str, ColumnSet]) -> None:
        for join in tree.args.get("joins") or ():
            left = list(scope.relations)
            self._from(join.this, scope, ctes)
            right = scope.relations[len(left) :]
            for name in join.args.get("using") or ():
                self._using(name, left, right)
                scope.merged.add(name.name.lower())
            if join.args.get("method"):  # NATURAL: only Spark knows which columns it merges
                scope.ambiguous, scope.natural = False, True
            self._expressions([join.args["on"]] if join.args.get("on") else [], scope, ctes)
            if str(join.args.get("kind") or "").upper() in ("SEMI", "ANTI"):
                scope.relations = left

    def _using(self, name: exp.Expr, *sides: list[Relation]) -> None:
        """Report a column of USING that one of the sides does not have."""
        if not isinstance(name, exp.Identifier):
            return
        for side in sides:
            columns = star(side)
            if not columns.open and _plain(name) and name.name.lower() not in columns.folded:
                self._fault(name, known=columns.names, relations=tuple(relation.alias for relation in side))
                return

    def _expressions(self, parts: Iterable[exp.Expr], scope: Scope, ctes: Mapping[str, ColumnSet]) -> None:
        for part in parts:
            for node in part.walk(prune=lambda inner: isinstance(inner, (exp.Query, exp.Hint))):
                if isinstance(node, exp.Query):
                    self._query(node, ctes, scope)
                elif isinstance(node, exp.Column):
                    self._column(node, scope)

    def _column(self, column: exp.Column, scope: Scope) -> None:
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        starred = isinstance(column.this, exp.Star)
        if not parts or not all(map(_plain, parts)) or len(parts) + starred != len(column.parts):
            return
        name = parts[0].name.lower()
        if name in _ALWAYS or name in _parameters(column) or _is_unit(column):
            return
        dotted = len(parts) > 1 or starred
        if not scope.has(name):
            if not scope.open:
                known = scope.known(relations=dotted)
                self._fault(parts[0], known=known, relations=scope.named(), qualifier=dotted)
        elif len(parts) > 1:
            self._qualified(parts, scope)
        elif not starred and scope.ambiguous and name not in scope.merged:
            owners = scope.owners(name)
            if len(owners) > 1 and len(set(owners)) == len(owners) and all(owners):
                self._fault(parts[0], owners=tuple(owners))

    def _qualified(self, parts: list[exp.Identifier], scope: Scope) -> None:
        """Report an unknown column after a first part that certainly is a relation and not a column."""
        relation, name = parts[0].name.lower(), parts[1].name.lower()
        around: Scope | None = scope
        named: list[Relation] = []
        while around is not None:
            matches = [each for each in around.relations if each.alias == relation]
            nested = any(each.columns.open and not each.columns.flat for each in around.relations)
            if nested or any(each.columns.open for each in matches):
                return
            if relation in around.aliases or around.owners(relation):
                return
            named += matches
            around = around.outer
        if name not in _ALWAYS and not any(name in each.columns.folded for each in named):
            known = tuple(column for each in named for column in each.columns.names)
            self._fault(parts[1], known=known, relations=(parts[0].name,))

    def _fault(self, name: exp.Identifier, **facts: Any) -> None:
        if "start" in name.meta and len(self.faults) < _MOST_FAULTS:
            self.faults.append(UnresolvedName(name.name, name.meta["start"], **facts))


def _plain(name: exp.Expr) -> bool:
    return _WORD.fullmatch(name.name) is not None


def _parameters(column: exp.Expr) -> set[str]:
    """The names of the parameters of the lambda functions around an expression."""
    names: set[str] = set()
    above = column.parent
    while above is not None:
        if isinstance(above, exp.Lambda):
            names |= {part.name.lower() for part in above.expressions}
        above = above.parent
    return names


def _is_unit(column: exp.Column) -> bool:
    """Whether a column may be the unit of time in the arguments of a function: dateadd(DAY, 1, at)."""
    return _UNITS.fullmatch(column.name.lower()) is not None and isinstance(column.parent, exp.Func)
