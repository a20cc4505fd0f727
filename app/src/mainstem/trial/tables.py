"""Scratch tables with the rows of a trial, and their comparison.

A table has a row for each row of a query: the number of its batch, the text of each column, and the value that orders the
rows of a key. Texts can be compared for every type, also for maps.
"""

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit

from mainstem.language.model.queries import Query
from mainstem.logs import STARS, names_credential, redact
from mainstem.trial.outcome import Difference


EXAMPLES: Final = 5
"""The most examples of each kind of difference."""
_VALUE: Final = "v"


class Keys(NamedTuple):
    """How a sink identifies rows.

    Attributes:
        columns: the columns that identify a row; empty if the sink only adds rows.
        sequence: the columns that order the rows of a key.
    """

    columns: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()


def keys_of(query: Query) -> Keys:
    """The keys of the query's first sink that has keys."""
    for sink in query.to:
        if sink.delta and sink.delta.merge:
            return Keys(sink.delta.merge.keys, sink.delta.merge.sequence_by or ())
        if sink.jdbc and sink.jdbc.upsert:
            return Keys(sink.jdbc.upsert.keys)
    return Keys()


def as_cells(batch: DataFrame, number: int, sequence: Sequence[str]) -> DataFrame:
    """The rows of a batch as a scratch table has them."""
    named = batch.toDF(*(f"c{index}" for index in range(len(batch.columns))))
    cells = [
        F.to_json(F.named_struct(F.lit(_VALUE), F.col(name)), {"ignoreNullFields": "false"})
        for name in named.columns
    ]
    places = {name.lower(): f"c{index}" for index, name in enumerate(batch.columns)}
    order = [F.col(places[name.lower()]) for name in sequence if name.lower() in places]
    return named.select(
        F.lit(number).cast("long").alias("batch"),
        F.array(*cells).alias("cells"),
        F.struct(F.lit(0), *order).alias("sequence"),
    )


def named_types(frame: DataFrame) -> dict[str, str]:
    """Column -> type, in the order of the cells; a repeated name gets a number."""
    named: dict[str, str] = {}
    for each in frame.schema:
        names = itertools.chain([each.name], (f"{each.name} ({number})" for number in itertools.count(2)))
        named[next(name for name in names if name not in named)] = each.dataType.simpleString()
    return named


def difference(
    old: DataFrame,
    new: DataFrame,
    columns: tuple[Mapping[str, str], Mapping[str, str]],
    keys: Keys,
    *,
    last: int | None,
) -> Difference:
    """Compare two scratch tables by the columns that both have.

    Args:
        old: the table of the old document.
        new: the table of the new document.
        columns: column -> type, of the old and of the new document.
        keys: how the sink identifies rows.
        last: only the rows of this batch, for a query that writes its whole result in each batch.
    """
    places = [_places(each) for each in columns]
    shared = [name for name in places[0] if name in places[1]]
    identifying = tuple(key for key in keys.columns if key.lower() in shared)
    is_keyed = bool(keys.columns) and len(identifying) == len(keys.columns)
    tables = []
    for side, (table, place) in enumerate(zip((old, new), places, strict=True)):
        rows = table if last is None else table.filter(F.col("batch") == last)
        key = _array(place, [name.lower() for name in identifying]) if is_keyed else _array(place, shared)
        chosen = [F.lit(side).alias("side"), key.alias("key"), _array(place, shared).alias("row")]
        picked = rows.select(*chosen, "batch", F.col("sequence"))
        tables.append(_newest(picked) if is_keyed else picked)
    both = tables[0].select("side", "key", "row").union(tables[1].select("side", "key", "row"))
    counts = _by_key(both, shared) if is_keyed else _by_row(both, shared)
    return Difference(
        keys=identifying if is_keyed else (),
        columns=tuple(_column_changes(*columns)),
        **counts,
    )


def _places(columns: Mapping[str, str]) -> dict[str, int]:
    return {name.lower(): index for index, name in enumerate(columns)}


def _array(places: Mapping[str, int], names: Sequence[str]) -> Column:
    cells = [F.col("cells")[places[name]] for name in names]
    return F.array(*cells) if cells else F.array().cast("array<string>")


