"""The secrets of a connection's security: properties for Kafka's clients that name files and no value."""

import os
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


def test_a_key_in_another_format_is_rejected(folder: Path) -> None:
    (folder / "tls" / "tls.key").write_text("-----BEGIN RSA PRIVATE KEY-----", encoding="utf-8")
    with pytest.raises(NotReady) as raised:
        secrets.check_key("tls")
    assert raised.value.reason == "SecretInvalid"


@pytest.mark.parametrize(
    ("given", "protocol"),
    [(SASL, "SASL_PLAINTEXT"), (TLS, "SSL"), (SASL | TLS, "SASL_SSL"), ({"tls": {}}, "SSL")],
)
def test_the_protocol_follows_from_the_security_settings(given: dict[str, object], protocol: str) -> None:
    assert security(**given).protocol == protocol


def test_properties_name_the_files_and_no_value(folder: Path) -> None:
    for file in folder.rglob("*"):
        os.utime(file, ns=(1, 1))
    os.utime(folder / "tls" / "ca.crt", ns=(7, 7))
    expected = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "config.providers": "mainstem",
        "config.providers.mainstem.class": "dev.mainstem.secrets.KafkaSecrets",
        "config.providers.mainstem.param.changed": "7",
        "sasl.jaas.config": f"${{mainstem:{folder}/user:jaas.scram}}",
        "ssl.truststore.certificates": f"${{mainstem:{folder}/tls:ca.crt}}",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.certificate.chain": f"${{mainstem:{folder}/tls:tls.crt}}",
        "ssl.keystore.key": f"${{mainstem:{folder}/tls:tls.key}}",
        "ssl.keystore.type": "PEM",
    }
    assert security_properties(security(**SASL, **TLS)) == expected
    (folder / "tls" / "tls.crt").unlink()
    without = {key: value for key, value in expected.items() if not key.startswith("ssl.keystore")}
    assert security_properties(security(**SASL, **TLS)) == without


def test_a_changed_secret_changes_the_properties(folder: Path) -> None:
    """Spark keeps a producer for each set of properties: that of the old password must not serve again."""
    before = security_properties(security(**SASL))
    os.utime(folder / "user" / "password", ns=(2**61, 2**61))
    after = security_properties(security(**SASL))
    assert {key for key in after if after[key] != before[key]} == {"config.providers.mainstem.param.changed"}


def test_every_secret_of_a_connection_is_listed() -> None:
    """The operator mounts them, whatever kind of connection they are of."""
    kafka = {"bootstrapServers": "b:1", "security": SASL | TLS}
    assert Connection.model_validate({"name": "a", "kafka": kafka}).secrets == ("user", "tls")
    s3 = {"buckets": ["lake"], "secretRef": {"name": "keys"}}
    assert Connection.model_validate({"name": "b", "s3": s3}).secrets == ("keys",)
