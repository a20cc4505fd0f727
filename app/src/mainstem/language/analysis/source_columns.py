"""Finds the column names of a source that are known without Spark."""

from sqlglot import exp

from mainstem.language.analysis.avro_schemas import record_fields
from mainstem.language.model.decode import Decode
from mainstem.language.model.sources import Source
from mainstem.language.sql.parser import NotReadable, parse


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


def decoded_columns(decode: Decode) -> list[str] | None:
    """The columns of a decoded record, or None if only Spark knows them."""
    if decode.text:
        return ["value"]
    if decode.avro:
        return record_fields(decode.avro.schema_) if decode.avro.schema_ else None
    structured = decode.json_ or decode.csv
    return ddl_columns(structured.schema_) if structured and structured.schema_ else None


def ddl_columns(ddl: str) -> list[str] | None:
    """The top-level column names of a schema in DDL, or None if sqlglot cannot read it."""
    columns = _definitions(ddl)
    return None if columns is None else [column.name for column in columns]


def ddl_types(ddl: str) -> dict[str, str] | None:
    """Top-level column -> its type as Spark writes it, or None if sqlglot cannot read the DDL."""
    columns = _definitions(ddl)
    if columns is None:
        return None
    kinds = {column.name: column.args.get("kind") for column in columns}
    return {
        name: kind.sql(dialect="spark").upper() for name, kind in kinds.items() if isinstance(kind, exp.Expr)
    }


def _definitions(ddl: str) -> list[exp.ColumnDef] | None:
    try:
        trees = parse(f"CREATE TABLE t ({ddl})")
    except NotReadable:
        return None
    schema = trees[0].this if trees and isinstance(trees[0], exp.Create) else None
    if not isinstance(schema, exp.Schema):
        return None
    columns = [column for column in schema.expressions if isinstance(column, exp.ColumnDef)]
    return columns if len(columns) == len(schema.expressions) else None
