"""Finds the column names of a source that are known without Spark."""

from mainstem.language.analysis.avro_schemas import record_fields
from mainstem.language.model.decode import Decode
from mainstem.language.model.sources import Source
from mainstem.language.sql.ddl import Column, read
from mainstem.language.sql.ddl_tokens import DdlError


def complete_names(source: Source) -> list[str] | None:
    """All columns of a source's relation, or None if only Spark knows them.

    Files without decoding have a further column for each folder of their path with a name like `day=2024-01-01`. For
    decoded files such a folder only sets columns of the schema.
    """
    declared = source.connector.columns()
    complete = source.decode is not None or (declared is not None and declared.complete)
    return column_names(source) if complete else None


def column_names(source: Source) -> list[str] | None:
    """The declared columns of a source's relation, or None if only Spark knows them."""
    if source.decode:
        columns = decoded_columns(source.decode)
        return None if columns is None else [*columns, *source.decode.keep]
    declared = source.connector.columns()
    if declared is None:
        return None
    return list(declared.names) if declared.ddl is None else ddl_columns(declared.ddl)


def column_types(source: Source) -> dict[str, str]:
    """The types of a source's columns that the document declares, by lower-case name."""
    return {column.name.lower(): str(column.type) for column in declared_columns(source)}


def declared_columns(source: Source) -> tuple[Column, ...]:
    """The columns of a source that the document declares with their types."""
    decode = source.decoding
    structured = (decode.json_ or decode.csv) if decode else None
    declared = source.connector.columns()
    ddl = structured.schema_ if structured else declared.ddl if declared and not source.decode else None
    return (_read(ddl) or ()) if ddl else ()


def decoded_columns(decode: Decode) -> list[str] | None:
    """The columns of a decoded record, or None if only Spark knows them."""
    if decode.text:
        return ["value"]
    if decode.avro:
        return record_fields(decode.avro.schema_) if decode.avro.schema_ else None
    structured = decode.json_ or decode.csv
    return ddl_columns(structured.schema_) if structured and structured.schema_ else None


def ddl_columns(ddl: str) -> list[str] | None:
    """The top-level column names of a schema in DDL, or None if it is not valid."""
    columns = _read(ddl)
    return None if columns is None else [column.name for column in columns]


def ddl_types(ddl: str) -> dict[str, str] | None:
    """Top-level column -> its type as Spark writes it, or None if the DDL is not valid."""
    columns = _read(ddl)
    return None if columns is None else {column.name: str(column.type) for column in columns}


def _read(ddl: str) -> tuple[Column, ...] | None:
    try:
        return read(ddl)
    except DdlError:
        return None
