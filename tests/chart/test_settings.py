"""The operator's environment: the operator reads what the chart sets."""

import pytest
from chart.rendering import objects
from mainstem.reasons import Exit
from mainstem_operator.settings import SettingInvalid, Settings


POD = "the-pod"
"""What Kubernetes puts in for the pod's name, which no value sets."""
NEEDED = {"MAINSTEM_DRIVER_IMAGE": "app:1"}


def environment(values: dict) -> dict[str, str]:
    [deployment] = [manifest for manifest in objects(values) if manifest["kind"] == "Deployment"]
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable.get("value", POD) for variable in container["env"]}


def test_only_the_image_is_needed() -> None:
    assert Settings.from_environment(NEEDED) == Settings(driver_image="app:1")


def test_the_defaults_of_the_chart_are_those_of_the_operator() -> None:
    variables = environment({})
    assert Settings.from_environment(variables) == Settings(
        driver_image="localhost/mainstem-app:0.1.0", pod_name=POD, release="mainstem/mainstem"
    )
    # The operator reads the cluster's uid at its start.
    names = Settings.model_fields.keys() - {"cluster_uid"}
    assert variables.keys() == {f"MAINSTEM_{name.upper()}" for name in names}


def test_every_value_reaches_the_operator() -> None:
    values = {
        "driver": {
            "image": {
                "repository": "r.example:5000/app",
                "digest": "sha256:" + "a" * 64,
                "pullPolicy": "Always",
            },
            "imagePullSecrets": [{"name": "one"}, {"name": "two.example"}],
        },
        "watchNamespaces": ["a", "b"],
        "ports": {"health": 8081, "metrics": 9091, "webhook": 9444},
        "webhook": {"enabled": True, "certManager": {"enabled": True}},
        "logging": {"format": "console", "level": "debug"},
        "resyncSeconds": 60,
        "lease": {"namespace": "leases"},
    }
    assert Settings.from_environment(environment(values)) == Settings(
        driver_image="r.example:5000/app@sha256:" + "a" * 64,
        image_pull_policy="Always",
        image_pull_secrets=("one", "two.example"),
        namespaces=("a", "b"),
        health_port=8081,
        metrics_port=9091,
        log_format="console",
        log_level="debug",
        resync_seconds=60,
        lease_namespace="leases",
        pod_name=POD,
        release="mainstem/mainstem",
        webhook="mainstem/mainstem-webhook",
        webhook_port=9444,
        webhook_certificates="cert-manager",
    )


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("DRIVER_IMAGE", "", "is not set"),
        ("DRIVER_IMAGE", " ", "is not set; set it to the name of an image"),
        ("DRIVER_IMAGE", "a b", "is 'a b'; set it to the name of an image, without spaces"),
        ("IMAGE_PULL_POLICY", "always", "is 'always'; set it to one of Always, IfNotPresent, Never"),
        ("IMAGE_PULL_SECRETS", "a,B", "contains 'B'; set it to names of Secrets"),
        ("NAMESPACES", "a.b", "contains 'a.b'; set it to names of namespaces"),
        ("NAMESPACES", "a,b c", "contains 'b c'"),
        ("LEASE_NAMESPACE", "a,b", "is 'a,b'; set it to the name of one namespace"),
        ("LEASE_NAMESPACE", "A", "is 'A'"),
        (
            "HEALTH_PORT",
            "tcp://10.0.0.1:80",
            "is 'tcp://10.0.0.1:80'; set it to a whole number from 1 to 65535",
        ),
        ("HEALTH_PORT", "0", "is '0'; set it to a whole number"),
        (
            "HEALTH_PORT",
            "9090",
            "MAINSTEM_METRICS_PORT is '9090'; set it to a whole number from 1 to 65535, other than MAINSTEM_HEALTH_PORT",
        ),
        ("METRICS_PORT", "65536", "is '65536'; set it to a whole number"),
        ("METRICS_PORT", "٣", "is '٣'; set it to a whole number"),
        ("WEBHOOK", "mainstem", "is 'mainstem'; set it to `namespace/name` of a Service"),
        ("WEBHOOK_CERTIFICATES", "me", "set it to one of operator, cert-manager"),
        ("LOG_FORMAT", "xml", "set it to one of json, console"),
        ("LOG_LEVEL", "INFO", "set it to one of debug, info, warning, error"),
        ("RESYNC_SECONDS", "-1", "is '-1'; set it to a whole number from 1 to 86400"),
        ("RESYNC_SECONDS", "1.5", "set it to a whole number"),
        ("RESYNC_SECONDS", "1_0", "set it to a whole number"),
        ("IMAGE_PULL_SECRETS", f"a,{'b' * 254}", "contains 'bbb"),
    ],
)
def test_invalid_settings_are_rejected(name: str, value: str, why: str) -> None:
    with pytest.raises(SettingInvalid) as refused:
        Settings.from_environment(NEEDED | {f"MAINSTEM_{name}": value})
    assert refused.value.reason == "SettingInvalid"
    assert refused.value.exit_code is Exit.USAGE
    assert why in str(refused.value)
    assert "MAINSTEM_" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_names_may_be_repeated_and_separated_by_spaces() -> None:
    assert Settings.from_environment(NEEDED | {"MAINSTEM_NAMESPACES": " a, b ,,a"}).namespaces == ("a", "b")
