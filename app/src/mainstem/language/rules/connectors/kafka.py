"""Rules for Kafka: start and end of sources, limits of a batch, and security of connections."""

import json
from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.loading.shape_validation import did_you_mean, show
from mainstem.language.model.connectors.kafka_sink import KafkaSink
from mainstem.language.model.connectors.kafka_source import KafkaSource, milliseconds
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


ENDS: Final = {
    "starting": ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp"),
    "ending": ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"),
}
_VERB: Final = {"starting": "start", "ending": "end"}
_NEVER: Final[dict[str, tuple[str, int]]] = {"starting": ("latest", -1), "ending": ("earliest", -2)}
"""The start and the end that a bounded source cannot have: as a word, and as an offset of Spark's JSON."""
STREAMS_ONLY: Final = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_SECURITY: Final = (
    "security.protocol",
    "sasl.",
    "ssl.truststore.",
    "ssl.keystore.",
    "ssl.key.",
    "config.providers",
)
"""Prefixes of the client properties that Mainstem sets from a connection's `security`."""


def offsets(context: Context) -> Iterator[Problem]:
    """A Kafka source has one start and one end: a word, a time, or JSON of topic -> partition -> offset or milliseconds."""
    for path, source in _sources(context):
        for side, keys in ENDS.items():
            given = [key for key in keys if source.member(key) is not None]
            for key in given[1:]:
                message = f"{given[0]} and {key} both set where to {_VERB[side]}; remove one of them"
                yield context.problem((*path, key), message, reasons.AMBIGUOUS_OFFSETS, key=True)
            for key in given:
                if mistake := _position_mistake(key, source.member(key)):
                    yield context.problem((*path, key), mistake, reasons.INVALID_VALUE)


def bounds(context: Context) -> Iterator[Problem]:
    """A bounded Kafka source starts before the latest offset and ends after the earliest."""
    for path, source in _sources(context):
        if not source.bounded:
            continue
        for side, key in (("starting", "startingOffsets"), ("ending", "endingOffsets")):
            word, offset = _NEVER[side]
            text: str = source.member(key) or ""
            if text.strip().lower() == word or offset in _numbers(text):
                message = f"a source with an end cannot {_VERB[side]} at {word}, because it would read nothing; use another offset"
                yield context.problem((*path, key), message, reasons.EMPTY_RANGE)


def limits(context: Context) -> Iterator[Problem]:
    """Limits of a batch are for streams. `maxTriggerDelay` needs `minOffsetsPerTrigger`; the minimum is not above the maximum."""
    for path, source in _sources(context):
        for key in STREAMS_ONLY if source.bounded else ():
            if source.member(key) is not None:
                message = f"{key} limits a batch, and a source with an end has no batches; use maxRecordsPerPartition"
                yield context.problem((*path, key), message, reasons.FIELDS_CONFLICT, key=True)
        minimum, maximum = source.min_offsets_per_trigger, source.max_offsets_per_trigger
        if source.max_trigger_delay and minimum is None:
            message = "maxTriggerDelay has no effect without minOffsetsPerTrigger; set both or remove it"
            yield context.problem((*path, "maxTriggerDelay"), message, reasons.FIELDS_CONFLICT, key=True)
        if minimum and maximum and minimum > maximum:
            message = (
                f"{minimum} is above maxOffsetsPerTrigger, {maximum}; lower it or raise maxOffsetsPerTrigger"
            )
            yield context.problem((*path, "minOffsetsPerTrigger"), message, reasons.FIELDS_CONFLICT)


def security(context: Context) -> Iterator[Problem]:
    """`security` has `sasl`, `tls` or both; no property of the connection's clients sets the same."""
    for index, connection in enumerate(context.spec.connections):
        kafka = connection.kafka
        if kafka is None or kafka.security is None:
            continue
        at: Path = ("connections", index, "kafka")
        if kafka.security.sasl is None and kafka.security.tls is None:
            yield context.problem(
                (*at, "security"), "at least one of sasl, tls must be given", reasons.SECURITY_EMPTY
            )
        for path, key in _client_properties(context, index, connection.name):
            if key.lower().startswith(_SECURITY):
                message = f"{path[-1]} is set by Mainstem from the connection's security; remove it"
                yield context.problem(path, message, reasons.OWNED_OPTION, key=True)
        if kafka.security.sasl and kafka.security.sasl.mechanism == "PLAIN" and kafka.security.tls is None:
            message = "PLAIN without tls sends the password unencrypted; set tls, or use a SCRAM mechanism"
            yield context.problem((*at, "security", "sasl"), message, reasons.PASSWORD_IN_CLEAR, warning=True)


def _client_properties(context: Context, index: int, connection: str) -> Iterator[tuple[Path, str]]:
    """Every property of a connection's clients that the document sets: its path, and its name in Kafka."""
    kafka = context.spec.connections[index].kafka
    for key in kafka.properties if kafka else ():
        yield ("connections", index, "kafka", "properties", key), key
    users: list[tuple[Path, KafkaSource | KafkaSink]] = [*_sources(context), *_sinks(context)]
    for path, user in users:
        for key in user.options if user.connection == connection else ():
            if key.lower().startswith("kafka."):
                yield (*path, "options", key), key[6:]


def _sinks(context: Context) -> Iterator[tuple[Path, KafkaSink]]:
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            if sink.kafka:
                yield ("queries", index, "to", place, "kafka"), sink.kafka


def _sources(context: Context) -> Iterator[tuple[Path, KafkaSource]]:
    for index, source in enumerate(context.spec.sources):
        if source.kafka:
            yield ("sources", index, "kafka"), source.kafka


def _position_mistake(key: str, text: str) -> str | None:
    """The message for an invalid start or end; None if it is valid."""
    if key in ("startingTimestamp", "endingTimestamp"):
        if milliseconds(text) is None:
            return f"{show(text)} is not a time such as 2026-01-01T00:00:00Z, or milliseconds since 1970"
        return None
    words = ("earliest", "latest") if key in ("startingOffsets", "endingOffsets") else ()
    if text.strip().lower() in words or _is_offsets(text):
        return None
    either = f"neither {', '.join(words)} nor " if words else "not "
    example = 1767225600000 if not words else 42
    return f'{show(text)} is {either}JSON such as {{"orders": {{"0": {example}}}}}{did_you_mean(text, words)}'


def _is_offsets(text: str) -> bool:
    topics = _json(text)
    return isinstance(topics, dict) and all(
        isinstance(partitions, dict) and all(type(offset) is int for offset in partitions.values())
        for partitions in topics.values()
    )


def _numbers(text: str) -> list[int]:
    """The offsets in Spark's JSON; empty for a word."""
    if not _is_offsets(text):
        return []
    topics: dict[str, dict[str, int]] = json.loads(text)
    return [offset for partitions in topics.values() for offset in partitions.values()]


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
