"""Names the columns that a query casts to those of its Delta tables, which Spark's error of a value that does not fit
leaves out.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from mainstem.language.model.sinks import Sink
from mainstem.runtime.failures.classification import Failure


_CASTS: Final = ("CAST_", "DELTA_CAST_", "NUMERIC_VALUE_OUT_OF_RANGE", "EXCEED_LIMIT_LENGTH")
"""How the reasons begin of a value that does not fit a type."""


def explained(
    failure: Failure, session: SparkSession, sinks: tuple[Sink, ...], columns: Mapping[str, str]
) -> Failure:
    """The failure with the columns whose types differ from the table's, by sink; unchanged for other failures.

    Args:
        failure: why the query failed.
        session: the query's.
        sinks: the query's.
        columns: of the query's rows, name -> type.
    """
    if not columns or not failure.reason.startswith(_CASTS):
        return failure
    found = "; ".join(
        f"{cast} (sink {sink.name!r})" for sink in sinks for cast in _casts(session, sink, columns)
    )
    return replace(failure, message=f"{failure.message}; {found}") if found else failure


def _casts(session: SparkSession, sink: Sink, columns: Mapping[str, str]) -> Iterator[str]:
    if sink.delta is None:
        return
    with suppress(PySparkException, Py4JError):  # it explains what went wrong, and adds nothing to it
        table = session.read.format("delta").load(sink.delta.path).schema
        kinds = {field.name.lower(): field.dataType.simpleString() for field in table}
        for name, kind in columns.items():
            there = kinds.get(name.lower(), kind)
            if there != kind:
                yield f"{name} is {there} in the table and {kind} in the query"
