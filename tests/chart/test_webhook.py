"""The chart's objects for the admission webhook."""

from typing import Any

import pytest
from chart.rendering import HelmRefused, objects
from mainstem_operator.admission.webhook import server_names
from mainstem_operator.manifests.rbac import rules, to_webhook_configuration, to_webhook_secret


NAME = "mainstem-webhook"


def rendered(webhook: dict[str, Any], **values: Any) -> dict[str, dict[str, Any]]:
    """Kind -> the object of the webhook of this kind."""
    rendered_objects = objects({"webhook": {"enabled": True, **webhook}, **values}, "--skip-tests")
    return {each["kind"]: each for each in rendered_objects if each["metadata"]["name"] == NAME}


def test_the_default_has_no_webhook() -> None:
    assert not [each for each in objects({}) if "webhook" in each["metadata"]["name"]]


def test_the_webhook_is_harmless_by_default() -> None:
    [hook] = rendered({})["ValidatingWebhookConfiguration"]["webhooks"]
    assert hook["failurePolicy"] == "Ignore"
    assert hook["timeoutSeconds"] == 5
    assert hook["matchPolicy"] == "Equivalent"
    assert hook["sideEffects"] == "None"
    assert "namespaceSelector" not in hook
    assert "caBundle" not in hook["clientConfig"]


def test_the_service_selects_every_replica() -> None:
    rendered_objects = rendered({}, replicas=2)
    [deployment] = [each for each in objects({"webhook": {"enabled": True}}) if each["kind"] == "Deployment"]
    assert rendered_objects["Service"]["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports[rendered_objects["Service"]["spec"]["ports"][0]["targetPort"]] == 9443
    [hook] = rendered_objects["ValidatingWebhookConfiguration"]["webhooks"]
    service = hook["clientConfig"]["service"]
    assert f"{service['name']}.{service['namespace']}.svc" == server_names("mainstem", NAME)[0]


def test_the_operator_has_rights_to_two_objects() -> None:
    rendered_objects = rendered({})
    assert rendered_objects["Role"]["rules"] == rules(to_webhook_secret(NAME))
    assert rendered_objects["ClusterRole"]["rules"] == rules(to_webhook_configuration(NAME))
    assert rendered_objects["Secret"]["metadata"]["namespace"] == "mainstem"
    assert "data" not in rendered_objects["Secret"]
    assert rendered({}, rbac={"create": False}).keys().isdisjoint({"Role", "ClusterRole", "RoleBinding"})


def test_cert_manager_writes_the_certificate_and_the_authorities() -> None:
    rendered_objects = rendered({"certManager": {"enabled": True}})
    annotations = rendered_objects["ValidatingWebhookConfiguration"]["metadata"]["annotations"]
    assert annotations == {"cert-manager.io/inject-ca-from": f"mainstem/{NAME}"}
    assert rendered_objects["Certificate"]["spec"]["secretName"] == NAME
    assert rendered_objects["Certificate"]["spec"]["issuerRef"] == {"kind": "Issuer", "name": NAME}
    assert rendered_objects["Issuer"]["spec"] == {"selfSigned": {}}
    assert rendered_objects["Role"]["rules"] == rules(to_webhook_secret(NAME, certificates="cert-manager"))
    assert rendered_objects.keys().isdisjoint({"Secret", "ClusterRole"})
    other = rendered({"certManager": {"enabled": True, "issuerRef": {"kind": "ClusterIssuer", "name": "ca"}}})
    assert other["Certificate"]["spec"]["issuerRef"] == {"kind": "ClusterIssuer", "name": "ca"}
    assert "Issuer" not in other


def test_the_webhook_checks_the_namespaces_of_the_operator() -> None:
    [hook] = rendered({}, watchNamespaces=["a", "b"])["ValidatingWebhookConfiguration"]["webhooks"]
    [expression] = hook["namespaceSelector"]["matchExpressions"]
    assert expression == {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a", "b"]}
    chosen = {"matchLabels": {"team": "x"}}
    [hook] = rendered({"namespaceSelector": chosen})["ValidatingWebhookConfiguration"]["webhooks"]
    assert hook["namespaceSelector"] == chosen


@pytest.mark.parametrize(
    "webhook", [{"failurePolicy": "Retry"}, {"timeoutSeconds": 31}, {"timeoutSeconds": 0}, {"unknown": 1}]
)
def test_wrong_values_are_refused(webhook: dict[str, Any]) -> None:
    with pytest.raises(HelmRefused):
        rendered(webhook)


def test_the_network_policy_lets_the_api_server_in() -> None:
    rendered_objects = objects(
        {"webhook": {"enabled": True}, "networkPolicy": {"enabled": True}}, "--skip-tests"
    )
    [policy] = [each for each in rendered_objects if each["kind"] == "NetworkPolicy"]
    assert {"ports": [{"port": "webhook"}]} in policy["spec"]["ingress"]
