"""The permissions of the operator and of the drivers; `python -m mainstem_operator.manifests.rbac [ROOT]` writes them into
the chart.

In Kubernetes an account can grant only permissions that it has. So the operator has all permissions of a driver. It has
neither `escalate` nor `bind`, with which it could give itself every permission of the cluster.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from mainstem.names import GROUP, PLURAL


CHART: Final = Path("helm/mainstem/files")


@dataclass(frozen=True)
class Permission:
    """One rule of a Role or ClusterRole.

    Attributes:
        group: API group, empty for the core group.
        resources: plurals, with their subresources.
        verbs: the allowed verbs; never `*`.
        why: its purpose, a comment of the rule in the chart.
        names: the only objects that it allows; empty for all objects.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()

    def rule(self) -> dict[str, Any]:
        """The permission as a rule of Kubernetes."""
        names = {"resourceNames": list(self.names)} if self.names else {}
        return {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            **names,
            "verbs": list(self.verbs),
        }

    def covers(self, other: "Permission") -> bool:
        """Whether an account with this permission may grant the other one."""
        return (
            self.group == other.group
            and set(other.resources) <= set(self.resources)
            and set(other.verbs) <= set(self.verbs)
            and (not self.names or (bool(other.names) and set(other.names) <= set(self.names)))
        )


IN_NAMESPACES: Final = (
    Permission(
        GROUP,
        (PLURAL,),
        ("get", "list", "watch", "patch"),
        "Read the pipelines, each once more before its driver is stopped; add and remove the finalizer.",
    ),
    Permission(
        GROUP,
        (f"{PLURAL}/status",),
        ("patch",),
        "Write the operator's part of the status, and the driver's part after the driver has ended.",
    ),
    Permission(
        GROUP,
        (f"{PLURAL}/finalizers",),
        ("update",),
        "Create objects that block the deletion of their owner, if the API server checks this permission.",
    ),
    Permission(
        "",
        ("pods",),
        ("create", "delete", "deletecollection", "get", "list", "patch", "watch"),
        "Driver pods, trial pods and preflight pods; `deletecollection` only to grant it to drivers with executors.",
    ),
    Permission(
        "",
        ("configmaps",),
        ("create", "delete", "get", "list", "patch"),
        "The documents that drivers run: the last five of each pipeline; `patch` to hand a running driver another one.",
    ),
    Permission("", ("serviceaccounts",), ("create", "get", "patch"), "One service account for each driver."),
    Permission(
        "",
        ("secrets",),
        ("create",),
        "The secret with which driver and executors authenticate: created once. The operator does not read it.",
    ),
    Permission(
        "",
        ("events",),
        ("create", "list"),
        "Write events of pipelines; read why a pod does not start: only events report a mount that fails.",
    ),
    Permission(
        "rbac.authorization.k8s.io",
        ("roles", "rolebindings"),
        ("create", "get", "patch"),
        "The permissions of each driver; `get`, as for accounts and budgets, to change no object of another owner.",
    ),
    Permission(
        "policy",
        ("poddisruptionbudgets",),
        ("create", "delete", "get", "patch"),
        "If a pipeline requests a disruption budget.",
    ),
)
"""Permissions in every namespace whose pipelines the operator manages."""

IN_CLUSTER: Final = (
    Permission(
        "apiextensions.k8s.io",
        ("customresourcedefinitions",),
        ("get",),
        "Check that the CustomResourceDefinition is not older than the operator.",
        (f"{PLURAL}.{GROUP}",),
    ),
    Permission(
        "",
        ("namespaces",),
        ("get",),
        "Identify the cluster by a uid, so that a pipeline of another cluster cannot take its checkpoints.",
        ("kube-system",),
    ),
)
"""Permissions in the cluster: the objects have no namespace."""


def to_webhook_secret(name: str, *, certificates: str = "operator") -> tuple[Permission, ...]:
    """Permissions in the operator's namespace, if it serves the webhook with this name; without those to write its certificate
    if something else writes it.
    """
    verbs: tuple[str, ...] = ("get", "update")
    why = "Read and renew the certificate of the admission webhook."
    if certificates != "operator":
        verbs, why = ("get",), "Read the certificate of the admission webhook."
    return (Permission("", ("secrets",), verbs, why, (name,)),)


def to_webhook_configuration(name: str) -> tuple[Permission, ...]:
    """Permissions in the cluster, if the operator renews the certificate of the webhook with this name."""
    why = "Name the authorities that sign the certificate of the admission webhook."
    group, plural = "admissionregistration.k8s.io", "validatingwebhookconfigurations"
    return (Permission(group, (plural,), ("get", "patch"), why, (name,)),)


_LEASES: Final = ("leases",)


def to_leases(name: str) -> tuple[Permission, ...]:
    """Permissions in the namespace of the Leases, for an operator whose Lease has this name."""
    group = "coordination.k8s.io"
    return (
        Permission(group, _LEASES, ("create", "list"), "Decide which of several operators works."),
        Permission(group, _LEASES, ("update",), "Update its own Lease only.", (name,)),
    )


_EXECUTORS: Final = Permission(
    "",
    ("pods",),
    ("create", "delete", "deletecollection", "get", "list", "patch", "watch"),
    "Executor pods, which Spark creates and deletes.",
)


def driver(pipeline: str, *, executors: bool) -> tuple[Permission, ...]:
    """The permissions of a driver in its namespace: its own status, and pods only if it has executors."""
    status = Permission(GROUP, (f"{PLURAL}/status",), ("patch",), "Write its progress.", (pipeline,))
    return (status, _EXECUTORS) if executors else (status,)


def rules(rights: Iterable[Permission]) -> list[dict[str, Any]]:
    """The `rules` of a Role or ClusterRole."""
    return [right.rule() for right in rights]


def files() -> dict[str, str]:
    """Path below the repository's root -> text, for each list of permissions that the chart includes."""
    return {
        str(CHART / "rights-in-namespaces.yaml"): _text(IN_NAMESPACES),
        str(CHART / "rights-in-cluster.yaml"): _text(IN_CLUSTER),
        str(CHART / "rights-to-leases.yaml"): _text(to_leases("LEASE_NAME")),
        str(CHART / "rights-to-webhook-secret.yaml"): _text(to_webhook_secret("WEBHOOK_NAME")),
        str(CHART / "rights-to-read-webhook-secret.yaml"): _text(
            to_webhook_secret("WEBHOOK_NAME", certificates="cert-manager")
        ),
        str(CHART / "rights-to-webhook-configuration.yaml"): _text(to_webhook_configuration("WEBHOOK_NAME")),
    }


def _text(rights: Iterable[Permission]) -> str:
    return "".join(
        f"# {right.why}\n{yaml.safe_dump([right.rule()], sort_keys=False, default_flow_style=None, width=120)}"
        for right in rights
    )


def main(root: Path) -> None:
    """Write the lists below the repository's root."""
    for name, text in files().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
