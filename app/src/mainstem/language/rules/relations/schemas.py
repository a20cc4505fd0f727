"""Rules for the schemas of sources, side inputs and stateful steps."""

from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.analysis.avro_schemas import record_fields
from mainstem.language.model.sources import Source
from mainstem.language.rules.context import Context
from mainstem.language.sql import ddl
from mainstem.language.sql.ddl_tokens import DdlError
from mainstem.language.yaml.yamltext import Path


_WITH_LENGTHS: Final = ("legacy.charVarcharAsString", "preserveCharVarcharTypeInfo")
"""Properties that let Spark read CHAR and VARCHAR."""
_Misfit = tuple[ddl.Column, str, reasons.Reason]


def avro(context: Context) -> Iterator[Problem]:
    """An Avro schema is the JSON schema of a record."""
    for index, source in enumerate(context.spec.sources):
        schema = source.decode.avro.schema_ if source.decode and source.decode.avro else None
        if schema is not None and record_fields(schema) is None:
            path: Path = ("sources", index, "decode", "avro", "schema")
            message = 'the value is not the JSON schema of an Avro record; write {"type": "record", "name": "Flight", "fields": [...]}'
            yield context.problem(path, message, reasons.SCHEMA_INVALID)


def columns(context: Context) -> Iterator[Problem]:
    """Spark's parser takes each schema in DDL. Columns that Spark reads have different names, and are no VARCHAR."""
    for path, text, by_spark in _texts(context):
        try:
            levels = list(ddl.levels(ddl.read(text)))
        except ddl.TooDeep:
            continue
        except DdlError as error:
            if '"' in text and context.has_conf("spark.sql.ansi.doubleQuotedIdentifiers"):
                continue  # then a text in quotes is a name
            yield context.problem(path, error.message, reasons.SCHEMA_INVALID, offset=error.at)
            continue
        for level in levels if by_spark else ():
            for column, message, reason in (*_twice(context, level), *_lengths(context, level)):
                yield context.problem(path, message, reason, offset=column.at)


def _twice(context: Context, level: tuple[ddl.Column, ...]) -> Iterator[_Misfit]:
    if context.has_conf("spark.sql.caseSensitive"):
        return
    names: set[str] = set()
    for column in level:
        if column.name.lower() in names:
            message = f"the schema has {column.name!r} twice, because Spark ignores the case of names; rename one of the two"
            yield column, message, reasons.DUPLICATE_COLUMN
        names.add(column.name.lower())


def _lengths(context: Context, level: tuple[ddl.Column, ...]) -> Iterator[_Misfit]:
    if any(context.has_conf(f"spark.sql.{name}") for name in _WITH_LENGTHS):
        return
    for column in level:
        if ddl.has_length(column):
            message = f"Spark reads no column of type {column.type}; write STRING for {column.name!r}"
            yield column, message, reasons.SCHEMA_INVALID


def _texts(context: Context) -> Iterator[tuple[Path, str, bool]]:
    """Each schema in DDL; True if a format of Spark reads its columns, and no connector or code of somebody else."""
    for index, source in enumerate(context.spec.sources):
        for path, text, by_spark in _of_source(source):
            if text is not None:
                yield ("sources", index, *path, "schema"), text, by_spark
    for index, view in enumerate(context.spec.views):
        if view.state:
            at: Path = ("views", index, "state")
            yield (*at, "schema"), view.state.schema_, False
            if view.state.state_schema:
                yield (*at, "stateSchema"), view.state.state_schema, False


def _of_source(source: Source) -> Iterator[tuple[Path, str | None, bool]]:
    if source.decode and (structured := source.decode.json_ or source.decode.csv):
        yield ("decode", source.decode.choice()), structured.schema_, True
    if source.files:
        yield ("files",), source.files.schema_, True
    if source.spark:
        yield ("spark",), source.spark.schema_, False
    if source.static:
        table = source.static.connector
        yield ("static", source.static.choice()), getattr(table, "schema_", None), not source.static.spark
