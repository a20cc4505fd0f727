"""Throw-away certificates: one authority per control plane, gone with its folder."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


_LIFE = dt.timedelta(days=7)


class Pair(NamedTuple):
    """A certificate and its RSA private key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that writes what it issues into one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = _new_key()
        self._name = _name("mainstem-test", ())
        ca = x509.BasicConstraints(ca=True, path_length=0)
        certificate = self._sign(self._name, self._key, [(ca, True), (_usage(signs_certificates=True), True)])
        self.pair = self._write("ca", certificate, self._key)

    def issue(self, common_name: str, organizations: Sequence[str] = (), hosts: Sequence[str] = ()) -> Pair:
        """Issue a certificate for a client, and for a server at `hosts` (names and IP addresses) if there are any.

        Kubernetes reads `common_name` as the user and `organizations` as the user's groups.
        """
        key = _new_key()
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if hosts else [])]
        extensions: list[tuple[x509.ExtensionType, bool]] = [
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_usage(signs_certificates=False), True),
            (x509.ExtendedKeyUsage(purposes), False),
        ]
        if hosts:
            extensions.append((x509.SubjectAlternativeName([_host(host) for host in hosts]), False))
        certificate = self._sign(_name(common_name, organizations), key, extensions)
        return self._write(common_name.replace(":", "-"), certificate, key)

    def _sign(
        self,
        subject: x509.Name,
        key: rsa.RSAPrivateKey,
        extensions: Sequence[tuple[x509.ExtensionType, bool]],
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - dt.timedelta(hours=1)).not_valid_after(now + _LIFE)
        own, authority = x509.SubjectKeyIdentifier, x509.AuthorityKeyIdentifier
        builder = builder.add_extension(own.from_public_key(key.public_key()), critical=False)
        builder = builder.add_extension(
            authority.from_issuer_public_key(self._key.public_key()), critical=False
        )
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(self._key, hashes.SHA256())

    def _write(self, name: str, certificate: x509.Certificate, key: rsa.RSAPrivateKey) -> Pair:
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.key.touch(mode=0o600)
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return pair


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
