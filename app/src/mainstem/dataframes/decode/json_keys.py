"""Checks whether a JSON object has a column at all: without it, an object with other keys becomes a row of nulls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import DataType, StringType, StructField, StructType

from mainstem.dataframes.declared_types import is_comparable
from mainstem.dataframes.decode import misfits


_SEED: Final = 42
"""The hash of a struct without values: Spark's xxhash64 begins with it, and a null leaves it as it is."""


@dataclass(frozen=True)
class KeyCheck:
    """The check of an object's keys.

    Attributes:
        columns: names of the columns.
        options: options of Spark's JSON reader.
    """

    columns: tuple[str, ...]
    options: Mapping[str, str]

    def has_key(self, text: Column) -> Column:
        """Whether a key of an object's text is a column; its value may be null."""
        return F.coalesce(F.arrays_overlap(self._keys(text), self._names), F.lit(False))

    def error(self, text: Column) -> Column:
        """The error of an object's text without a column."""
        return misfits.bound(self._keys(text), self._strange)

    def other_case(self, text: Column) -> Column:
        """The first key of an object that differs only in case from a column without a key, as `ID instead of id`, else null."""
        return misfits.bound(self._keys(text), self._first_alike)

    def _first_alike(self, keys: Column) -> Column:
        surplus, without = F.array_except(keys, self._names), F.array_except(self._names, keys)
        alike = F.get(
            F.array_intersect(F.transform(surplus, F.lower), F.transform(without, F.lower)), F.lit(0)
        )

        def spelled(names: Column) -> Column:
            return F.get(F.filter(names, lambda name: F.lower(name) == alike), F.lit(0))

        return F.concat(misfits.beginning(spelled(surplus)), F.lit(" instead of "), spelled(without))

    def _strange(self, keys: Column) -> Column:
        lower = F.transform(self._names, F.lower)
        alike = F.filter(keys, lambda key: F.array_contains(lower, F.lower(key)))
        case = F.concat(
            F.lit("; keys are case-sensitive, and these differ from columns only in case: "), _listed(alike)
        )
        strange = F.concat(
            F.lit("no key of the JSON object is a column: "),
            _listed(keys),
            F.when(F.size(alike) > 0, case).otherwise(""),
        )
        return (
            F.when(
                keys.isNull(),
                "no column has a value, and the keys of the JSON object are nested too deep to be read",
            )
            .when(F.size(keys) == 0, "the JSON object is empty")
            .otherwise(strange)
        )

    @property
    def _names(self) -> Column:
        return F.array(*map(F.lit, self.columns))

    def _keys(self, text: Column) -> Column:
        return F.array_distinct(F.map_keys(misfits.fields_as_texts(text, self.options)))


def has_value(fields: Column, kind: DataType) -> Column:
    """Whether a field of a struct has a value; rarely no although one has, so that the keys have to decide.

    One hash is cheap, and Spark infers nothing from it. From a condition with each field it doubles its inferences with
    each, see `misfits.bound`, and a lambda with each would take as long as the parser.

    Args:
        fields: the struct that Spark's parser returned.
        kind: its type, which differs from the schema: the parser makes everything nullable.
    """
    if is_comparable(kind) or not isinstance(kind, StructType):
        return F.xxhash64(fields) != _SEED
    hashable = [
        each if is_comparable(each.dataType) else StructField(each.name, StringType()) for each in kind
    ]
    return F.xxhash64(fields.try_cast(StructType(hashable))) != _SEED


def _listed(keys: Column) -> Column:
    return misfits.beginning(F.array_join(keys, ", "))
