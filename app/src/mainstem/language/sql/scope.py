"""The names that an expression of SQL may use: relations, their columns, names of the SELECT list, and outer names.

Spark knows more columns than are known without it, so a relation is `open` if it may have further columns.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Final


@dataclass(frozen=True)
class ColumnSet:
    """Columns of a relation.

    Attributes:
        names: the columns that it certainly has, as written.
        open: whether it may have further columns.
        flat: whether no further column is a struct, because fields of a struct look like columns of a relation.
        repeated: the names, in lower case, that it certainly has more than once.
    """

    names: tuple[str, ...] = ()
    open: bool = True
    flat: bool = False
    repeated: frozenset[str] = frozenset()

    @cached_property
    def folded(self) -> frozenset[str]:
        """The names in lower case, as Spark compares them."""
        return frozenset(name.lower() for name in self.names)


UNKNOWN: Final = ColumnSet()
Lookup = Callable[[str], ColumnSet]
"""Returns the columns of a relation of the document, by its name in lower case."""


@dataclass(frozen=True)
class Relation:
    """A relation of a FROM clause with its name there."""

    alias: str
    columns: ColumnSet


@dataclass
class Scope:
    """The names that an expression may use.

    Attributes:
        relations: the relations of the FROM clause that are read so far.
        merged: columns that USING has merged.
        natural: whether a NATURAL join has merged columns, which only Spark knows.
        aliases: names of the SELECT list.
        outer: the scope of the outer query.
        ambiguous: whether a name that two relations have is an error.
    """

    relations: list[Relation] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    natural: bool = False
    aliases: frozenset[str] = frozenset()
    outer: "Scope | None" = None
    ambiguous: bool = True

    @property
    def open(self) -> bool:
        """Whether an unknown name may still be valid."""
        own = any(relation.columns.open for relation in self.relations)
        return own or (self.outer is not None and self.outer.open)

    def has(self, name: str) -> bool:
        """Whether a name is a relation, a column or an alias, here or in an outer query."""
        here = name in self.aliases or any(
            name == relation.alias or name in relation.columns.folded for relation in self.relations
        )
        return here or (self.outer is not None and self.outer.has(name))

    def owners(self, name: str) -> list[str]:
        """The relations that have a column of this name."""
        return [relation.alias for relation in self.relations if name in relation.columns.folded]

    def named(self) -> tuple[str, ...]:
        """The names of the relations in the FROM clause."""
        return tuple(relation.alias for relation in self.relations)

    def starred(self) -> ColumnSet:
        """What a star stands for."""
        columns = star(self.relations)
        return replace(columns, repeated=frozenset() if self.natural else columns.repeated - self.merged)

    def known(self, *, relations: bool = False) -> tuple[str, ...]:
        """The known columns, and with `relations` also the names of the relations."""
        own = [name for relation in self.relations for name in relation.columns.names]
        own += [relation.alias for relation in self.relations if relations and relation.alias]
        around = self.outer.known(relations=relations) if self.outer else ()
        return tuple(dict.fromkeys(chain(own, around)))


def star(relations: Iterable[Relation]) -> ColumnSet:
    """The columns of several relations side by side."""
    columns = [relation.columns for relation in relations]
    names = dict.fromkeys(name for each in columns for name in each.names)
    counts = Counter(name for each in columns for name in each.folded)
    return ColumnSet(
        tuple(names),
        any(each.open for each in columns),
        all(each.flat or not each.open for each in columns),
        frozenset(name for name, count in counts.items() if count > 1).union(
            *(each.repeated for each in columns)
        ),
    )
