"""The certificates of the admission webhook: when they are renewed, and that clients trust old and new ones meanwhile."""

import socket
import ssl
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from mainstem_operator.admission.certificates import (
    LIFETIME,
    OVERLAP,
    RENEW_BEFORE,
    Certificates,
    ends_at,
    issue,
    needs_renewal,
    trusted,
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


def test_earlier_authorities_are_trusted_for_an_hour_after_the_newest_certificate_was_issued() -> None:
    first, second = issue(HOSTS, NOW), issue(HOSTS, NOW + timedelta(days=60))
    both = second.authorities + first.authorities
    issued = NOW + timedelta(days=60)
    assert trusted([first], b"", NOW) == first.authorities
    assert trusted([second, first], first.authorities, issued) == both
    assert trusted([second], first.authorities, issued) == both
    assert trusted([second], both, issued + OVERLAP - timedelta(seconds=1)) == both
    assert trusted([second], both, issued + OVERLAP) == second.authorities


def test_an_authority_whose_certificate_the_secret_does_not_have_yet_stays_trusted() -> None:
    """Else a replica that has read the Secret earlier would withdraw what the holder of the Lease has just published."""
    first, second = issue(HOSTS, NOW), issue(HOSTS, NOW + timedelta(days=60))
    both = second.authorities + first.authorities
    assert trusted([first], both, NOW + timedelta(days=60)) == both


def test_an_authority_that_has_ended_is_trusted_only_while_its_certificate_serves() -> None:
    first, late = issue(HOSTS, NOW), issue(HOSTS, NOW + timedelta(days=400))
    now = NOW + timedelta(days=400)
    assert trusted([late], first.authorities, now) == late.authorities
    assert trusted([late, first], first.authorities, now) == late.authorities + first.authorities


def test_renewals_without_end_leave_no_bundle_without_end() -> None:
    served = issue(HOSTS, NOW)
    known = served.authorities
    for second in range(1, 30):
        new = issue(HOSTS, NOW + timedelta(seconds=second))
        known = trusted([new, served], known, NOW + timedelta(seconds=second))
        assert new.authorities in known
        assert served.authorities in known
    assert known.count(b"BEGIN CERTIFICATE") == 8


@pytest.mark.parametrize("known", [b"", b"x", b"-----BEGIN CERTIFICATE-----"])
def test_a_bundle_that_cannot_be_read_is_replaced(known: bytes) -> None:
    new = issue(HOSTS, NOW)
    assert trusted([new], known, NOW) == new.authorities


def test_the_secret_keeps_the_certificates() -> None:
    new = issue(HOSTS, NOW)
    assert Certificates.of_secret({"data": new.data}) == new
    assert Certificates.of_secret({}) is None
    assert Certificates.of_secret({"data": None}) is None
    assert Certificates.of_secret({"data": {"tls.crt": "%", "tls.key": "a"}}) is None


def test_the_server_takes_a_new_certificate_without_a_restart() -> None:
    now = datetime.now(UTC)
    first = issue(HOSTS, now)
    second = issue(HOSTS, now)
    both = trusted([second, first], b"", now)
    tls = ServerTls()
    assert tls.serving is None
    tls.load(first)
    with socket.create_server(("127.0.0.1", 0)) as server:
        served = [handshake(server, tls, trust) for trust in (first.authorities, both)]
        tls.load(second)
        served.append(handshake(server, tls, both))
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(server, tls, first.authorities)
        with pytest.raises(OSError, match=r"."):
            tls.load(replace(first, key=second.key))
        assert tls.serving == second
        served.append(handshake(server, tls, second.authorities))
    assert served == [first.certificate, first.certificate, second.certificate, second.certificate]


def handshake(server: socket.socket, tls: ServerTls, trust: bytes) -> bytes:
    """The certificate with which the server answers a client that trusts these authorities."""

    def serve() -> None:
        connection, _ = server.accept()
        try:
            tls.context.wrap_socket(connection, server_side=True).close()
        except OSError:  # the client has rejected the certificate
            connection.close()

    answering = threading.Thread(target=serve)
    answering.start()
    client = ssl.create_default_context(cadata=trust.decode())
    try:
        with (
            socket.create_connection(server.getsockname(), timeout=10) as plain,
            client.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
        ):
            return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True) or b"").encode()
    finally:
        answering.join()
