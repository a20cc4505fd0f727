"""Writes secrets to files of credentials for Kafka's clients and S3A, so that no credential becomes a Spark property."""

from collections.abc import Iterable
from pathlib import Path

from mainstem import logs, reasons
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.connections import Connection, KafkaSecurity, Sasl, credentials_file
from mainstem.language.model.queries import Query
from mainstem.language.requirements import required_connections, stores_used, used
from mainstem.secrets import exists, value


def write(graph: Graph, folder: Path) -> Path | None:
    """Write the files of credentials of the run's connections into a folder; returns the AWS profile file, if any.

    Raises:
        NotReady: `SecretNotFound`, `SecretInvalid`.
    """
    connections = _with_secrets(graph)
    for connection in connections:
        if connection.kafka and connection.kafka.security:
            properties = kafka_properties(connection.kafka.security)
            text = "".join(f"{key}={_escape(property_value)}\n" for key, property_value in properties.items())
            _write_private(folder / credentials_file(connection.name), text)
    return write_profiles(connections, folder)


def _with_secrets(graph: Graph) -> list[Connection]:
    """The connections without the unused ones whose secrets are missing.

    An unused connection whose secrets exist stays: the user's code may read a bucket that no path of the document names.
    """
    names = required_connections(graph)
    return [each for each in graph.spec.connections if each.name in names or _is_complete(each)]


def check_complete(graph: Graph, query: Query) -> None:
    """Check that the secrets of a query's brokers, stores and databases exist, before any request to a server.

    Raises:
        NotReady: `SecretNotFound`, `SecretInvalid`.
    """
    names = used(graph, [query]) | stores_used(graph, query)
    for connection in (each for each in graph.spec.connections if each.name in names):
        _read(connection)
        for name, key in connection.settings.required_secrets():
            value(name, key)


def _read(connection: Connection) -> None:
    if connection.kafka and connection.kafka.security:
        kafka_properties(connection.kafka.security)
    if connection.s3:
        _profile(connection)


def _is_complete(connection: Connection) -> bool:
    """Whether the secrets of the connection can be read."""
    try:
        _read(connection)
    except NotReady as error:
        logs.get("mainstem").warning(
            "the secret of an unused connection is missing",
            connection=connection.name,
            reason=error.reason,
            error=error.message,
        )
        return False
    return True


def kafka_properties(security: KafkaSecurity) -> dict[str, str]:
    """The client properties of Kafka that contain credentials."""
    properties = {}
    if security.sasl:
        properties["sasl.jaas.config"] = _jaas(security.sasl)
    if security.tls and security.tls.secret_ref:
        name = security.tls.secret_ref.name
        properties["ssl.truststore.certificates"] = value(name, "ca.crt")
        if exists(name, "tls.crt"):
            key = value(name, "tls.key")
            if "-----BEGIN PRIVATE KEY-----" not in key:
                raise NotReady(
                    f"tls.key of the secret {name!r} is not a private key that Kafka's clients read: PKCS#8, unencrypted",
                    reason=reasons.SECRET_INVALID,
                    remedy="convert it with `openssl pkcs8 -topk8 -nocrypt -in tls.key`",
                )
            properties["ssl.keystore.certificate.chain"] = value(name, "tls.crt")
            properties["ssl.keystore.key"] = key
    return properties


def _jaas(sasl: Sasl) -> str:
    kind = "plain.Plain" if sasl.mechanism == "PLAIN" else "scram.Scram"
    name = sasl.secret_ref.name
    credentials = {
        key: value(name, key).replace("\\", "\\\\").replace('"', '\\"') for key in ("username", "password")
    }
    user = " ".join(f'{key}="{text}"' for key, text in credentials.items())
    return f"org.apache.kafka.common.security.{kind}LoginModule required {user};"


def _escape(text: str) -> str:
    """The value, escaped for java.util.Properties."""
    text = text.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
    return f"\\{text}" if text.startswith((" ", "\t")) else text


def _write_private(file: Path, text: str) -> None:
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")


def write_profiles(connections: Iterable[Connection], folder: Path) -> Path | None:
    """Write an AWS profile file with one profile for each S3 connection with a secret; returns None if there is none.

    S3A reads the file with its ProfileAWSCredentialsProvider, so no credential becomes a Spark property.
    """
    profiles = [line for connection in connections for line in _profile(connection)]
    if not profiles:
        return None
    file = folder / "s3-profiles"
    _write_private(file, "\n".join(profiles) + "\n")
    return file


def _profile(connection: Connection) -> list[str]:
    """The lines of an S3 connection in the AWS profile file; no lines without a secret."""
    if connection.s3 is None or connection.s3.secret_ref is None:
        return []
    name = connection.s3.secret_ref.name
    return [
        f"[{connection.name}]",
        f"aws_access_key_id = {value(name, 'accessKey')}",
        f"aws_secret_access_key = {value(name, 'secretKey')}",
    ]
