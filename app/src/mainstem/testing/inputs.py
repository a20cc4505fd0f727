"""Rows that a test gives, in place of the sources that a pipeline reads."""

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import BinaryType, StringType, StructType

from mainstem.build.sources import Reader
from mainstem.errors import NotReady
from mainstem.spec.filesource import FilesSource
from mainstem.spec.messages import nearest_of
from mainstem.spec.sources import Source
from mainstem.testing.cases import Row


_KAFKA: Final = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
_RATE: Final = "timestamp TIMESTAMP, value BIGINT"


class Given(Reader):
    """Opens folders of one case, into which its steps put files: one file a source and step.

    Args:
        folder: of the case; removed by whoever made it.
        schemas: source -> DDL, as far as the tests say it.
        tables: static source -> rows, as far as the tests give them.
    """

    def __init__(self, folder: Path, schemas: Mapping[str, str], tables: Mapping[str, Sequence[Row]]) -> None:
        super().__init__({}, {})
        self._folder = folder
        self._schemas = schemas
        self._tables = tables
        self._records = 0

    def stream(self, session: SparkSession, source: Source, occurrence: str) -> DataFrame:
        """The rows of all steps so far and to come."""
        folder = self._folder / source.name
        folder.mkdir(parents=True, exist_ok=True)
        reader = session.readStream.schema(self._schema(source)).option("mode", "FAILFAST")
        frame = reader.format("json").name(occurrence).load(str(folder))
        return frame if source.kafka is None or source.kafka.include_headers else frame.drop("headers")

    def table(self, session: SparkSession, source: Source) -> DataFrame:
        """The rows that the test gives; without any, a table on this machine is read as it is.

        Raises:
            NotReady: `TableNotGiven`, for one that lies elsewhere.
        """
        rows = self._tables.get(source.name)
        if rows is None:
            return self._own_table(session, source)
        ddl = self._schemas.get(source.name) or _declared(source)
        reader = session.read.option("mode", "FAILFAST")
        if ddl is None:  # of CSV Spark makes strings, where no schema says otherwise
            csv = source.static is not None and source.static.csv is not None
            reader = reader.option("primitivesAsString", csv)
        else:
            _check(source, StructType.fromDDL(ddl), rows)
            reader = reader.schema(ddl)
        file = self._folder / f"{source.name}.table.json"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return reader.json(str(file))

    def put(self, source: Source, rows: Sequence[Row], step: int) -> None:
        """New rows for a stream.

        Raises:
            NotReady: `UnknownColumn`, `SchemaNotGiven`.
        """
        schema = self._schema(source)
        records = [self._record(source, row, schema) for row in rows]
        _check(source, schema, records)
        folder = self._folder / source.name
        folder.mkdir(parents=True, exist_ok=True)
        whole = self._folder / f"{source.name}.{step}.part"
        whole.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        whole.replace(folder / f"{step:04}.json")  # a stream shall not read half a file

    def _own_table(self, session: SparkSession, source: Source) -> DataFrame:
        path = getattr(source.static.member(source.static.choice()), "path", None) if source.static else None
        if path is None or not Path(path).exists():
            where = f" at {path}" if path else ""
            message = f"the test gives no rows of the table {source.name!r}, and there is none on this machine{where}"
            raise NotReady(message, reason="TableNotGiven", remedy=f"add tables: {{{source.name}: [...]}}")
        return super().table(session, source)

    def _schema(self, source: Source) -> StructType:
        ddl = self._schemas.get(source.name) or _declared(source)
        if ddl is None:
            message = f"the columns of the source {source.name!r} are in the table that it reads"
            raise NotReady(message, reason="SchemaNotGiven", remedy=f"add schemas: {{{source.name}: ...}}, as DDL")  # fmt: skip
        return StructType.fromDDL(ddl)

    def _record(self, source: Source, row: Row, schema: StructType) -> dict[str, Any]:
        """A row as the source itself would bring it: of one that decodes, the record."""
        self._records += 1
        if isinstance(row, str):
            columns: dict[str, Any] = {"value": row}
        elif list(row) == ["record"] and isinstance(row["record"], dict):
            columns = row["record"]
        elif source.decode is not None:
            columns = {"value": row}
        else:
            columns = row
        if source.kafka:
            columns = self._of_kafka(source, columns)
        return {name: _typed(value, schema, name) for name, value in columns.items()}

    def _of_kafka(self, source: Source, columns: dict[str, Any]) -> dict[str, Any]:
        topics = source.kafka.subscribe if source.kafka else None
        place = {"topic": topics[0] if topics else source.name, "partition": 0, "offset": self._records - 1}
        return place | {"timestamp": datetime.now(UTC).isoformat(), "timestampType": 0} | columns


def _declared(source: Source) -> str | None:
    """The columns of a source as its document, or its kind, has them; None where only its table knows."""
    if source.kafka:
        return _KAFKA
    if source.files:
        return _of_files(source.files)
    if source.static:
        return getattr(source.static.member(source.static.choice()), "schema_", None)
    if source.socket:
        return "value STRING, timestamp TIMESTAMP" if source.socket.include_timestamp else "value STRING"
    return _RATE if source.rate or source.rate_micro_batch else None


def _of_files(files: FilesSource) -> str | None:
    return "value STRING" if files.format == "text" else files.schema_


def _typed(value: Any, schema: StructType, name: str) -> Any:
    """A value as Spark's JSON reader takes it: bytes in base64, an object that stands for a text as that text."""
    kind = schema[name].dataType if name in schema.fieldNames() else None
    if isinstance(kind, (BinaryType, StringType)) and isinstance(value, (dict, list)):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(kind, BinaryType) and isinstance(value, str):
        return base64.b64encode(value.encode()).decode()
    return value


def _check(source: Source, schema: StructType, rows: Sequence[Row]) -> None:
    names = schema.fieldNames()
    for row in rows:
        for name in row if isinstance(row, dict) else ():
            if name not in names:
                message = f"the source {source.name!r} has no column {name!r}{nearest_of(name, names)}"
                raise NotReady(message, reason="UnknownColumn")
