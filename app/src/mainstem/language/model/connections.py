"""Connections to Kafka, stores, databases and catalogs. They refer to secrets; a document never contains a credential."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, Field, StringConstraints

from mainstem.language.base import (
    LIST_SET,
    MAX_ITEMS,
    UNIQUE,
    Identifier,
    JavaClass,
    Label,
    Model,
    Options,
    Text,
)
from mainstem.language.model.connectors.kafka_client import OWNED_CLIENT
from mainstem.language.model.connectors.kinds import ConnectionKind, kinds


SecretKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=253)]


class SecretRef(Model):
    """A secret by name: a Kubernetes Secret on a cluster, a folder of files on a laptop."""

    name: Label
    """Name of the Secret. On a laptop, name of the folder in `$MAINSTEM_SECRETS` that has one file for each key."""


class SecretKeyRef(SecretRef):
    """One value of a secret."""

    key: SecretKey
    """Key of the Secret. On a laptop, name of the file."""


class Sasl(Model):
    """Authentication of the client by user name and password."""

    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    """SASL mechanism of the brokers."""
    secret_ref: SecretRef
    """Secret with the keys `username` and `password`."""


class Tls(Model):
    """Encryption and trusted authorities; with a client certificate, also the authentication of the client."""

    secret_ref: SecretRef | None = None
    """Secret with the trusted authorities in `ca.crt`. For a client certificate it also has `tls.crt` and `tls.key`
    (PKCS#8). All are PEM. Without a Secret, clients trust the authorities of Java."""


class KafkaSecurity(Model):
    """Authentication and encryption of clients. `sasl` without `tls` encrypts nothing."""

    sasl: Sasl | None = None
    """User name and password."""
    tls: Tls | None = None
    """Encryption."""

    @property
    def protocol(self) -> str:
        """Kafka's `security.protocol`."""
        return (
            f"SASL_{'SSL' if self.tls else 'PLAINTEXT'}" if self.sasl else "SSL" if self.tls else "PLAINTEXT"
        )


class KafkaConnection(ConnectionKind):
    """A Kafka cluster."""

    title: ClassVar = "Kafka"
    options_field: ClassVar = "properties"
    owned_options: ClassVar = OWNED_CLIENT

    bootstrap_servers: Text
    """Comma-separated list of `host:port`, as in Kafka's `bootstrap.servers`."""
    security: KafkaSecurity | None = None
    """SASL and TLS, with references to Secrets. Without it only `properties` can set them."""
    properties: Options = Field(default_factory=dict)
    """Client properties for every consumer, producer and admin client, without the prefix `kafka.`."""

    @property
    def servers(self) -> set[str]:
        """The servers, each as `host:port`."""
        return {server.strip() for server in self.bootstrap_servers.split(",")}

    def required_secrets(self) -> Iterator[tuple[str, str]]:
        """User name and password, and the trusted authorities."""
        if self.security and self.security.sasl:
            yield from ((self.security.sasl.secret_ref.name, key) for key in ("username", "password"))
        if self.security and self.security.tls and self.security.tls.secret_ref:
            yield self.security.tls.secret_ref.name, "ca.crt"


SecretOptions = Annotated[dict[Text, SecretKeyRef], Field(max_length=MAX_ITEMS)]
Bucket = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", max_length=63)]


class S3Connection(ConnectionKind):
    """An S3-compatible store, for `s3a://` paths in its `buckets`."""

    title: ClassVar = "S3"
    options_field: ClassVar = ""
    owned_options: ClassVar = {}

    buckets: Annotated[
        tuple[Bucket, ...], Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra=LIST_SET), UNIQUE
    ]
    """The buckets that the pipeline reaches through this connection."""
    endpoint: Text | None = None
    """URL of the store; by default the URL of AWS for the region."""
    region: Text = "us-east-1"
    """Region in the signature of requests."""
    path_style: bool = False
    """True for stores without a host name for each bucket."""
    secret_ref: SecretRef | None = None
    """Secret with the keys `accessKey` and `secretKey`; by default AWS's own chain: environment, profile, pod
    identity."""

    def required_secrets(self) -> Iterator[tuple[str, str]]:
        """Access key and secret key."""
        if self.secret_ref:
            yield from ((self.secret_ref.name, key) for key in ("accessKey", "secretKey"))


class JdbcConnection(ConnectionKind):
    """A database by JDBC. Mainstem includes PostgreSQL's driver; `packages` adds drivers of other databases."""

    title: ClassVar = "JDBC"
    options_field: ClassVar = "properties"
    owned_options: ClassVar = {"url": "url", "dbtable": "", "query": "", "user": "secretRef"}

    url: Text
    """URL of the database, without credentials: `jdbc:postgresql://shop:5432/orders`."""
    secret_ref: SecretRef | None = None
    """Secret with the keys `username` and `password`."""
    properties: Options = Field(default_factory=dict)
    """Properties of the JDBC driver, such as `sslmode`. For PostgreSQL, `socketTimeout` is 600 s by default."""

    def required_secrets(self) -> Iterator[tuple[str, str]]:
        """User name and password."""
        if self.secret_ref:
            yield from ((self.secret_ref.name, key) for key in ("username", "password"))


class ConnectorOptions(ConnectionKind):
    """Options from the document, and options from secrets."""

    options_field: ClassVar = "options"
    owned_options: ClassVar = {}

    options: Options = Field(default_factory=dict)
    """Options by name."""
    secret_options: SecretOptions = Field(default_factory=dict)
    """Options with values from Secrets: option -> name of the Secret, and its key."""


class SparkConnection(ConnectorOptions):
    """Options for every source and sink `spark` that names this connection."""

    title: ClassVar = "Spark"


class CatalogConnection(ConnectorOptions):
    """A Spark catalog with the connection's name. In `static.table` and in SQL its tables are
    `connection.schema.table`.
    """

    title: ClassVar = "catalog"

    class_: Annotated[JavaClass, Field(alias="class")]
    """Class of the catalog, such as `org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog`."""


class Connection(Model):
    """A named connection: one of `kafka`, `s3`, `jdbc`, `spark`, `catalog`."""

    one_of: ClassVar = ("kafka", "s3", "jdbc", "spark", "catalog")

    name: Identifier
    """Name by which sources and sinks refer to it."""
    kafka: KafkaConnection | None = None
    """A Kafka cluster."""
    s3: S3Connection | None = None
    """An S3-compatible store."""
    jdbc: JdbcConnection | None = None
    """A database."""
    spark: SparkConnection | None = None
    """The options of custom connectors."""
    catalog: CatalogConnection | None = None
    """A catalog of tables."""

    @property
    def settings(self) -> ConnectionKind:
        """The settings of the connection's kind."""
        settings: ConnectionKind = self.member(self.choice())
        return settings

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the Secrets that the connection refers to, at any depth, each once."""
        return tuple(dict.fromkeys(ref.name for ref in _references(self)))


CONNECTIONS: Final[dict[str, type[ConnectionKind]]] = kinds(Connection)
"""Key of a connection -> its kind."""


def _references(model: BaseModel) -> Iterator[SecretRef]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, SecretRef):
            yield value
        elif isinstance(value, BaseModel):
            yield from _references(value)
        elif isinstance(value, dict):
            yield from (item for item in value.values() if isinstance(item, SecretRef))
