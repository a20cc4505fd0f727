"""The certificates of the admission webhook: when they are renewed, and that clients trust old and new ones meanwhile."""

import socket
import ssl
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from mainstem_operator.admission.certificates import (
    LIFETIME,
    RENEW_BEFORE,
    Certificates,
    ends_at,
    issue,
    needs_renewal,
)
from mainstem_operator.admission.server import ServerTls


HOSTS = ("w.mainstem.svc", "127.0.0.1")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_new_certificate_needs_no_renewal_until_its_last_month() -> None:
    new = issue(HOSTS, NOW)
    assert ends_at(new) == NOW + LIFETIME
    due = NOW + LIFETIME - RENEW_BEFORE
    assert not needs_renewal(new, HOSTS, NOW)
    assert not needs_renewal(new, HOSTS, due - timedelta(seconds=1))
    assert needs_renewal(new, HOSTS, due)


def test_a_certificate_that_cannot_serve_needs_renewal() -> None:
    new, other = issue(HOSTS, NOW), issue(HOSTS, NOW)
    assert needs_renewal(None, HOSTS, NOW)
    assert needs_renewal(new, ("other.svc",), NOW)
    assert needs_renewal(replace(new, certificate=b"x"), HOSTS, NOW)
    assert needs_renewal(replace(new, key=other.key), HOSTS, NOW)
    assert needs_renewal(replace(new, authorities=other.authorities), HOSTS, NOW)
    assert needs_renewal(replace(new, authorities=b""), HOSTS, NOW)
    assert needs_renewal(new, HOSTS, NOW - timedelta(days=2))


def test_the_bundle_holds_the_authority_before_until_it_ends() -> None:
    first = issue(HOSTS, NOW)
    second = issue(HOSTS, NOW + timedelta(days=60), first)
    third = issue(HOSTS, NOW + timedelta(days=120), second)
    late = issue(HOSTS, NOW + timedelta(days=400), third)
    counts = [each.authorities.count(b"BEGIN CERTIFICATE") for each in (first, second, third, late)]
    assert counts == [1, 2, 2, 1]
    assert first.authorities in second.authorities
    assert first.authorities not in third.authorities


def test_the_secret_keeps_the_certificates() -> None:
    new = issue(HOSTS, NOW)
    assert Certificates.of_secret({"data": new.data}) == new
    assert Certificates.of_secret({}) is None
    assert Certificates.of_secret({"data": None}) is None
    assert Certificates.of_secret({"data": {"tls.crt": "%", "tls.key": "a"}}) is None


def test_a_broken_certificate_is_replaced() -> None:
    broken = Certificates(b"x", b"y", b"z")
    assert not needs_renewal(issue(HOSTS, NOW, broken), HOSTS, NOW)


def test_the_server_takes_a_new_certificate_without_a_restart() -> None:
    now = datetime.now(UTC)
    first = issue(HOSTS, now)
    second = issue(HOSTS, now, first)
    tls = ServerTls()
    assert not tls.is_loaded
    tls.load(first)
    with socket.create_server(("127.0.0.1", 0)) as server:
        served = [handshake(server, tls, trust) for trust in (first, second)]
        tls.load(second)
        served.append(handshake(server, tls, second))
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(server, tls, first)
        with pytest.raises(OSError, match=r"."):
            tls.load(replace(first, key=second.key))
        served.append(handshake(server, tls, second))
    assert served == [first.certificate, first.certificate, second.certificate, second.certificate]


def handshake(server: socket.socket, tls: ServerTls, trust: Certificates) -> bytes:
    """The certificate with which the server answers a client that trusts these authorities."""

    def serve() -> None:
        connection, _ = server.accept()
        try:
            tls.context.wrap_socket(connection, server_side=True).close()
        except OSError:  # the client has rejected the certificate
            connection.close()

    answering = threading.Thread(target=serve)
    answering.start()
    client = ssl.create_default_context(cadata=trust.authorities.decode())
    try:
        with (
            socket.create_connection(server.getsockname(), timeout=10) as plain,
            client.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True) or b"").encode()
    finally:
        answering.join()
