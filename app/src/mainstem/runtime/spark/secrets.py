"""Checks the secrets of a query's connections before any client reads them."""

from mainstem import reasons
from mainstem.errors import NotReady
from mainstem.language.analysis.graph import Graph
from mainstem.language.model.queries import Query
from mainstem.language.requirements import stores_used, used
from mainstem.secrets import exists, value


def check_complete(graph: Graph, query: Query) -> None:
    """Check that the secrets of a query's brokers, stores and databases exist, before any request to a server.

    Raises:
        NotReady: `SecretNotFound`, `SecretInvalid`.
    """
    names = used(graph, [query]) | stores_used(graph, query)
    for connection in (each for each in graph.spec.connections if each.name in names):
        security = connection.kafka.security if connection.kafka else None
        if security and security.tls and security.tls.secret_ref:
            check_key(security.tls.secret_ref.name)
        for name, key in connection.settings.required_secrets():
            value(name, key)


def check_key(secret: str) -> None:
    """Check the private key of a client, if the secret has a certificate.

    Raises:
        NotReady: `SecretNotFound`, `SecretInvalid`.
    """
    if exists(secret, "tls.crt") and "-----BEGIN PRIVATE KEY-----" not in value(secret, "tls.key"):
        raise NotReady(
            f"tls.key of the secret {secret!r} is not a private key that Kafka's clients read: PKCS#8, unencrypted",
            reason=reasons.SECRET_INVALID,
            remedy="convert it with `openssl pkcs8 -topk8 -nocrypt -in tls.key`",
        )
