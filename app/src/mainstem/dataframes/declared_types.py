"""Spark's types as the types of a document. Not for Python workers, which would import the reader of schemas for it."""

from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from mainstem.language.sql.ddl import Column, Type, inner, is_compared, read
from mainstem.language.sql.ddl_tokens import DdlError


def declared(kind: DataType) -> Type:
    """The type as a document would declare it."""
    if isinstance(kind, StructType):
        return Type("STRUCT", fields=tuple(Column(field.name, declared(field.dataType), 0) for field in kind))
    if isinstance(kind, ArrayType):
        return Type("ARRAY", (declared(kind.elementType),))
    if isinstance(kind, MapType):
        return Type("MAP", (declared(kind.keyType), declared(kind.valueType)))
    try:
        [column] = read(f"c {kind.simpleString()}")
    except DdlError:  # a class of somebody's own
        return Type(str(kind.simpleString()).upper())
    return column.type


def is_comparable(kind: DataType) -> bool:
    """Whether Spark compares and hashes values of the type."""
    return is_compared(declared(kind))


def has_timestamp(kind: DataType) -> bool:
    """Whether the type is TIMESTAMP, or has a part that is."""
    return any(each.name == "TIMESTAMP" for each in inner(declared(kind)))
