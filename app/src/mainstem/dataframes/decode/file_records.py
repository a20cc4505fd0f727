"""Reads text files as records, before they are decoded: splits files into records, and adds the values of folder names."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import LongType, StringType, StructField, StructType

from mainstem.dataframes import positions
from mainstem.dataframes.decode import schemas
from mainstem.language.model.decode import Decode


FORMAT: Final = "dev.mainstem.files.RecordFormat"
FOLDERS: Final = "__mainstem_folders"
"""Column, a STRUCT: values of the schema's columns that names of folders have, as in `day=2013-01-01`."""
FAULT: Final = "__mainstem_fault"
"""Column, a STRING: why the record cannot be decoded; null for most records."""
INDEX: Final = "__mainstem_index"
"""Column, a BIGINT: number of the record in its part of the file, from 0."""
_RECORD: Final = (
    StructType().add("__mainstem_value", StringType()).add(FAULT, StringType()).add(INDEX, LongType())
)

Load = Callable[[StructType, Mapping[str, str]], DataFrame]
"""Opens the files with a schema and options."""


def stream(
    session: SparkSession, path: str, occurrence: str, decode: Decode, options: Mapping[str, str]
) -> DataFrame:
    """Records of new files as a stream: value STRING, file STRING, `FAULT`, `POSITION`, and `FOLDERS` if folders have values.

    Args:
        session: the query's session.
        path: the folder.
        occurrence: name of the source's occurrence in the query.
        decode: the format and the schema of the records.
        options: options of the file source and of the format's reader.
    """

    def load(schema: StructType, layout: Mapping[str, str]) -> DataFrame:
        return session.readStream.format(FORMAT).schema(schema).options(**layout).name(occurrence).load(path)

    return _records(load, decode, options, occurrence)


def table(session: SparkSession, path: str, decode: Decode, options: Mapping[str, str]) -> DataFrame:
    """Records of the existing files, with the columns of `stream`."""

    def load(schema: StructType, layout: Mapping[str, str]) -> DataFrame:
        return session.read.format(FORMAT).schema(schema).options(**layout).load(path)

    return _records(load, decode, options)


def columns(decode: Decode) -> StructType:
    """The columns of the schema of JSON and CSV records; no columns for other formats.

    Raises:
        NotReady: a schema file cannot be read, or has no schema.
    """
    json_or_csv = decode.json_ or decode.csv
    return schemas.columns(json_or_csv.schema_, json_or_csv.schema_file) if json_or_csv else StructType()


def is_many(options: Mapping[str, str]) -> bool:
    """Whether each JSON file is one record, with one object or an array of objects."""
    return _is_true(_lower(options), "multiline")


def known_folders(columns: Iterable[str]) -> dict[str, str]:
    """The option with the columns that the folders `k=v` of a stream give when the query starts.

    Mainstem's jar fails a batch whose folders give another one: Spark would put its values into any column, or lose them.
    """
    return {"mainstemFolders": "\n".join(columns)}


def _records(
    load: Load, decode: Decode, options: Mapping[str, str], occurrence: str | None = None
) -> DataFrame:
    """The records; with their position if they are the occurrence of a stream."""
    schema = columns(decode)
    layout = _layout(decode, options)
    partition_columns = load(_RECORD, layout).columns[len(_RECORD) :]
    folders = [
        field for field in schema if field.name.lower() in {name.lower() for name in partition_columns}
    ]
    files = load(
        StructType([*_RECORD, *folders]),
        layout | _header(schema, folders, layout) | known_folders(partition_columns),
    )
    folder_column = (
        [F.struct(*[F.col(f"`{field.name}`") for field in folders]).alias(FOLDERS)] if folders else []
    )
    value, fault, index = (F.col(name) for name in _RECORD.names)
    position: list[Column] = []
    if occurrence is not None:
        files = positions.with_file_position(files, occurrence, index)
        position = [F.col(positions.POSITION)]
    file = F.col("_metadata.file_path").alias("file")
    return files.select(value.alias("value"), fault.alias(FAULT), file, *position, *folder_column)


def _layout(decode: Decode, options: Mapping[str, str]) -> dict[str, str]:
    """The options of Mainstem's reader in Java; keys in lower case."""
    kind = decode.choice()
    parser: Mapping[str, str] = getattr(decode.member(kind), "options", {})
    layout = _lower(parser) | _lower(options) | {"mainstemkind": kind}
    if kind == "json" and _is_true(layout, "multiline"):
        layout["wholetext"] = "true"
    return layout


def _header(schema: StructType, folders: list[StructField], layout: Mapping[str, str]) -> dict[str, str]:
    """The names that the header of a CSV file must have, unless the document forces the schema on it."""
    if not _is_true(layout, "header") or _is_true(layout, "enforceschema"):
        return {}
    folder_names = {field.name for field in folders}
    return {"mainstemcolumns": "\n".join(name for name in schema.fieldNames() if name not in folder_names)}


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in options.items()}


def _is_true(options: Mapping[str, str], key: str) -> bool:
    return options.get(key, "").lower() == "true"
