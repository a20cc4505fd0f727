"""The rights of the operator are those that its calls need, and those that it only holds to grant them."""

import re
from pathlib import Path

import mainstem_operator
from mainstem.names import PLURAL
from mainstem_operator.manifests.rbac import (
    IN_CLUSTER,
    IN_NAMESPACES,
    Permission,
    driver,
    to_leases,
    to_webhook_configuration,
    to_webhook_secret,
)


SOURCES = "".join(
    path.read_text(encoding="utf-8") for path in Path(mainstem_operator.__file__).parent.rglob("*.py")
)
RBAC = "rbac.authorization.k8s.io"
# What exists is changed only after a look at its owner.
APPLIED = {"create", "get", "patch"}
USED: dict[tuple[str, str], set[str]] = {
    ("mainstem.dev", "streamingpipelines"): {
        "get",  # before a driver is stopped
        *("list", "watch", "patch"),  # Kopf's watch and finalizer
    },
    ("mainstem.dev", "streamingpipelines/status"): {"patch"},
    ("", "pods"): APPLIED | {"list", "watch", "delete"},
    ("", "configmaps"): APPLIED | {"list", "delete"},
    ("", "serviceaccounts"): APPLIED,
    ("", "secrets"): {"create", "get", "update"},  # the last two for the certificate of the webhook
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): {"get", "patch"},
    ("", "events"): {"create", "list"},
    (RBAC, "roles"): APPLIED,
    (RBAC, "rolebindings"): APPLIED,
    ("policy", "poddisruptionbudgets"): APPLIED | {"delete"},
    ("coordination.k8s.io", "leases"): {"list", "create", "update"},
    ("apiextensions.k8s.io", "customresourcedefinitions"): {"get"},
    ("", "namespaces"): {"get"},
}
HELD_FOR_OTHERS: dict[tuple[str, str], set[str]] = {
    ("mainstem.dev", "streamingpipelines/finalizers"): {
        "update"
    },  # admission asks, where owners block deletion
    ("", "pods"): {"deletecollection"},  # only to grant it to drivers with executors
}


def table(rights: tuple[Permission, ...]) -> dict[tuple[str, str], set[str]]:
    verbs_of: dict[tuple[str, str], set[str]] = {}
    for right in rights:
        for resource in right.resources:
            verbs_of.setdefault((right.group, resource), set()).update(right.verbs)
    return verbs_of


def test_the_operator_has_exactly_the_rights_that_it_uses() -> None:
    wanted = {key: set(verbs) for key, verbs in USED.items()}
    for key, verbs in HELD_FOR_OTHERS.items():
        wanted.setdefault(key, set()).update(verbs)
    webhook = to_webhook_secret("w") + to_webhook_configuration("w")
    assert table(IN_CLUSTER + IN_NAMESPACES + to_leases("mainstem-operator") + webhook) == wanted


def test_the_operator_updates_only_its_own_lease() -> None:
    rights = to_leases("mainstem-operator")
    assert [right.names for right in rights if "update" in right.verbs] == [("mainstem-operator",)]
    assert {verb for right in rights if not right.names for verb in right.verbs} == {"create", "list"}


def test_the_webhook_needs_one_secret_and_one_configuration() -> None:
    assert {right.names for right in to_webhook_secret("w") + to_webhook_configuration("w")} == {("w",)}
    assert table(to_webhook_secret("w", certificates="cert-manager")) == {("", "secrets"): {"get"}}


def test_the_operator_reads_one_namespace_for_the_identity_of_the_cluster() -> None:
    assert [right.names for right in IN_CLUSTER if "namespaces" in right.resources] == [("kube-system",)]


def test_rights_that_are_held_for_granting_are_granted() -> None:
    given = table(driver("p", executors=True))
    assert HELD_FOR_OTHERS["", "pods"] <= given["", "pods"]


def test_the_kinds_that_the_operator_calls_are_in_the_table() -> None:
    """The paths of `cluster.py`, so that a new kind cannot come without a right."""
    [plurals] = re.findall(r"_PLURALS: Final = \{(.*?)\}", SOURCES, re.DOTALL)
    called = set(re.findall(r': "([a-z]+)"', plurals))
    assert called | {"events", PLURAL} == {resource.split("/")[0] for _, resource in USED}


def test_a_driver_without_executors_may_only_write_its_own_status() -> None:
    assert table(driver("p", executors=False)) == {("mainstem.dev", "streamingpipelines/status"): {"patch"}}
    assert [right.names for right in driver("p", executors=False)] == [("p",)]
