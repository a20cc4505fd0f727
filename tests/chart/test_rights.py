"""The table of rights: chart and drivers get exactly these rights."""

import pytest
from chart.rendering import ROOT, objects
from mainstem_operator.leadership.lease import lease_name
from mainstem_operator.manifests.rbac import (
    IN_CLUSTER,
    IN_NAMESPACES,
    Permission,
    driver,
    files,
    rules,
    to_leases,
)


def kinds(values: dict, *wanted: str) -> list[dict]:
    manifest = [manifest for manifest in objects(values, "--skip-tests") if manifest["kind"] in wanted]
    others = ("-view", "-edit", "-lease")
    return [role for role in manifest if not role["metadata"]["name"].endswith(others)]


def test_the_lists_of_the_chart_are_those_of_the_table() -> None:
    stale = [name for name, text in files().items() if (ROOT / name).read_text(encoding="utf-8") != text]
    assert not stale, f"{', '.join(stale)}: differs from the table; run make generate"


def test_all_namespaces_need_one_cluster_role() -> None:
    [role] = kinds({}, "ClusterRole", "Role")
    assert role["rules"] == rules(IN_CLUSTER + IN_NAMESPACES)
    [binding] = kinds({}, "ClusterRoleBinding", "RoleBinding")
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": role["kind"],
        "name": role["metadata"]["name"],
    }
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "mainstem", "namespace": "mainstem"}]


def test_each_of_some_namespaces_has_a_role() -> None:
    values = {"watchNamespaces": ["a", "b"]}
    [everywhere] = kinds(values, "ClusterRole")
    assert everywhere["rules"] == rules(IN_CLUSTER)
    roles = kinds(values, "Role")
    assert {role["metadata"]["namespace"]: role["rules"] for role in roles} == dict.fromkeys(
        "ab", rules(IN_NAMESPACES)
    )
    bindings = kinds(values, "RoleBinding")
    assert [binding["metadata"]["namespace"] for binding in bindings] == ["a", "b"]
    for binding in bindings:
        assert binding["roleRef"]["kind"] == "Role"
        assert binding["roleRef"]["name"] == roles[0]["metadata"]["name"]
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": "mainstem", "namespace": "mainstem"}
        ]


@pytest.mark.parametrize(
    ("namespaces", "where"), [([], "kube-system"), (["a"], "kube-system"), (["b", "a"], "leases")]
)
def test_the_operator_can_write_only_its_own_lease(namespaces: list[str], where: str) -> None:
    """The chart names the Lease as the operator does."""
    values = {"watchNamespaces": namespaces, "lease": {"namespace": where}}
    role, binding = (
        manifest
        for manifest in objects(values, "--skip-tests")
        if manifest["metadata"]["name"] == "mainstem-lease"
    )
    assert {manifest["metadata"]["namespace"] for manifest in (role, binding)} == {where}
    assert role["rules"] == rules(to_leases(lease_name(namespaces)))
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "mainstem", "namespace": "mainstem"}]


def test_no_role_is_created_without_rbac() -> None:
    made = [
        manifest["kind"]
        for manifest in objects({"rbac": {"create": False, "aggregate": False}}, "--skip-tests")
    ]
    assert not {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"} & set(made)


@pytest.mark.parametrize("executors", [False, True])
def test_the_operator_holds_every_right_that_it_grants(executors: bool) -> None:
    for granted in driver("flights", executors=executors):
        assert any(held.covers(granted) for held in IN_NAMESPACES), granted


def test_a_driver_without_executors_can_access_only_its_own_pipeline() -> None:
    rights = driver("flights", executors=False)
    assert {right.names for right in rights} == {("flights",)}
    assert {right.group for right in rights} == {"mainstem.dev"}


def test_no_right_allows_escalation_or_a_wildcard() -> None:
    every = IN_NAMESPACES + IN_CLUSTER + to_leases("own") + driver("flights", executors=True)
    for right in every:
        assert not {"*", "escalate", "bind", "impersonate"} & set(right.verbs)
        assert "*" not in (right.group, *right.resources)
        assert not {"pods/exec", "pods/ephemeralcontainers", "serviceaccounts/token"} & set(right.resources)
        assert right.why
    assert {right.verbs for right in every if "secrets" in right.resources} == {("create",)}


@pytest.mark.parametrize(
    ("held", "covers"),
    [
        (Permission("", ("pods", "secrets"), ("get", "list"), ""), True),
        (Permission("", ("pods",), ("get",), "", ("a", "b")), True),
        (Permission("apps", ("pods",), ("get",), ""), False),
        (Permission("", ("secrets",), ("get",), ""), False),
        (Permission("", ("pods",), ("list",), ""), False),
        (Permission("", ("pods",), ("get",), "", ("b",)), False),
    ],
)
def test_a_right_covers_its_objects(held: Permission, covers: bool) -> None:
    assert held.covers(Permission("", ("pods",), ("get",), "", ("a",))) is covers


def test_a_right_for_some_objects_does_not_cover_one_for_all() -> None:
    assert not Permission("", ("pods",), ("get",), "", ("a",)).covers(Permission("", ("pods",), ("get",), ""))
