"""Makes the normal form of a SQL text. A part that only Spark can resolve raises `Unsupported`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Final

from sqlglot import exp

from mainstem.changes import grouping, joins
from mainstem.changes.expressions import (
    Canonical,
    Expression,
    Functions,
    Unsupported,
    column_name,
    conjuncts,
    named,
    with_names,
    written,
)
from mainstem.changes.relations import (
    MOST_ROWS,
    Branch,
    Entry,
    Keys,
    Relation,
    Row,
    Step,
    StepKind,
    added,
    digest,
    every,
    is_star,
    relation_id,
    starred,
)


_REFUSED: Final = ("pivots", "connect", "match", "distribute")


@dataclass(frozen=True)
class Query:
    """Where the parts of one SQL text come from.

    Attributes:
        relation: returns the normal form of a relation of the document, with new steps for each call.
        steps: takes the steps that keep state.
        path: field of the document that has the text.
        functions: the functions of the document.
        ctes: common table expressions that are visible, each with the place of its own text.
    """

    relation: Callable[[str], Relation | None]
    steps: list[Step]
    path: str
    functions: Functions
    ctes: Mapping[str, "tuple[exp.Expr, Query]"] = field(default_factory=dict)

    def form(self, tree: exp.Expr) -> Relation:
        """The normal form of a query."""
        scope = self._with(tree)
        if any(tree.args.get(key) for key in _REFUSED):
            raise Unsupported(tree.key)
        if isinstance(tree, exp.Select):
            relation = scope.select(tree)
        elif isinstance(tree, exp.Union):
            relation = scope.union(tree)
        elif isinstance(tree, exp.Subquery):
            relation = _renamed(tree, scope.form(tree.this))
        elif isinstance(tree, exp.Table):
            relation = scope.table(tree)
        elif isinstance(tree, exp.Values):
            relation = constant(repr(tree), [f"col{at + 1}" for at in range(64)], _names(tree))
        else:
            raise Unsupported(tree.key)
        return scope.ordered(tree, relation)

    def _with(self, tree: exp.Expr) -> "Query":
        clause = tree.args.get("with_")
        scope = self
        for cte in clause.expressions if isinstance(clause, exp.With) else ():
            if clause is not None and clause.args.get("recursive"):
                raise Unsupported("recursive")
            scope = replace(scope, ctes={**scope.ctes, cte.alias.lower(): (cte, scope)})
        return scope

    def table(self, table: exp.Table) -> Relation:
        """A relation of a FROM clause by its name."""
        name = table.name.lower()
        if not isinstance(table.this, exp.Identifier):
            raise Unsupported(table.key)
        if name in self.ctes and not table.db:
            cte, scope = self.ctes[name]
            relation: Relation | None = _renamed(cte, scope.form(cte.this))
        else:
            relation = None if table.db else self.relation(name)
        if relation is None:  # a table of a catalog
            leaf = ".".join(part.name.lower() for part in table.parts)
            relation = (Branch({}, (leaf,), tables=frozenset({leaf})),)
        if sample := table.args.get("sample"):
            relation = filtered(relation, Expression(f"sample({written(sample)})", written(sample)))
        return _renamed(table, relation)

    def union(self, tree: exp.Union) -> Relation:
        """The rows of both sides, under the names of the left one."""
        if tree.args.get("by_name") or tree.args.get("side"):
            raise Unsupported("by_name")
        left, right = self.form(tree.this), self.form(tree.expression)
        names = [each.name or name for name, each in left[0].columns.items()]
        sides = (*left, *right)
        if any(branch.opens for branch in sides) and any(branch.columns for branch in sides):
            raise Unsupported("a union by the place of columns")
        if names:
            right = tuple(_named(branch, names) for branch in right)
        return limited(self.distinct((*left, *right)) if tree.args.get("distinct") else (*left, *right))

    def select(self, select: exp.Select) -> Relation:
        """The rows of a SELECT."""
        rows = self._from(select)
        where = select.args.get("where")
        rows = [self._filtered(row, where.this if where else None) for row in rows]
        if grouping.aggregates(select, self.functions):
            relation = grouping.grouped(self, select, rows)
        else:
            relation = tuple(self._projected(select, row) for row in rows)
        return limited(self.distinct(relation) if select.args.get("distinct") else relation)

    def distinct(self, relation: Relation) -> Relation:
        """The relation without duplicate rows, which is an aggregation by all columns."""
        keys = tuple(
            (*branch.columns.values(), *(_all(leaf) for leaf in branch.opens)) for branch in relation
        )
        if any(branch.leaves for branch in relation):
            inputs = Keys(tuple(b.leaves for b in relation), keys, tuple(b.filters for b in relation))
            self.add(StepKind.AGGREGATE, (inputs,))
        return relation

    def add(self, kind: StepKind, inputs: tuple[Keys, ...] = (), **more: object) -> str:
        """Add a step; returns the leaf of its columns."""
        name = f"#{len(self.steps)}"
        self.steps.append(Step(name, kind, self.path, inputs, **more))  # type: ignore[arg-type]
        return name

    def _from(self, select: exp.Select) -> list[Row]:
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            rows = [Row(())]
        else:
            rows = joins.joined(
                self, clause.this, [row((_alias(clause.this), b)) for b in self.form(clause.this)]
            )
        rows = joins.joined(self, select, rows)
        for lateral in select.args.get("laterals") or ():
            rows = [self._lateral(each, lateral) for each in rows]
        return rows

    def _lateral(self, below: Row, lateral: exp.Lateral) -> Row:
        call, names = self.canonical(below).expression(lateral.this), _names(lateral)
        if not names:
            raise Unsupported("names of a generator")
        outer = "outer " if lateral.args.get("outer") else ""
        columns = {
            name.lower(): Expression(f"{outer}{call.id}[{at}]", name, call.columns, name=name)
            for at, name in enumerate(names)
        }
        entry = Entry(
            lateral.alias.lower(), Branch(columns, filters=(replace(call, id=f"{outer}{call.id}"),))
        )
        return replace(below, entries=(*below.entries, entry))

    def _filtered(self, below: Row, condition: exp.Expr | None) -> Row:
        canonical = self.canonical(below)
        added = tuple(canonical.expression(part) for part in conjuncts(condition))
        return replace(below, filters=(*below.filters, *added))

    def canonical(self, below: Row) -> Canonical:
        """Makes expressions over the relations of a row."""

        def part(node: exp.Expr) -> Expression | None:
            if is_star(node):
                return every(node, below)
            if isinstance(node, exp.Column):
                return below.resolve([name.name for name in node.parts])
            return self._nested(node, below) if isinstance(node, exp.Query) else None

        return Canonical(part, self.functions.codes)

    def _nested(self, tree: exp.Expr, outer: Row) -> Expression:
        """A query within an expression; it must not stream, nor read columns from around it."""
        if self._may_reach(tree, outer):
            raise Unsupported("correlated subquery")
        relation = self.form(tree.this if isinstance(tree, exp.Subquery) else tree)
        if any(branch.leaves for branch in relation):
            raise Unsupported("subquery")
        return Expression(f"query({relation_id(relation)})", written(tree))

    def _may_reach(self, tree: exp.Expr, outer: Row) -> bool:
        """Whether a nested query may read columns of the rows around it; what lacks a column of its own is refused later."""
        tables = list(tree.find_all(exp.Table))
        aliases = {
            str(each.alias_or_name).lower() for each in (*tables, *tree.find_all(exp.Subquery, exp.CTE))
        }
        columns = list(tree.find_all(exp.Column))
        if any(each.table and each.parts[0].name.lower() not in aliases for each in columns):
            return True
        around = any(each.parts[0].name.lower() in outer.names for each in columns)
        return around and any(branch.opens for each in tables for branch in self.table(each))

    def _projected(self, select: exp.Select, below: Row) -> Branch:
        columns: dict[str, Expression] = {}
        opens: list[str] = []
        canonical = with_names(self.canonical(below), columns, below.names)
        for projection in select.expressions:
            if is_star(projection):
                star, more = starred(projection, below)
                added(columns, star)
                opens += more
            elif isinstance(projection, exp.Aliases):
                call = canonical.expression(projection.this)
                for at, name in enumerate(projection.expressions):
                    columns[name.name.lower()] = replace(
                        call, id=f"{call.id}[{at}]", type=None, name=name.name
                    )
            else:
                added(columns, {column_name(projection): named(projection, canonical)})
        return Branch(columns, tuple(opens), below.leaves, below.all_filters, below.tables)

    def ordered(self, tree: exp.Expr, relation: Relation) -> Relation:
        """The rows after the ORDER BY and the LIMIT at the end of a query."""
        for key in ("order", "sort", "cluster", "qualify", "offset"):
            if clause := tree.args.get(key):
                relation = filtered(relation, Expression(f"{key}({written(clause)})", written(clause)))
        if clause := tree.args.get("limit"):
            if any(branch.leaves for branch in relation):
                self.add(StepKind.LIMIT)
            relation = filtered(relation, Expression(f"limit({written(clause)})", written(clause)))
        return relation


def row(*entries: tuple[str, Branch]) -> Row:
    """A row of some relations, each with its name."""
    return Row(tuple(Entry(alias, branch) for alias, branch in entries))


def limited(relation: Relation) -> Relation:
    """The relation, unless it has too many branches."""
    if len(relation) > MOST_ROWS:
        raise Unsupported("branches")
    return relation


def filtered(relation: Relation, condition: Expression) -> Relation:
    """The rows of a relation that meet a condition."""
    return tuple(replace(branch, filters=(*branch.filters, condition)) for branch in relation)


def constant(text: str, names: list[str], given: list[str]) -> Relation:
    """A relation that does not stream and that the comparison treats as one part."""
    leaf = f"constant({digest([text])})"
    columns = {name: Expression(f"{leaf}.{at}", name) for at, name in enumerate(given or names)}
    return (Branch(columns, tables=frozenset({leaf})),)


def _names(tree: exp.Expr) -> list[str]:
    alias = tree.args.get("alias")
    return [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []


def _alias(tree: exp.Expr) -> str:
    return str(tree.alias_or_name).lower()


def _renamed(tree: exp.Expr, relation: Relation) -> Relation:
    """A relation whose alias may rename its columns."""
    if tree.args.get("pivots"):
        raise Unsupported("pivot")
    names = _names(tree)
    return tuple(_named(branch, names) for branch in relation) if names else relation


def _named(branch: Branch, names: list[str]) -> Branch:
    if branch.opens or len(names) != len(branch.columns):
        raise Unsupported("names")
    renamed = zip(names, branch.columns.values(), strict=True)
    return replace(branch, columns={name.lower(): replace(each, name=name) for name, each in renamed})


def _all(leaf: str) -> Expression:
    return Expression(f"{leaf}.*", "*", frozenset({(leaf, "*")}))


def pairs(left: list[Row], right: Relation) -> Iterator[tuple[Row, Branch]]:
    """Every row of the left side with every branch of the right side; raises `Unsupported` if they are too many."""
    if len(left) * len(right) > MOST_ROWS:
        raise Unsupported("branches")
    return iter(product(left, right))
