"""The texts of a checkpoint's small files: plans, commits, Spark's metadata of stateful operators; pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


PARTITIONS: Final = "spark.sql.shuffle.partitions"
PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_TYPES: Final = {
    "long": "BIGINT",
    "integer": "INT",
    "short": "SMALLINT",
    "byte": "TINYINT",
    "timestamp_ntz": "TIMESTAMP_NTZ",
}


@dataclass(frozen=True)
class Plan:
    """An entry of the offset log: what a batch reads.

    Attributes:
        watermark: the watermark of the batch, in milliseconds since 1970; 0 if there is none.
        planned_at: when the batch was planned, in milliseconds since 1970.
        conf: the properties that the checkpoint fixes.
        offsets: source -> its end offset as Spark writes it. An entry without names has the sources' numbers.
    """

    watermark: int
    planned_at: int
    conf: Mapping[str, str]
    offsets: Mapping[str, str]

    @property
    def ends(self) -> dict[str, Any]:
        """Source -> its end offset as JSON, or as its text if it is not JSON."""
        return {name: sources(offset) for name, offset in self.offsets.items()}


@dataclass(frozen=True)
class StateStore:
    """A state store of an operator.

    Attributes:
        name: `default`, or the name within the operator.
        partitions: the number of its partitions.
        schema_files: full paths of the files with its schema; empty if partition 0 has them.
    """

    name: str
    partitions: int
    schema_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Operator:
    """A stateful operator.

    Attributes:
        number: its number in the query's plan, from 0.
        name: Spark's name of it.
        stores: its state stores.
    """

    number: int
    name: str
    stores: tuple[StateStore, ...]


def query_id(text: str) -> str:
    """The id in the file `metadata`; raises ValueError if there is none."""
    return str(_object(text)["id"])


def plan(text: str) -> Plan:
    """The entry of a batch in the offset log; raises ValueError if Spark could not read it.

    A continuous query (`trigger.continuous`) writes an empty line where a query of batches writes watermark and settings.
    """
    version, *lines = _lines(text)
    if version not in ("v1", "v2") or not lines:
        raise ValueError(f"it has the version {version!r}, not v1 or v2")
    head = _object(lines[0]) if lines[0] else {}
    pairs = (
        [line.partition(":")[::2] for line in lines[1:]]
        if version == "v2"
        else [(str(index), line) for index, line in enumerate(lines[1:])]
    )
    for _, offset in pairs:
        if offset.startswith("{"):
            json.loads(offset)  # a plan that is cut off
    return Plan(
        int(head.get("batchWatermarkMs", 0)),
        int(head.get("batchTimestampMs", 0)),
        dict(head.get("conf") or {}),
        {name: offset for name, offset in pairs if offset and offset != "-"},
    )


def with_watermark(text: str, watermark: int) -> str:
    """The entry of a batch in the offset log with another watermark, in milliseconds since 1970; raises ValueError."""
    version, head, *rest = _lines(text)
    described = _object(head) | {"batchWatermarkMs": watermark}
    return "\n".join([version, json.dumps(described, separators=(",", ":")), *rest])


def repartitions(before: str, after: str) -> bool:
    """Whether the plan of a batch only gives the state another number of partitions; raises ValueError.

    Args:
        before: the plan of the batch before it.
        after: its plan. No batch of a query changes this number.
    """
    first, second = plan(before), plan(after)
    return first.offsets == second.offsets and first.conf.get(PARTITIONS) != second.conf.get(PARTITIONS)


def with_conf(text: str, key: str, value: str) -> str:
    """The entry of a batch in the offset log with a property that the checkpoint fixes; raises ValueError."""
    version, line, *rest = _lines(text)
    head = _object(line)
    head["conf"] = {**(head.get("conf") or {}), key: value}
    return "\n".join([version, json.dumps(head, separators=(",", ":")), *rest])


def commit(text: str) -> int:
    """The watermark of the batch after a committed batch, 0 if there is none; raises ValueError."""
    version, *lines = _lines(text)
    if not version.startswith("v") or not lines:
        raise ValueError("it has no version and one line")
    return int(_object(lines[0]).get("nextBatchWatermarkMs", 0))


def operator(text: str) -> Operator:
    """The operator that a file of Spark's metadata describes; raises ValueError."""
    version, *lines = _lines(text)
    if version not in ("v1", "v2") or not lines:
        raise ValueError(f"it has the version {version!r}, not v1 or v2")
    described = _object(lines[0])
    try:
        info = described["operatorInfo"]
        stores = tuple(
            StateStore(
                store["storeName"], int(store["numPartitions"]), tuple(store.get("stateSchemaFilePaths", ()))
            )
            for store in described["stateStoreInfo"]
        )
        return Operator(int(info["operatorId"]), str(info["operatorName"]), stores)
    except (KeyError, TypeError) as error:
        raise ValueError(f"it has no {error}") from error


def moved(text: str, old: str, new: str) -> str:
    """The metadata of an operator for a checkpoint at another path: Spark writes the full paths of schema files."""
    version, line, *rest = text.splitlines()
    described = json.loads(line)
    for store in described["stateStoreInfo"]:
        if "stateSchemaFilePaths" in store:
            store["stateSchemaFilePaths"] = [
                f"{new}/state/{path.rpartition('/state/')[2]}" if old in path else path
                for path in store["stateSchemaFilePaths"]
            ]
    return "\n".join([version, json.dumps(described, separators=(",", ":")), *rest])


def with_partitions(text: str, partitions: int) -> str:
    """The metadata of an operator with another number of partitions of each state store."""
    version, line, *rest = text.splitlines()
    described = json.loads(line)
    for store in described["stateStoreInfo"]:
        store["numPartitions"] = partitions
    return "\n".join([version, json.dumps(described, separators=(",", ":")), *rest])


def sources(offset: str) -> Any:
    """An offset as JSON, or as its text if it is not JSON."""
    try:
        return json.loads(offset)
    except ValueError:
        return offset


def schemas(content: bytes) -> Sequence[tuple[str, str]]:
    """Key and value columns of each column family in a schema file, as DDL; empty if none can be read.

    The file is binary; only the JSON of the schemas in it is read.
    """
    text, decoder, columns = content.decode(errors="replace"), json.JSONDecoder(), []
    position = 0
    while (position := text.find('{"type":"struct"', position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, position)
            columns.append(", ".join(_columns(value, " ")))
        except (ValueError, LookupError, TypeError):
            return []
    return list(zip(columns[::2], columns[1::2], strict=False))


def _columns(struct: Mapping[str, Any], between: str) -> list[str]:
    return [f"{field['name']}{between}{_ddl(field['type'])}" for field in struct["fields"]]


def _ddl(kind: Any) -> str:
    """A type of Spark's JSON schema as DDL."""
    if isinstance(kind, str):
        return _TYPES.get(kind, kind.upper())
    if kind["type"] == "struct":
        return f"STRUCT<{', '.join(_columns(kind, ': '))}>"
    if kind["type"] == "array":
        return f"ARRAY<{_ddl(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"MAP<{_ddl(kind['keyType'])}, {_ddl(kind['valueType'])}>"
    return str(kind["type"]).upper()


def _lines(text: str) -> list[str]:
    lines = text.splitlines()
    if not lines:
        raise ValueError("it is empty")
    return lines


def _object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - of the text, not of an argument
    return value
