"""Spark's types: their names in messages, as the types of a document, and which values Spark compares."""

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType, VariantType

from mainstem.language.sql.ddl import Column, Type, read
from mainstem.language.sql.ddl_tokens import DdlError


def named(kind: DataType) -> str:
    """The type as SQL has it, such as `STRUCT<id: INT>`; fields keep their names, because JSON keys are case-sensitive."""
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(f'{field.name}: {named(field.dataType)}' for field in kind)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{named(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{named(kind.keyType)}, {named(kind.valueType)}>"
    return str(kind.simpleString()).upper()


def is_comparable(kind: DataType) -> bool:
    """Whether Spark compares and hashes values of the type: it has no MAP and no VARIANT, at any depth."""
    if isinstance(kind, StructType):
        return all(is_comparable(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return is_comparable(kind.elementType)
    return not isinstance(kind, MapType | VariantType)


def has_timestamp(kind: DataType) -> bool:
    """Whether the type is TIMESTAMP, or has a part that is."""
    if isinstance(kind, StructType):
        return any(has_timestamp(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return has_timestamp(kind.elementType)
    if isinstance(kind, MapType):
        return has_timestamp(kind.keyType) or has_timestamp(kind.valueType)
    return isinstance(kind, TimestampType)


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
