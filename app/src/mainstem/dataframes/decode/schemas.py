"""Reads schemas from the document, or from a schema file, whenever a query is built."""

import json
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.language.analysis.avro_schemas import record_fields


def columns(ddl: str | None, file: str | None) -> StructType:
    """The columns that DDL, or a file with the JSON of a StructType, describes.

    Raises:
        NotReady: `SchemaFileNotReadable`, `SchemaFileInvalid`.
        ParseException: Spark cannot read the DDL.
    """
    if ddl is not None:
        return StructType.fromDDL(ddl)
    return _struct(file or "")


def avro(schema: str | None, file: str | None) -> dict[str, Any]:
    """The Avro schema of a record.

    Raises:
        NotReady: `SchemaFileNotReadable`, `SchemaFileInvalid`.
    """
    text = schema if schema is not None else _read(file or "")
    if record_fields(text) is None:
        where = "avro.schema" if schema is not None else file
        raise NotReady(
            f"{where} does not contain the Avro schema of a record", reason=reasons.SCHEMA_FILE_INVALID
        )
    record: dict[str, Any] = json.loads(text)
    return record


def _struct(file: str) -> StructType:
    text = _read(file)
    try:
        return StructType.fromJson(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, PySparkException) as error:
        raise NotReady(
            f"the schema file {file} does not contain the JSON of a Spark StructType: {error or type(error).__name__}",
            reason=reasons.SCHEMA_FILE_INVALID,
            remedy="write the file with `df.schema.json()`",
        ) from error


def _read(file: str) -> str:
    try:
        return Path(file.removeprefix("file:")).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise NotReady(
            f"the schema file {file} cannot be read: {why}",
            reason=reasons.SCHEMA_FILE_NOT_READABLE,
            remedy="on a cluster, put the file into the image or into a volume that driver.template mounts",
        ) from error
