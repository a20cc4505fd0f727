"""The names of Spark's types in messages."""

from pyspark.sql.types import ArrayType, DataType, MapType, StructType


def named(kind: DataType) -> str:
    """The type as SQL has it, such as `STRUCT<id: INT>`; fields keep their names, because JSON keys are case-sensitive."""
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(f'{field.name}: {named(field.dataType)}' for field in kind)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{named(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{named(kind.keyType)}, {named(kind.valueType)}>"
    return str(kind.simpleString()).upper()
