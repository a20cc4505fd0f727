"""Connectors and catalogs that Mainstem does not bring."""

import re
from collections.abc import Iterator
from typing import Final

from mainstem import reasons
from mainstem.errors import Problem
from mainstem.language.model.connectors.custom import CustomConnector
from mainstem.language.rules.context import Context
from mainstem.language.yaml.yamltext import Path


_NO_WAY: Final = ""
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
    # These read files by their path, the pod's own too, or checkpoints.
    **dict.fromkeys(
        ("avro", "binaryfile", "hive", "image", "libsvm", "xml", "statestore", "state-metadata"), _NO_WAY
    ),
}
"""Spark's name of a connector that Spark or Mainstem brings, in lower case -> the field to use; empty where there is none."""
_OWN_CLASSES: Final = re.compile(
    r"org\.apache\.spark\.(sql\.(execution|kafka010|delta|hive|avro|v2|connect|jdbc|json|parquet|orc|csv|text|xml)|ml)\b|"
    r"com\.databricks\.spark\.(csv|avro|xml)\b|io\.delta\b|dev\.mainstem\b",
    re.IGNORECASE,
)
"""Classes and packages of the same connectors, with Spark's names of before."""


def formats(context: Context) -> Iterator[Problem]:
    """`spark` is for connectors that no field is made for; those that read files by their path are refused."""
    for path, connector in context.spec.connectors():
        name = (connector.format or "") if isinstance(connector, CustomConnector) else ""
        instead = KNOWN.get(name.lower())
        if instead:
            message = f"the document has a field for {name}, with promises that are known: use {instead}"
            yield context.problem((*path, "format"), message, reasons.FORMAT_OWNED)
        elif instead is not None or _OWN_CLASSES.match(name):
            message = f"{name} is one of Spark's own, which reads the files or checkpoints of the machine; it cannot be used here"
            yield context.problem((*path, "format"), message, reasons.FORMAT_OWNED)


def modes(context: Context) -> Iterator[Problem]:
    """A connector that writes a stream is the query's only sink."""
    for index, query in enumerate(context.spec.queries):
        for place, sink in enumerate(query.to):
            if sink.spark and sink.spark.mode == "stream" and len(query.to) > 1:
                message = f"there are {len(query.to)} sinks, so each batch is written to one after the other; use mode: batch"
                yield context.problem(
                    ("queries", index, "to", place, "spark", "mode"), message, reasons.SINK_MODE_NOT_ALLOWED
                )


def options(context: Context) -> Iterator[Problem]:
    """An option of a connection comes from the document or from a secret, not from both."""
    for index, connection in enumerate(context.spec.connections):
        told = connection.spark or connection.catalog
        given = {key.lower() for key in told.options} if told else set()
        for key in told.secret_options if told else ():
            if key.lower() in given:
                path: Path = ("connections", index, connection.choice(), "secretOptions", key)
                message = f"options has {key} already; leave one of them out"
                yield context.problem(path, message, reasons.FIELDS_CONFLICT, key=True)


def catalogs(context: Context) -> Iterator[Problem]:
    """A catalog has a name of its own, and is set up in one place."""
    conf = context.spec.spark.conf
    for index, connection in enumerate(context.spec.connections):
        if connection.catalog is None:
            continue
        path: Path = ("connections", index, "name")
        own = f"spark.sql.catalog.{connection.name}"
        if connection.name in ("spark_catalog", "session", "system"):
            message = f"{connection.name} is a catalog of Spark's own; name yours otherwise"
            yield context.problem(path, message, reasons.DUPLICATE_NAME)
        elif any(key == own or key.startswith(f"{own}.") for key in conf):
            message = f"spark.conf sets up the catalog {connection.name} too; leave one of them out"
            yield context.problem(path, message, reasons.FIELDS_CONFLICT)
