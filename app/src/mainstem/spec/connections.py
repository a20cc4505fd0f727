"""Where Kafka and S3 are, and which secret opens them. No credential ever stands in a document."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from mainstem.spec.base import LIST_SET, MAX_ITEMS, UNIQUE, Identifier, Label, Model, Options, Text


class SecretRef(Model):
    """A secret by name: a Kubernetes Secret on a cluster, a folder of files on a laptop."""

    name: Label
    """Name of the Secret; on a laptop, of the folder below `$MAINSTEM_SECRETS` that holds one file per key."""


class KafkaConnection(Model):
    """A Kafka cluster."""

    bootstrap_servers: Text
    """Comma-separated `host:port`, as Kafka's clients take them."""
    properties: Options = Field(default_factory=dict)
    """Client properties for every consumer, producer and admin client, without the prefix `kafka.`."""


Bucket = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", max_length=63)]


class S3Connection(Model):
    """An S3-compatible store, for `s3a://` paths in the buckets it names."""

    buckets: Annotated[
        tuple[Bucket, ...], Field(min_length=1, max_length=MAX_ITEMS, json_schema_extra=LIST_SET), UNIQUE
    ]
    """The buckets that are reached through this connection."""
    endpoint: Text | None = None
    """URL of the store; without it AWS's own, by region."""
    region: Text = "us-east-1"
    """Region that requests are signed for."""
    path_style: bool = False
    """True for stores that have no host name per bucket."""
    secret_ref: SecretRef | None = None
    """Secret with the keys `accessKey` and `secretKey`; without it AWS's own chain: environment, profile, pod identity."""


class Connection(Model):
    """A named connection: one of `kafka`, `s3`."""

    one_of: ClassVar = ("kafka", "s3")

    name: Identifier
    """Name by which sources and sinks refer to it."""
    kafka: KafkaConnection | None = None
    """A Kafka cluster."""
    s3: S3Connection | None = None
    """An S3-compatible store."""