def _newest(rows: DataFrame) -> DataFrame:
    """The rows of each key that a merge keeps: those of the highest sequence, and of the newest batch."""
    order = Window.partitionBy("key").orderBy(F.col("sequence").desc_nulls_last(), F.col("batch").desc())
    return rows.withColumn("place", F.rank().over(order)).filter("place = 1")


def _by_row(rows: DataFrame, names: Sequence[str]) -> dict[str, Any]:
    counted = rows.groupBy("row").agg(
        F.sum(F.when(F.col("side") == 0, 1).otherwise(0)).alias("old"),
        F.sum(F.when(F.col("side") == 1, 1).otherwise(0)).alias("new"),
    )
    surplus = F.col("old") - F.col("new")
    [total] = counted.agg(
        F.sum(F.least("old", "new")),
        F.sum(F.greatest(surplus, F.lit(0))),
        F.sum(F.greatest(-surplus, F.lit(0))),
    ).collect()
    same, only_old, only_new = (int(value or 0) for value in total)
    examples = {}
    for kind, count, surplus_rows in (("onlyOld", only_old, surplus > 0), ("onlyNew", only_new, surplus < 0)):
        if count:
            chosen_rows = counted.filter(surplus_rows).orderBy("row").limit(EXAMPLES).collect()
            examples[kind] = tuple(_shown(names, each["row"]) for each in chosen_rows)
    return {"same": same, "only_old": only_old, "only_new": only_new, "examples": examples}


def _by_key(rows: DataFrame, names: Sequence[str]) -> dict[str, Any]:
    def of_side(side: int) -> Column:
        return F.sort_array(F.collect_list(F.when(F.col("side") == side, F.col("row"))))

    joined = rows.groupBy("key").agg(of_side(0).alias("old"), of_side(1).alias("new"))
    kind = (
        F.when(F.size("new") == 0, "onlyOld")
        .when(F.size("old") == 0, "onlyNew")
        .when(F.col("old") == F.col("new"), "same")
        .otherwise("changed")
    )
    sorted_out = joined.withColumn("kind", kind)
    counts = Counter(
        {each["kind"]: int(each["count"]) for each in sorted_out.groupBy("kind").count().collect()}
    )
    examples: dict[str, tuple[Any, ...]] = {}
    for name in ("onlyOld", "onlyNew", "changed"):
        if counts[name]:
            chosen_rows = sorted_out.filter(F.col("kind") == name).orderBy("key").limit(EXAMPLES).collect()
            examples[name] = tuple(_pair(names, name, each["old"], each["new"]) for each in chosen_rows)
    return {
        "same": counts["same"],
        "only_old": counts["onlyOld"],
        "only_new": counts["onlyNew"],
        "changed": counts["changed"],
        "examples": examples,
    }


def _pair(names: Sequence[str], kind: str, old: list[list[str]], new: list[list[str]]) -> Any:
    if kind == "changed":
        return {"old": _shown(names, old[0]), "new": _shown(names, new[0])}
    return _shown(names, (old or new)[0])


def _shown(names: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    """A row as JSON, without values that look like credentials."""
    return {
        name: _harmless(name, json.loads(cell).get(_VALUE)) for name, cell in zip(names, cells, strict=True)
    }


def _harmless(name: str, value: Any) -> Any:
    if value is not None and names_credential(name):
        return STARS
    if isinstance(value, dict):
        return {key: _harmless(key, each) for key, each in value.items()}
    if isinstance(value, list):
        return [_harmless("", each) for each in value]
    return redact(value) if isinstance(value, str) else value


def _column_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    before, after = ({name.lower(): kind for name, kind in each.items()} for each in (old, new))
    changes = [
        f"only the old document has {name} {kind}" for name, kind in before.items() if name not in after
    ]
    changes += [
        f"only the new document has {name} {kind}" for name, kind in after.items() if name not in before
    ]
    changes += [
        f"{name} was {kind}, and is {after[name]}"
        for name, kind in before.items()
        if name in after and after[name] != kind
    ]
    return changes
