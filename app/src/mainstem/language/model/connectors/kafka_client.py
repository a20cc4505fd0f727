"""Properties of Kafka's clients that Mainstem sets itself, shared by connections, sources and sinks."""

from collections.abc import Mapping
from typing import Final


_SERVERS: Final = {"bootstrap.servers": "the connection's bootstrapServers"}
# Spark's source and sink set these themselves, and reject any other value.
_CONSUMER: Final = {
    "group.id": "groupIdPrefix, among a source's options",
    "auto.offset.reset": "startingOffsets",
    "enable.auto.commit": "",
    "isolation.level": "isolationLevel of a source",
    "key.deserializer": "",
    "value.deserializer": "",
}
_PRODUCER: Final = {"key.serializer": "", "value.serializer": ""}
OWNED_CLIENT: Final = {"bootstrap.servers": "bootstrapServers"} | _CONSUMER | _PRODUCER
"""Owned properties of a connection."""


def _prefixed(properties: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{key}": instead for key, instead in properties.items()}


OWNED_CONSUMER: Final = _prefixed(_SERVERS | _CONSUMER | {"interceptor.classes": ""})
"""Owned properties among the options of Spark's Kafka source."""
OWNED_PRODUCER: Final = _prefixed(_SERVERS | _PRODUCER)
"""Owned properties among the options of Spark's Kafka sink."""
