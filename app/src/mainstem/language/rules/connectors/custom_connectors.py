"""Rules for connectors and catalogs that Mainstem does not contain."""

import re
from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.model.connectors.custom import CustomConnector
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_NO_FIELD: Final = ""
KNOWN: Final = {
    "kafka": "kafka",
    "delta": "delta",
    "jdbc": "jdbc",
    "rate": "rate",
    "rate-micro-batch": "rateMicroBatch",
    "socket": "socket",
    "console": "console",
    "memory": "memory",
    "noop": "noop",
    **dict.fromkeys(("csv", "json", "orc", "parquet", "text"), "files, static or a sink of files"),
    # These read checkpoints, or files by their path, also those of the pod.
    **dict.fromkeys(
        ("avro", "binaryfile", "hive", "image", "libsvm", "xml", "statestore", "state-metadata"), _NO_FIELD
    ),
}
"""Spark's name of a connector that Spark or Mainstem contains, in lower case -> the field to use; empty if there is none."""
_OWN_CLASSES: Final = re.compile(
    r"org\.apache\.spark\.(sql\.(execution|kafka010|delta|hive|avro|v2|connect|jdbc|json|parquet|orc|csv|text|xml)|ml)\b|"
    r"com\.databricks\.spark\.(csv|avro|xml)\b|io\.delta\b|dev\.mainstem\b",
    re.IGNORECASE,
)
"""Classes and packages of the same connectors, with the names of earlier Spark versions."""


def formats(context: Context) -> Iterator[Problem]:
    """`spark` is for connectors without a field of their own. Connectors that read files by path are rejected."""
    for path, connector in context.spec.connectors():
        name = (connector.format or "") if isinstance(connector, CustomConnector) else ""
        instead = KNOWN.get(name.lower())
        if instead:
            message = f"the document has a field for {name}, with known delivery guarantees; use {instead}"
            yield context.problem((*path, "format"), message, reasons.FORMAT_OWNED)
        elif instead is not None or _OWN_CLASSES.match(name):
            message = f"{name} is a connector of Spark that can read files or checkpoints of the machine; it is not allowed here"
            yield context.problem((*path, "format"), message, reasons.FORMAT_OWNED)


def modes(context: Context) -> Iterator[Problem]:
    """A connector that writes a stream is the query's only sink."""
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            if sink.spark and sink.spark.mode == "stream" and len(query.to) > 1:
                message = f"mode stream allows one sink, and the query has {len(query.to)}; use mode: batch"
                yield context.problem(
                    ("queries", index, "to", place, "spark", "mode"), message, reasons.SINK_MODE_NOT_ALLOWED
                )


def options(context: Context) -> Iterator[Problem]:
    """An option of a connection comes from the document or from a secret, not from both."""
    for index, connection in enumerate(context.spec.connections):
        settings = connection.spark or connection.catalog
        given = {key.lower() for key in settings.options} if settings else set()
        for key in settings.secret_options if settings else ():
            if key.lower() in given:
                path: Path = ("connections", index, connection.choice(), "secretOptions", key)
                message = f"options sets {key} too; remove one of them"
                yield context.problem(path, message, reasons.FIELDS_CONFLICT, key=True)


def catalogs(context: Context) -> Iterator[Problem]:
    """A catalog has a unique name, and one place configures it."""
    conf = context.spec.spark.conf
    for index, connection in enumerate(context.spec.connections):
        if connection.catalog is None:
            continue
        path: Path = ("connections", index, "name")
        own = f"spark.sql.catalog.{connection.name}"
        if connection.name in ("spark_catalog", "session", "system"):
            message = f"{connection.name} is a catalog of Spark; choose another name"
            yield context.problem(path, message, reasons.DUPLICATE_NAME)
        elif any(key == own or key.startswith(f"{own}.") for key in conf):
            message = f"spark.conf configures the catalog {connection.name} too; remove one of them"
            yield context.problem(path, message, reasons.FIELDS_CONFLICT)
