"""Replaces the sources of a pipeline by the rows of a test."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import singledispatch
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.types import BinaryType, DataType, LongType, StringType, StructField, StructType

from mainstem import reasons
from mainstem.dataframes import positions
from mainstem.dataframes.decode import schemas
from mainstem.dataframes.decode.file_records import INDEX
from mainstem.dataframes.options.connections import Connections
from mainstem.dataframes.sources.streaming import Reader
from mainstem.errors import NotReady
from mainstem.language.model.connectors.custom import SparkSource
from mainstem.language.model.connectors.delta import DeltaSource
from mainstem.language.model.connectors.file_source import FilesSource
from mainstem.language.model.connectors.generated_sources import (
    RateMicroBatchSource,
    RateSource,
    SocketSource,
)
from mainstem.language.model.connectors.kafka_source import KafkaSource
from mainstem.language.model.connectors.kinds import SourceKind
from mainstem.language.model.sources import Source
from mainstem.testing.cases import Row
from mainstem.testing.records import check, columns_of, encoded


_KAFKA: Final = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_RATE: Final = "timestamp TIMESTAMP, value BIGINT"


class GivenFiles(Reader):
    """Reads sources from folders of one case. Each step adds one file for each source with new rows.

    Args:
        session: any session.
        folder: the folder of the case; its creator removes it.
        schemas: source -> DDL, if the tests have it.
        tables: static or bounded source -> rows, if the tests have them.
    """

    def __init__(
        self,
        session: SparkSession,
        folder: Path,
        schemas: Mapping[str, str],
        tables: Mapping[str, Sequence[Row]],
    ) -> None:
        super().__init__(Connections())
        self._session = session
        self._folder = folder
        self._schemas = schemas
        self._tables = tables
        self._records = 0

    def stream(self, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
        """The rows of all steps, as a stream; the rows of the table, for a bounded source.

        Raises:
            NotReady: `TableNotGiven`, for a bounded source; `SchemaNotGiven`.
        """
        schema = self._schema(source)
        file_schema = StructType([*schema, StructField(INDEX, LongType())])
        if source.streaming:
            folder = self._folder / source.name
            folder.mkdir(parents=True, exist_ok=True)
            reader = session.readStream.schema(file_schema).option("mode", "FAILFAST")
            frame = reader.format("json").name(occurrence).load(str(folder))
        else:
            file = self._bounded(source, schema)
            frame = session.read.schema(file_schema).option("mode", "FAILFAST").json(str(file))
        frame = _positioned(frame, source, occurrence).drop(INDEX)
        return frame if source.kafka is None or source.kafka.include_headers else frame.drop("headers")

    def table(self, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
        """The rows that the test gives; without these rows, the table itself if it is on this machine.

        Raises:
            NotReady: `TableNotGiven`, if the table is not on this machine.
        """
        rows = self._tables.get(source.name)
        if rows is None:
            return self._own_table(session, source, occurrence)
        ddl = self._schemas.get(source.name) or _of_table(source)
        reader = session.read.option("mode", "FAILFAST")
        if ddl is None:  # without a schema Spark reads CSV values as strings
            csv = source.static is not None and source.static.csv is not None
            reader = reader.option("primitivesAsString", csv)
        else:
            check(source.name, StructType.fromDDL(ddl).fieldNames(), rows)
            reader = reader.schema(ddl)
        return reader.json(str(_written(self._folder / f"{source.name}.table.json", rows)))

    def put(self, source: Source, rows: Sequence[Row], step: int) -> None:
        """Add new rows to a stream.

        Raises:
            NotReady: `UnknownColumn`, `SchemaNotGiven`.
        """
        records = self._as_records(source, rows, self._schema(source))
        folder = self._folder / source.name
        folder.mkdir(parents=True, exist_ok=True)
        whole = _written(self._folder / f"{source.name}.{step}.part", records)
        whole.replace(folder / f"{step:04}.json")  # by rename, so that a stream never reads half a file

    def _bounded(self, source: Source, schema: StructType) -> Path:
        """The file with the rows of a bounded source, the same for every occurrence."""
        rows = self._tables.get(source.name)
        if rows is None:
            raise _not_given(source, "")
        file = self._folder / f"{source.name}.table.json"
        return file if file.exists() else _written(file, self._as_records(source, rows, schema))

    def _own_table(self, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
        path = source.connector.main_path
        if path is None or not Path(path).exists():
            where = f" at {path}" if path else ""
            raise _not_given(source, f", and the table is not on this machine{where}")
        return super().table(session, source, occurrence)

    def _schema(self, source: Source) -> StructType:
        ddl = self._schemas.get(source.name)
        if ddl is not None:
            schema: StructType | None = StructType.fromDDL(ddl)
        else:
            schema = declared(source.stream) if source.stream else None
        if schema is None:
            message = f"the columns of the source {source.name!r} are known only from its table"
            raise NotReady(message, reason=reasons.SCHEMA_NOT_GIVEN, remedy=f"add schemas: {{{source.name}: ...}}, as DDL")  # fmt: skip
        return schema

    def _as_records(self, source: Source, rows: Sequence[Row], schema: StructType) -> list[dict[str, Any]]:
        """Rows with the columns of the source itself: records, if the source decodes."""
        columns = [columns_of(row, source.decoding) for row in rows]
        if source.kafka:
            columns = [self._of_kafka(source, each) for each in columns]
        check(source.name, schema.fieldNames(), columns)
        return [
            {name: _typed(value, schema[name].dataType) for name, value in record.items()} | {INDEX: index}
            for index, record in enumerate(encoded(self._session, source.name, source.decoding, columns))
        ]

    def _of_kafka(self, source: Source, columns: dict[str, Any]) -> dict[str, Any]:
        self._records += 1
        topics = source.kafka.subscribe if source.kafka else None
        position = {
            "topic": topics[0] if topics else source.name,
            "partition": 0,
            "offset": self._records - 1,
        }
        return position | {"timestamp": datetime.now(UTC).isoformat(), "timestampType": 0} | columns


@singledispatch
def declared(source: SourceKind) -> StructType | None:
    """The columns of a stream by its document or its kind; None if only its table has them."""
    raise NotImplementedError(f"no columns for tests of {type(source).__name__}")


@declared.register
def _of_files(files: FilesSource) -> StructType | None:
    if files.format == "text" or files.decoding:
        return StructType.fromDDL("value STRING")
    return schemas.columns(files.schema_, files.schema_file)


@declared.register
def _of_kafka(_kafka: KafkaSource) -> StructType | None:
    return StructType.fromDDL(_KAFKA)


@declared.register
def _of_delta(_delta: DeltaSource) -> StructType | None:
    return None


@declared.register
def _of_rate(_rate: RateSource | RateMicroBatchSource) -> StructType | None:
    return StructType.fromDDL(_RATE)


@declared.register
def _of_socket(socket: SocketSource) -> StructType | None:
    return StructType.fromDDL(
        "value STRING, timestamp TIMESTAMP" if socket.include_timestamp else "value STRING"
    )


@declared.register
def _of_connector(source: SparkSource) -> StructType | None:
    return StructType.fromDDL(source.schema_) if source.schema_ else None


def _positioned(frame: DataFrame, source: Source, occurrence: str) -> DataFrame:
    """The rows with the positions that the source itself has; the given rows are in the order of its records."""
    if source.kafka:
        return positions.with_kafka_position(frame, occurrence)
    has_order = source.files and (source.decoding or source.files.format == "parquet")
    return positions.with_file_position(frame, occurrence, F.col(INDEX)) if has_order else frame


def _of_table(source: Source) -> str | None:
    return getattr(source.connector, "schema_", None)


def _not_given(source: Source, further: str) -> NotReady:
    message = f"the test gives no rows of the table {source.name!r}{further}"
    return NotReady(message, reason=reasons.TABLE_NOT_GIVEN, remedy=f"add tables: {{{source.name}: [...]}}")


def _typed(value: Any, kind: DataType) -> Any:
    """A value in the form that Spark's JSON reader takes: bytes in base64, an object for a text column as JSON text."""
    if isinstance(kind, (BinaryType, StringType)) and isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(kind, BinaryType) and value is not None:
        value = value if isinstance(value, bytes) else str(value).encode()
        return base64.b64encode(value).decode()
    return value


def _written(file: Path, rows: Sequence[Row]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file
