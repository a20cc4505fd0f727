"""The admission webhook of the real operator: the API server calls it over TLS on the loopback address."""

import json
import re
import ssl
import sys
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from apiserver.operatorbed import SPEC, Bed, Operator, Ours, until, windowed
from apiserver.webhook_objects import NAMESPACE, WebhookObjects
from chart.rendering import objects
from harness.process import free_port
from harness.sampling import only
from harness.waiting import LIMIT
from kubernetes.client import ApiException
from mainstem_operator.admission.certificates import LIFETIME, Certificates, issue, needs_renewal
from mainstem_operator.admission.webhook import server_names
from mainstem_operator.manifests.rbac import (
    IN_CLUSTER,
    IN_NAMESPACES,
    to_webhook_configuration,
    to_webhook_secret,
)


NAME = "mainstem-webhook"
HOSTS = server_names(NAMESPACE, NAME)
INVALID = SPEC | {"checkpoints": {"location": "/tmp/checkpoints"}}


class Webhook(WebhookObjects):
    """The operator's process with the webhook, and the objects that the chart creates for it."""

    def __init__(self, bed: Bed, port: int, operator: Operator, user: Path) -> None:
        super().__init__(bed, NAME)
        self.port, self.operator = port, operator
        self._user = user

    def install(self) -> None:
        [hook] = [
            each for each in objects({"webhook": {"enabled": True}}) if each["kind"].startswith("Validating")
        ]
        client = {"url": f"https://127.0.0.1:{self.port}/validate"}
        self.hooks.create_validating_webhook_configuration(
            hook | {"webhooks": [each | {"clientConfig": client} for each in hook["webhooks"]]}
        )
        self.bed.core.create_namespaced_secret(NAMESPACE, {"metadata": {"name": NAME}})

    def another(self) -> "Webhook":
        """Another operator with the same rights; it is not started yet."""
        return started(self.bed, self._user, MAINSTEM_POD_NAME="standby")

    def remove(self) -> None:
        self.hooks.delete_validating_webhook_configuration(NAME)
        self.bed.core.delete_namespaced_secret(NAME, NAMESPACE)

    def trust_nobody(self) -> None:
        """Let the API server know no authority."""
        remove = {"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}
        self.hooks.patch_validating_webhook_configuration(NAME, [remove])

    def serves(self, certificates: Certificates) -> bool:
        try:
            return ssl.get_server_certificate(("127.0.0.1", self.port)).encode() == certificates.certificate
        except OSError:
            return False

    def up(self) -> None:
        """The operator holds its Lease, and the API server reaches the webhook."""
        self.operator.up()
        until(
            lambda: (mine := self.certificates()) and self.serves(mine) and mine.authorities in self.trusted()
        )
        until(lambda: self.rejects(INVALID))

    def rejects(self, spec: dict[str, Any]) -> str:
        """The API server's message about a new pipeline; empty if it takes it. Nothing is stored."""
        at = ("mainstem.dev", "v1alpha1", NAMESPACE, "streamingpipelines")
        try:
            self.bed.objects.create_namespaced_custom_object(*at, document(spec), dry_run="All")
        except ApiException as error:
            return str(error.body)
        return ""


def document(spec: dict[str, Any]) -> dict[str, Any]:
    about = {"name": "x"}
    return {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": about,
        "spec": spec,
    }


def started(bed: Bed, user: Path, **settings: str) -> Webhook:
    """The operator with a port of its own for the webhook; it is not started yet."""
    port = free_port()
    settings |= {"MAINSTEM_WEBHOOK": f"{NAMESPACE}/{NAME}", "MAINSTEM_WEBHOOK_PORT": str(port)}
    command = (sys.executable, Path(__file__).with_name("quick_webhook.py"))
    return Webhook(bed, port, Operator(bed.plane, user, argv=command, **settings), user)


@pytest.fixture(scope="module")
def process(bed: Bed) -> Iterator[Webhook]:
    bed.operator.kill()
    rights = {"kube-system": bed.lease_rights(), NAMESPACE: to_webhook_secret(NAME)}
    user = bed.user("webhook", IN_CLUSTER + IN_NAMESPACES + to_webhook_configuration(NAME), rights)
    webhook = started(bed, user)
    with webhook.operator:
        webhook.install()
        yield webhook
        webhook.remove()


@pytest.fixture
def webhook(bed: Bed, process: Webhook) -> Webhook:
    bed.operator.kill()
    process.up()
    return process


def test_an_invalid_document_is_rejected_with_its_path_and_reason(webhook: Webhook) -> None:
    message = webhook.rejects(INVALID)
    assert "spec.checkpoints.location: /tmp/checkpoints would be lost with the pod" in message
    assert "[CheckpointNotDurable]" in message
    assert not webhook.rejects(SPEC)


def test_a_dry_run_shows_what_a_change_does_to_the_checkpoint(webhook: Webhook, bed: Bed) -> None:
    ours = Ours(bed, bed.namespace())
    ours.create(windowed("1 minute"))
    body = {"spec": windowed("5 minutes")}
    path = f"/apis/mainstem.dev/v1alpha1/namespaces/{ours.namespace}/streamingpipelines/{ours.name}"
    answer = bed.client.call_api(
        "PATCH",
        f"{bed.client.configuration.host}{path}?dryRun=All",
        {"Accept": "application/json", "Content-Type": "application/merge-patch+json"},
        body=body,
    )
    answer.read()
    assert answer.status == 200
    warnings = re.findall(r'299 - "([^"]*)"', answer.headers["Warning"])
    assert any(warning.startswith("query show: cannot continue from its checkpoint") for warning in warnings)
    ours.delete()


def test_a_certificate_near_its_end_is_renewed_without_a_restart(webhook: Webhook, bed: Bed) -> None:
    pid = webhook.operator.pid
    old = issue(HOSTS, datetime.now(UTC) - LIFETIME + timedelta(days=5))
    bed.core.patch_namespaced_secret(NAME, NAMESPACE, {"data": old.data})
    new = until(lambda: (mine := webhook.certificates()) not in (None, old) and mine)
    assert not needs_renewal(new, HOSTS, datetime.now(UTC))
    assert {new.authorities, old.authorities} <= webhook.trusted()
    until(lambda: webhook.serves(new))
    assert "CheckpointNotDurable" in webhook.rejects(INVALID)
    assert webhook.operator.pid == pid


@pytest.mark.parametrize(
    "data", only([None, {"tls.crt": "eA==", "tls.key": "eA==", "ca.crt": "eA=="}], [None])
)
def test_a_renewal_by_hand_leaves_the_authority_trusted_whose_certificate_serves(
    webhook: Webhook, bed: Bed, data: dict[str, str] | None
) -> None:
    old = webhook.certificates()
    assert old is not None
    bed.core.patch_namespaced_secret(NAME, NAMESPACE, [{"op": "replace", "path": "/data", "value": data}])
    new = until(lambda: (mine := webhook.certificates()) not in (None, old) and mine.key != b"x" and mine)
    assert {new.authorities, old.authorities} <= webhook.trusted()
    until(lambda: webhook.serves(new))
    until(lambda: "CheckpointNotDurable" in webhook.rejects(INVALID))


@pytest.mark.full(
    gate="apiserver/test_webhook_certificate.py::test_of_replicas_that_begin_at_once_all_serve_the_certificate_of_one"
)
def test_an_operator_without_the_lease_is_ready_once_it_has_issued_the_first_certificate(
    webhook: Webhook, bed: Bed
) -> None:
    """As while a release gets the webhook: the holder has none, and ends only once its successor is ready."""
    webhook.operator.kill()
    bed.core.patch_namespaced_secret(NAME, NAMESPACE, [{"op": "remove", "path": "/data"}])
    webhook.trust_nobody()
    bed.operator.up()
    standby = webhook.another()
    with standby.operator as operator:
        operator.start(operator.healthy)
        until(operator.is_ready)
        mine = webhook.certificates()
        assert mine is not None
        assert standby.serves(mine)
        assert webhook.trusted() == {mine.authorities}
        assert bed.operator.is_holder()
    bed.operator.kill()


@pytest.mark.full(
    gate="unit/test_webhook_certificates.py::test_a_certificate_that_cannot_serve_needs_renewal"
)
def test_an_operator_without_a_certificate_is_not_ready(webhook: Webhook, bed: Bed) -> None:
    webhook.operator.kill()
    before = bed.core.read_namespaced_secret(NAME, NAMESPACE)
    bed.core.delete_namespaced_secret(NAME, NAMESPACE)
    standby = webhook.another()
    with standby.operator as operator:
        try:
            operator.start(operator.is_holder)
            until(lambda: "the Secret default/mainstem-webhook does not exist" in operator.readiness()[1])
            status, text = operator.readiness()
            assert (status, text.split(":")[0]) == (503, "WebhookCertificateUnavailable")
        finally:
            bed.core.create_namespaced_secret(NAMESPACE, {"metadata": {"name": NAME}, "data": before.data})
        until(operator.is_ready)


@pytest.mark.full(
    gate="apiserver/test_webhook_certificate.py::test_of_replicas_that_begin_at_once_all_serve_the_certificate_of_one"
)
def test_a_replica_on_standby_answers_with_the_same_certificate(webhook: Webhook) -> None:
    standby = webhook.another()
    with standby.operator as operator:
        operator.start(operator.healthy)
        mine = until(webhook.certificates)
        until(lambda: standby.serves(mine))
        assert not operator.is_holder()
        request = {"uid": "u", "namespace": "a", "object": document(INVALID)}
        answer = urllib.request.urlopen(
            urllib.request.Request(
                f"https://127.0.0.1:{standby.port}/validate",
                json.dumps({"request": request}).encode(),
                method="POST",
            ),
            context=ssl.create_default_context(cadata=mine.authorities.decode()),
            timeout=LIMIT,
        )
        assert json.load(answer)["response"]["allowed"] is False


@pytest.mark.full(gate="chart/test_webhook.py::test_the_webhook_is_harmless_by_default")
def test_without_the_webhook_documents_pass(webhook: Webhook) -> None:
    webhook.operator.kill()
    assert not webhook.rejects(INVALID)
