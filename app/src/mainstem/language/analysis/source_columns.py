"""Column names of a source, as far as they are known without Spark."""

from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mainstem.language.analysis.avro_schemas import record_fields
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.decode import Decode
from mainstem.language.model.sources import Source
from mainstem.language.sql.parser import TooMuchWork, parse


_KAFKA: Final = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


def complete_names(source: Source) -> list[str] | None:
    """All columns of a source's relation, or None where only Spark can tell.

    Files that Spark reads by itself have one more for each folder of their path that is named like `day=2024-01-01`. Of
    records of files a folder gives only columns of the schema.
    """
    return None if source.files and source.decoding is None else column_names(source)


def column_names(source: Source) -> list[str] | None:
    """The columns of a source's relation that are declared, or None where only Spark can tell."""
    if source.decode:
        columns = decoded_columns(source.decode)
        return None if columns is None else [*columns, *source.decode.keep]
    if source.kafka:
        return [*_KAFKA, "headers"] if source.kafka.include_headers else list(_KAFKA)
    if source.rate or source.rate_micro_batch:
        return ["timestamp", "value"]
    if source.socket:
        return ["value", "timestamp"] if source.socket.include_timestamp else ["value"]
    if source.spark:
        return ddl_columns(source.spark.schema_) if source.spark.schema_ else None
    return _file_columns(source.files) if source.files else None


def _file_columns(files: FilesSource) -> list[str] | None:
    if files.format == "text":
        return ["value"]
    return ddl_columns(files.schema_) if files.schema_ else None


def decoded_columns(decode: Decode) -> list[str] | None:
    """The columns that the bytes of a record become, or None where only Spark can tell."""
    if decode.text:
        return ["value"]
    if decode.avro:
        return record_fields(decode.avro.schema_) if decode.avro.schema_ else None
    structured = decode.json_ or decode.csv
    return ddl_columns(structured.schema_) if structured and structured.schema_ else None


def ddl_columns(ddl: str) -> list[str] | None:
    """Top-level column names of a schema in DDL, or None where sqlglot cannot read it."""
    try:
        trees = parse(f"CREATE TABLE t ({ddl})")
    except (SqlglotError, RecursionError, TooMuchWork):
        return None
    schema = trees[0].this if trees and isinstance(trees[0], exp.Create) else None
    if not isinstance(schema, exp.Schema):
        return None
    columns = [column for column in schema.expressions if isinstance(column, exp.ColumnDef)]
    return [column.name for column in columns] if len(columns) == len(schema.expressions) else None
