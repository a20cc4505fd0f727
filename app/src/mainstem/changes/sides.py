"""One side of a comparison: a normal form with the columns that it uses and their types."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mainstem.changes.expressions import Expression, LeafColumn
from mainstem.changes.relations import Keys, NormalForm, Step, StepKind, relation_id


Types = Mapping[LeafColumn, str]
"""Columns of sources -> their declared types."""
_SIDE: Final = re.compile(r"(#\d+)\.([01])")


@dataclass(frozen=True)
class Side:
    """One of the two documents.

    Attributes:
        form: the normal form of the query.
        types: the declared types of its sources' columns.
        written: the columns that the sinks take; None for all.
    """

    form: NormalForm
    types: Types
    written: frozenset[str] | None = None

    def used(self) -> set[LeafColumn]:
        """The columns of leaves that the query needs; Spark leaves out the others, also in the state."""
        joins = {step.name: step.settings["type"] for step in self.form.steps if step.kind is StepKind.JOIN}
        columns = [
            each
            for branch in self.form.rows
            for name, each in branch.columns.items()
            if self.written is None or name in self.written
        ]
        used = {column for each in columns for column in each.columns}
        used |= {
            column for branch in self.form.rows for each in branch.filters for column in _kept(each, joins)
        }
        for step in reversed(self.form.steps):
            used |= step.reads
            for keys in step.inputs:
                used |= {column for row in keys.keys for key in row for column in key.columns}
                used |= {column for row in keys.filters for each in row for column in _kept(each, joins)}
            for name, aggregate in step.aggregates.items():
                if (step.name, name) in used:
                    used |= {column for row in aggregate.rows for column in row.columns}
        return used

    def identity(self) -> object:
        """What is equal for two queries that compute the same with the same state."""
        used = self.used()
        return relation_id(self.form.rows), [step_id(step, used) for step in self.form.steps]


def step_id(step: Step, used: set[LeafColumn] | None = None) -> object:
    """What is equal for steps with the same state; `used` are the columns that the query needs, None for all."""
    inputs = [
        sorted(
            (sorted(leaves), [key.id for key in keys], sorted({each.id for each in filters}))
            for leaves, keys, filters in zip(each.rows, each.keys, each.filters, strict=True)
        )
        for each in step.inputs
    ]
    aggregates = [
        sorted(row.id for row in each.rows)
        for name, each in step.aggregates.items()
        if used is None or (step.name, name) in used
    ]
    settings = {name: value for name, value in step.settings.items() if name != "texts"}
    return step.kind, step.name, inputs, aggregates, settings


def _kept(condition: Expression, joins: Mapping[str, str]) -> set[LeafColumn]:
    """The columns of a condition, without those of an inner join of which it reads one side: Spark moves it below."""
    sides: dict[str, set[str]] = {}
    for leaf, _ in condition.columns:
        if match := _SIDE.fullmatch(leaf):
            sides.setdefault(match[1], set()).add(match[2])
    moved = {
        f"{name}.{side}"
        for name, all_ in sides.items()
        if len(all_) == 1 and joins.get(name) == "inner"
        for side in all_
    }
    return {column for column in condition.columns if column[0] not in moved}


def pairs_of(before: Keys, after: Keys) -> tuple[list[tuple[int, int]], list[int]]:
    """Branches of the two inputs that read the same leaves, and the branches that are new."""
    left = list(enumerate(before.rows))
    pairs, added = [], []
    for place, leaves in enumerate(after.rows):
        match = next((each for each in left if each[1] == leaves), None)
        if match is None:
            added.append(place)
        else:
            left.remove(match)
            pairs.append((match[0], place))
    return pairs, added


def retyped(expression: Expression, types: tuple[Types, Types]) -> str:
    """A column of an expression whose declared type differs between the documents; empty if there is none."""
    for column in sorted(expression.columns):
        if types[0].get(column) != types[1].get(column):
            return ".".join(column)
    return ""
