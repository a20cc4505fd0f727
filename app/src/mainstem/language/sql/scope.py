"""The names that an expression of SQL may use: relations, their columns, names of the SELECT list, and those around.

Spark knows more of columns than can be known without it, so a relation is `open` where it may have further ones.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final


@dataclass(frozen=True)
class ColumnSet:
    """Columns of a relation.

    Attributes:
        names: those that it certainly has, as they are written.
        open: whether there may be more.
        flat: whether none of those is a struct, whose fields are named like a relation's columns.
    """

    names: tuple[str, ...] = ()
    open: bool = True
    flat: bool = False

    @cached_property
    def folded(self) -> frozenset[str]:
        """The names as Spark compares them."""
        return frozenset(name.lower() for name in self.names)


UNKNOWN: Final = ColumnSet()
Lookup = Callable[[str], ColumnSet]
"""The columns of a relation of the document, by its name in lower case."""


@dataclass(frozen=True)
class Relation:
    """A relation of a FROM clause, by the name under which it is known there."""

    alias: str
    columns: ColumnSet


@dataclass
class Scope:
    """The names that an expression may use.

    Attributes:
        relations: of the FROM clause, as far as it is read.
        merged: columns that USING has made one.
        aliases: names of the SELECT list.
        outer: of the query around.
        ambiguous: whether a column of two relations can be told at all.
    """

    relations: list[Relation] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    aliases: frozenset[str] = frozenset()
    outer: "Scope | None" = None
    ambiguous: bool = True

    @property
    def open(self) -> bool:
        """Whether a name that is not known may yet be right."""
        own = any(relation.columns.open for relation in self.relations)
        return own or (self.outer is not None and self.outer.open)

    def has(self, name: str) -> bool:
        """Whether it is a relation, a column or an alias, here or around."""
        here = name in self.aliases or any(
            name == relation.alias or name in relation.columns.folded for relation in self.relations
        )
        return here or (self.outer is not None and self.outer.has(name))

    def owners(self, name: str) -> list[str]:
        """The relations that have a column of the name."""
        return [one.alias for one in self.relations if name in one.columns.folded]

    def named(self) -> tuple[str, ...]:
        """The relations that are read here."""
        return tuple(relation.alias for relation in self.relations)

    def known(self, *, relations: bool = False) -> tuple[str, ...]:
        """The columns that there are, and on demand the relations."""
        own = [name for one in self.relations for name in one.columns.names]
        own += [one.alias for one in self.relations if relations and one.alias]
        around = self.outer.known(relations=relations) if self.outer else ()
        return tuple(dict.fromkeys(chain(own, around)))


def star(relations: Iterable[Relation]) -> ColumnSet:
    """The columns of several relations side by side."""
    columns = [relation.columns for relation in relations]
    names = dict.fromkeys(name for one in columns for name in one.names)
    return ColumnSet(
        tuple(names), any(one.open for one in columns), all(one.flat or not one.open for one in columns)
    )
