"""Names the columns whose types differ between a query and its Delta tables: Spark's errors of a failed cast name none."""

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
"""Prefixes of the reasons for a value that does not fit its type."""


def explained(
    failure: Failure, session: SparkSession, sinks: tuple[Sink, ...], columns: Mapping[str, str]
) -> Failure:
    """The failure with the columns whose types differ from the table's, by sink; unchanged for other failures.

    Args:
        failure: why the query failed.
        session: the session of the query.
        sinks: the sinks of the query.
        columns: name -> type of the query's columns.
    """
    if not columns or not failure.reason.startswith(_CASTS):
        return failure
    casts = "; ".join(
        f"{cast} (sink {sink.name!r})" for sink in sinks for cast in _casts(session, sink, columns)
    )
    return replace(failure, message=f"{failure.message}; {casts}") if casts else failure


def _casts(session: SparkSession, sink: Sink, columns: Mapping[str, str]) -> Iterator[str]:
    if sink.delta is None:
        return
    with suppress(PySparkException, Py4JError):  # an explanation must not fail the query in another way
        table = session.read.format("delta").load(sink.delta.path).schema
        kinds = {field.name.lower(): field.dataType.simpleString() for field in table}
        for name, kind in columns.items():
            there = kinds.get(name.lower(), kind)
            if there != kind:
                yield f"{name} is {there} in the table and {kind} in the query"
