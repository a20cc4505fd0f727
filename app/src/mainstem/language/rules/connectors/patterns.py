"""Rules for datetime patterns in the options of formats."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import show
from mainstem.language.rules.connectors.datetime_patterns import faults
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_PATTERNS: Final = ("dateformat", "timestampformat", "timestampntzformat", "timeformat")
_FORMATS: Final = ("csv", "json")
_POLICY: Final = "spark.sql.legacy.timeParserPolicy"


class _Options(NamedTuple):
    """Options of a format; `parsing` is True for reading, False for writing."""

    at: Path
    options: Mapping[str, str]
    parsing: bool


def patterns(context: Context) -> Iterator[Problem]:
    """A datetime pattern repeats each letter only as often as Spark 3 and later accept, and has no other letters."""
    if context.spec.spark.conf.get(_POLICY, "CORRECTED").upper() != "CORRECTED":
        return  # the older parser has other letters
    for at, options, parsing in (*_read(context), *_written(context)):
        for name, pattern in options.items():
            for fault in faults(pattern, parsing=parsing) if name.lower() in _PATTERNS else ():
                message = f"{show(pattern)}, character {fault.offset + 1}: {fault.message}"
                yield context.problem(
                    (*at, "options", name),
                    message,
                    reasons.INVALID_PATTERN if fault.certain else reasons.UNLIKELY_PATTERN,
                    warning=not fault.certain,
                    offset=fault.offset,
                )


def _read(context: Context) -> Iterator[_Options]:
    for index, source in enumerate(context.spec.sources):
        at: Path = ("sources", index)
        if source.decode and (kind := source.decode.choice()) in _FORMATS:
            yield _Options((*at, "decode", kind), source.decode.member(kind).options, parsing=True)
        if source.files and source.files.format in _FORMATS:
            yield _Options((*at, "files"), source.files.options, parsing=True)
        if source.static and (kind := source.static.choice()) in _FORMATS:
            yield _Options((*at, "static", kind), source.static.member(kind).options, parsing=True)


def _written(context: Context) -> Iterator[_Options]:
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            if sink.files and sink.choice() in _FORMATS:
                at: Path = ("queries", index, "to", place, sink.choice())
                yield _Options(at, sink.files.options, parsing=False)
