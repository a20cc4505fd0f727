"""Spark's types: their names in messages, and which values Spark compares."""

from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType


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
