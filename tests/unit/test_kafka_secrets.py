"""The secrets of a connection's security: a file for Kafka's clients, and properties that name no value."""

from pathlib import Path

import pytest
from mainstem.dataframes.options.kafka import security_properties
from mainstem.errors import NotReady
from mainstem.language.model.connections import Connection, KafkaSecurity
from mainstem.runtime.spark import secrets


SASL = {"sasl": {"mechanism": "SCRAM-SHA-512", "secretRef": {"name": "user"}}}
TLS = {"tls": {"secretRef": {"name": "tls"}}}
KEY = "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"

pytestmark = pytest.mark.S04


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAINSTEM_SECRETS", str(tmp_path))
    for name, values in {
        "user": {"username": "me", "password": 'a"b\\c\n'},
        "tls": {"ca.crt": "CA", "tls.crt": "CRT", "tls.key": KEY},
    }.items():
        (tmp_path / name).mkdir()
        for key, value in values.items():
            (tmp_path / name / key).write_text(value, encoding="utf-8")
    return tmp_path


def security(**given: object) -> KafkaSecurity:
    return KafkaSecurity.model_validate(given)


def test_a_password_is_quoted_for_jaas(folder: Path) -> None:
    properties = secrets.kafka_properties(security(**SASL))
    assert properties == {
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        r'username="me" password="a\"b\\c";'
    }


def test_certificates_and_a_key_become_properties(folder: Path) -> None:
    properties = secrets.kafka_properties(security(**TLS))
    assert properties == {
        "ssl.truststore.certificates": "CA",
        "ssl.keystore.certificate.chain": "CRT",
        "ssl.keystore.key": KEY,
    }
    (folder / "tls" / "tls.crt").unlink()
    assert list(secrets.kafka_properties(security(**TLS))) == ["ssl.truststore.certificates"]


def test_a_key_in_another_format_is_rejected(folder: Path) -> None:
    (folder / "tls" / "tls.key").write_text("-----BEGIN RSA PRIVATE KEY-----", encoding="utf-8")
    with pytest.raises(NotReady) as raised:
        secrets.kafka_properties(security(**TLS))
    assert raised.value.reason == "SecretInvalid"


@pytest.mark.parametrize(
    ("given", "protocol"),
    [(SASL, "SASL_PLAINTEXT"), (TLS, "SSL"), (SASL | TLS, "SASL_SSL"), ({"tls": {}}, "SSL")],
)
def test_the_protocol_follows_from_the_security_settings(given: dict[str, object], protocol: str) -> None:
    assert security(**given).protocol == protocol


def test_properties_name_the_file_and_no_value() -> None:
    keys = ["sasl.jaas.config", "ssl.truststore.certificates", "ssl.keystore.key"]
    assert security_properties(security(**SASL, **TLS), Path("/run/kafka-events.properties"), keys) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "config.providers": "mainstem",
        "config.providers.mainstem.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "sasl.jaas.config": "${mainstem:/run/kafka-events.properties:sasl.jaas.config}",
        "ssl.truststore.certificates": "${mainstem:/run/kafka-events.properties:ssl.truststore.certificates}",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.key": "${mainstem:/run/kafka-events.properties:ssl.keystore.key}",
        "ssl.keystore.type": "PEM",
    }


def test_every_secret_of_a_connection_is_listed() -> None:
    """The operator mounts them, whatever kind of connection they are of."""
    kafka = {"bootstrapServers": "b:1", "security": SASL | TLS}
    assert Connection.model_validate({"name": "a", "kafka": kafka}).secrets == ("user", "tls")
    s3 = {"buckets": ["lake"], "secretRef": {"name": "keys"}}
    assert Connection.model_validate({"name": "b", "s3": s3}).secrets == ("keys",)
