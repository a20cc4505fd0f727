"""The certificates of the webhook: a certificate for the server, and the authorities that the API server trusts; pure.

Each certificate has an authority of its own, whose key is forgotten after it has signed. So a leaked Secret has no key
that could sign other certificates.
"""

import base64
import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


LIFETIME: Final = timedelta(days=90)
"""From the issue of a certificate to its end."""
RENEW_BEFORE: Final = timedelta(days=30)
"""The leader renews a certificate that ends within this time: the cluster may be off for weeks."""
_CLOCKS_DIFFER: Final = timedelta(days=1)
"""A new certificate is valid for servers whose clocks are this much late."""
OVERLAP: Final = timedelta(hours=1)
"""After the issue of a certificate: API servers trust earlier authorities for so long, because a replica may not have read it."""
_MOST: Final = 8
"""Authorities that API servers trust at a time."""


@dataclass(frozen=True)
class Certificates:
    """The content of the webhook's Secret, in PEM.

    Attributes:
        certificate: the server's certificate, with its chain if it has one.
        key: the private key of the certificate.
        authorities: the authority of the certificate; empty if something else publishes it.
    """

    certificate: bytes
    key: bytes
    authorities: bytes

    @classmethod
    def of_secret(cls, secret: Mapping[str, Any]) -> "Certificates | None":
        """The certificates in a Secret; None if it has none, or what it has is not base64."""
        data = secret.get("data") or {}
        try:
            parts = [base64.b64decode(data.get(name) or "") for name in ("tls.crt", "tls.key", "ca.crt")]
        except ValueError:
            return None
        return cls(*parts) if parts[0] and parts[1] else None

    @property
    def data(self) -> dict[str, str]:
        """The `data` of the Secret."""
        return {
            "tls.crt": encoded(self.certificate),
            "tls.key": encoded(self.key),
            "ca.crt": encoded(self.authorities),
        }


def encoded(text: bytes) -> str:
    """Bytes as Kubernetes writes them in JSON."""
    return base64.b64encode(text).decode("ascii")


def ends_at(certificates: Certificates) -> datetime:
    """When the server's certificate ends.

    Raises:
        ValueError: it is not a certificate.
    """
    return x509.load_pem_x509_certificate(certificates.certificate).not_valid_after_utc


def is_usable(certificates: Certificates | None, now: datetime) -> bool:
    """Whether a client that trusts the authority accepts the certificate now."""
    if certificates is None:
        return False
    try:
        server = x509.load_pem_x509_certificate(certificates.certificate)
        key = serialization.load_pem_private_key(certificates.key, None)
        server.verify_directly_issued_by(x509.load_pem_x509_certificates(certificates.authorities)[0])
    except Exception:  # noqa: BLE001 - whatever is wrong with it, another one is needed
        return False
    is_valid = server.not_valid_before_utc <= now < server.not_valid_after_utc
    return is_valid and key.public_key() == server.public_key()


def needs_renewal(certificates: Certificates | None, hosts: Sequence[str], now: datetime) -> bool:
    """True if there is no usable certificate, it ends soon, or it is for other hosts."""
    if certificates is None or not is_usable(certificates, now):
        return True
    server = x509.load_pem_x509_certificate(certificates.certificate)
    try:
        names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return True
    return set(names) != set(map(_host, hosts)) or now >= server.not_valid_after_utc - RENEW_BEFORE


def issue(hosts: Sequence[str], now: datetime) -> Certificates:
    """A new certificate for these hosts, and its authority."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    # Two authorities with one name would be taken for each other.
    issuer = _name(f"mainstem-webhook-ca-{x509.random_serial_number():x}"[:40])
    authority = _signed(issuer, issuer, authority_key, authority_key, now, _authority_extensions())
    server = _signed(_name("mainstem-webhook"), issuer, key, authority_key, now, _server_extensions(hosts))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificates(_pem(server), private, _pem(authority))


def trusted(serving: Sequence[Certificates], known: bytes, now: datetime) -> bytes:
    """The authorities that API servers should trust, the newest first, in PEM.

    Args:
        serving: certificates with which replicas serve now, or will.
        known: the authorities that API servers trust so far. A replica may serve with a certificate of each of these. It stays for an
            hour after it, or the newest certificate, was issued, and not longer: that may be renewed because a key has leaked.
        now: the clock.
    """
    own = [authority for each in serving for authority in _authorities(each.authorities)[:1]]
    begin = max((each.not_valid_before_utc for each in own), default=now)
    others = [
        each
        for each in _authorities(known)
        if now < each.not_valid_after_utc
        and now < max(begin, each.not_valid_before_utc) + _CLOCKS_DIFFER + OVERLAP
    ]
    kept = [*dict.fromkeys([*own, *_newest_first(others)])]
    return b"".join(map(_pem, _newest_first(kept[:_MOST])))


def _newest_first(authorities: Iterable[x509.Certificate]) -> list[x509.Certificate]:
    return sorted(authorities, key=lambda each: (each.not_valid_before_utc, _pem(each)), reverse=True)


def _authorities(bundle: bytes) -> list[x509.Certificate]:
    """The certificates of a bundle; none if it cannot be read."""
    try:
        return x509.load_pem_x509_certificates(bundle)
    except ValueError:
        return []


def _signed(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    authority: ec.EllipticCurvePrivateKey,
    now: datetime,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    now = now.astimezone(UTC)
    builder = x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - _CLOCKS_DIFFER).not_valid_after(now + LIFETIME)
    for extension, is_critical in extensions:
        builder = builder.add_extension(extension, critical=is_critical)
    names = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    builder = builder.add_extension(names, critical=False).add_extension(signer, critical=False)
    return builder.sign(authority, hashes.SHA256())


def _authority_extensions() -> list[tuple[x509.ExtensionType, bool]]:
    return [(x509.BasicConstraints(ca=True, path_length=0), True), (_usage(signs=True), True)]


def _server_extensions(hosts: Sequence[str]) -> list[tuple[x509.ExtensionType, bool]]:
    return [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(signs=False), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (x509.SubjectAlternativeName([_host(host) for host in hosts]), False),
    ]


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        key_encipherment=False,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
