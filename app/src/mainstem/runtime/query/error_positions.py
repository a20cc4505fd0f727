"""Finds the position in a SQL text that an error of Spark's analysis or parser is about."""

import re
from contextlib import suppress
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from mainstem.language.sql.text import code


_PLACE: Final = re.compile(r"[;.]? *\(?\bline (\d+),? pos (\d+)\)?(?: *== SQL.*)?", re.DOTALL)


def offset_of(error: PySparkException, sql: str) -> int | None:
    """The offset of the name that an error is about, by Spark's own position, or else by the first name in the
    message.

    Args:
        error: an error of Spark's analysis or parser.
        sql: the text that Spark got.
    """
    with suppress(PySparkException, Py4JError, AttributeError):
        for context in error.getQueryContext():
            start, stop = int(context.startIndex()), int(context.stopIndex())
            if 0 <= start <= stop and sql[start : stop + 1] == context.fragment():
                return start
    if place := _PLACE.search(str(error)):
        return _at(sql, int(place[1]), int(place[2]))
    return _mentioned(error, sql)


def without_place(message: str) -> str:
    """The message without Spark's line and position, which refer to the text that Spark got."""
    return _PLACE.sub("", message)


def _at(sql: str, line: int, column: int) -> int | None:
    """The offset of a place; lines count from 1, columns from 0."""
    lines = sql.split("\n")
    if not 1 <= line <= len(lines):
        return None
    offset = sum(len(before) + 1 for before in lines[: line - 1]) + column
    return offset if offset <= len(sql) else None


def _mentioned(error: PySparkException, sql: str) -> int | None:
    parameters: dict[str, str] = {}
    with suppress(PySparkException, Py4JError, AttributeError):
        parameters = dict(error.getMessageParameters() or {})
    for key in ("objectName", "expression", "sqlExpr", "name", *parameters):
        for word in re.findall(r"[^\W\d]\w*", parameters.get(key, ""))[-1:]:
            if match := re.search(rf"\b{re.escape(word)}\b", code(sql), re.IGNORECASE):
                return match.start()
    return None
