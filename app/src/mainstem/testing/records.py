"""Encodes the rows of a test as the records that the pipeline decodes to these rows."""

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own habit
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.types import StructType

from mainstem import reasons
from mainstem.dataframes.decode import schemas
from mainstem.dataframes.decode.avro_format import header
from mainstem.errors import NotReady
from mainstem.language.loading.shape_validation import nearest_of
from mainstem.language.model.decode import AvroDecode, CsvDecode, Decode
from mainstem.testing.cases import Row, is_record


def columns_of(row: Row, decode: Decode | None) -> dict[str, Any]:
    """The columns of the source itself: if the source decodes, with the record as `value`, before encoding."""
    if isinstance(row, str):
        return {"value": row}
    if is_record(row):
        return dict(row["record"])
    return row if decode is None or decode.text else {"value": row}


def encoded(
    session: SparkSession, name: str, decode: Decode | None, records: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The records, with every `value` that has columns encoded as text or bytes.

    Args:
        session: any session.
        name: the source's name.
        decode: how the source decodes.
        records: records with the source's columns.

    Raises:
        NotReady: `UnknownColumn`; or the file of a schema cannot be read.
    """
    if decode is None or not (decode.csv or decode.avro):
        return list(records)  # JSON needs no encoding
    given = [record["value"] for record in records if isinstance(record.get("value"), dict)]
    if not given:
        return list(records)
    values = iter(_values(session, name, decode, given))
    return [
        record | {"value": next(values)} if isinstance(record.get("value"), dict) else record
        for record in records
    ]


def check(name: str, known: Sequence[str], rows: Sequence[Row]) -> None:
    """Check that rows name only known columns.

    Raises:
        NotReady: `UnknownColumn`.
    """
    for row in rows:
        for column in row if isinstance(row, dict) else ():
            if column not in known:
                message = f"the source {name!r} has no column {column!r}{nearest_of(column, known)}"
                raise NotReady(message, reason=reasons.UNKNOWN_COLUMN)


def _values(session: SparkSession, name: str, decode: Decode, rows: Sequence[dict[str, Any]]) -> list[Any]:
    schema, encode = _csv(decode.csv) if decode.csv else _avro(session, decode.avro or AvroDecode())
    check(name, schema.fieldNames(), rows)
    texts = session.createDataFrame([(json.dumps(row),) for row in rows], "row STRING").coalesce(1)
    encoded_rows = texts.select(encode(F.from_json("row", schema, {"mode": "FAILFAST"}))).collect()
    return [bytes(value) if isinstance(value, bytearray) else value for (value,) in encoded_rows]


def _csv(csv: CsvDecode) -> tuple[StructType, Any]:
    return schemas.columns(csv.schema_, csv.schema_file), lambda row: F.to_csv(row, dict(csv.options))


def _avro(session: SparkSession, avro: AvroDecode) -> tuple[StructType, Any]:
    text = json.dumps(schemas.avro(avro.schema_, avro.schema_file))
    empty: Any = session.range(0).select(from_avro(F.lit(None).cast("binary"), text)).schema[0].dataType

    def encode(row: Column) -> Column:
        body = to_avro(row, text)
        return body if avro.registry_id is None else F.concat(F.lit(header(avro.registry_id)), body)

    return empty, encode
