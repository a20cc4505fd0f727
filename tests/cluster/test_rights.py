"""The rights in use, as the API server's audit log has them, against the rights granted."""

import json
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from cluster.deployment import OPERATOR_NAMESPACE, Pipeline, Servers
from cluster.test_lives import small
from harness.cluster.base import TestCluster
from harness.cluster.layout import Layout
from mainstem_operator.manifests import rbac


pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.bare,
    pytest.mark.full(
        gate="unit/test_operator_rbac.py::test_the_operator_has_exactly_the_rights_that_it_uses"
    ),
]
Use = tuple[str, str, str]
"""(group, resource with its subresource, verb)."""


def asked(log: Path, account: str) -> list[dict[str, Any]]:
    """The requests of an account for objects, as the audit log has them."""
    written, _, _ = log.read_text().rpartition("\n")  # what follows is a line that the server has just begun
    events = [json.loads(line) for line in written.splitlines()]
    return [event for event in events if event["user"]["username"] == account and "objectRef" in event]


def use(event: dict[str, Any]) -> Use:
    reference = event["objectRef"]
    resource = reference["resource"] + (f"/{reference['subresource']}" if "subresource" in reference else "")
    return reference.get("apiGroup", ""), resource, event["verb"]


def lacked(events: list[dict[str, Any]], since: datetime) -> list[str]:
    """The server's words on what was refused since; an operator that was uninstalled before has no rights to lack."""
    return [
        event["responseStatus"].get("message", "")
        for event in events
        if event["responseStatus"]["code"] == HTTPStatus.FORBIDDEN
        and "being terminated" not in event["responseStatus"].get("message", "")
        and datetime.fromisoformat(event["requestReceivedTimestamp"]) >= since
    ]


def granted(table: Any) -> set[Use]:
    return {
        (right.group, resource, verb)
        for right in table
        for resource in right.resources
        for verb in right.verbs
    }


def test_every_used_right_is_granted_and_few_are_unused(
    cluster: TestCluster, release: None, servers: Servers
) -> None:
    since = datetime.now(UTC)
    pipeline = Pipeline(cluster, servers.namespace, "rights")
    document = small("rights", executors={"instances": 1})
    document["spec"]["driver"]["podDisruptionBudget"] = {"maxUnavailable": 1}
    pipeline.apply(document)
    pipeline.wait("Ready", 180)
    pipeline.patch(suspend=True)
    pipeline.phase("Suspended", 90)
    pipeline.delete()
    log = Layout().audit
    by_operator = asked(log, f"system:serviceaccount:{OPERATOR_NAMESPACE}:mainstem")
    by_driver = asked(log, f"system:serviceaccount:{servers.namespace}:rights-driver")
    assert lacked(by_operator + by_driver, since) == []
    operator, driver = {use(event) for event in by_operator}, {use(event) for event in by_driver}
    table = granted(rbac.IN_NAMESPACES) | granted(rbac.IN_CLUSTER)
    table |= granted(rbac.to_leases("mainstem-operator"))
    table |= granted(rbac.to_webhook_secret("webhook"))  # the release of test_webhook.py
    table |= granted(rbac.to_webhook_configuration("webhook"))
    assert operator <= table, operator - table
    own = granted(rbac.driver("rights", executors=True))
    assert driver <= own, driver - own
    assert {(group, resource) for group, resource, _ in own} == {
        (group, resource) for group, resource, _ in driver
    }
    assert {(group, resource) for group, resource, _ in operator} >= {
        ("mainstem.dev", "streamingpipelines"),
        ("mainstem.dev", "streamingpipelines/status"),
        ("", "pods"),
        ("", "configmaps"),
        ("", "secrets"),
        ("", "serviceaccounts"),
        ("rbac.authorization.k8s.io", "roles"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("policy", "poddisruptionbudgets"),
    }
    print("granted to the driver and not used here:", sorted(own - driver))
