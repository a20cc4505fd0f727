"""The add-on of the bare cluster: DNS for Services."""

from typing import Any

from harness.cluster import layout


_LABELS = {"k8s-app": "kube-dns"}
_META = {"name": "coredns", "namespace": "kube-system"}
_PORT = 1053  # a port that needs no privilege
# Names outside the cluster do not exist: the node has no way out.
_COREFILE = f""".:{_PORT} {{
  errors
  health
  ready
  cache 10
  kubernetes cluster.local in-addr.arpa ip6.arpa
  template ANY ANY {{
    rcode NXDOMAIN
  }}
}}
"""


def dns(image: str) -> dict[str, Any]:
    """Return CoreDNS as a list of objects for `kubectl apply`, under the names that every cluster uses."""
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _META},
            *_rights(),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _META, "data": {"Corefile": _COREFILE}},
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": _META,
                "spec": {
                    "selector": {"matchLabels": _LABELS},
                    "template": {"metadata": {"labels": _LABELS}, "spec": _pod(image)},
                },
            },
            _service(),
        ],
    }


def _rights() -> list[dict[str, Any]]:
    watch = ["list", "watch"]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"}
    meta = {"name": "system:coredns"}
    return [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": meta,
            "rules": [
                {"apiGroups": [""], "resources": ["services", "pods", "namespaces"], "verbs": watch},
                {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": watch},
            ],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": meta,
            "roleRef": role,
            "subjects": [{"kind": "ServiceAccount", **_META}],
        },
    ]


def _pod(image: str) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/ready", "port": 8181}, "periodSeconds": 1}
    container = {
        "name": "coredns",
        "image": image,
        "imagePullPolicy": "Never",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "readinessProbe": probe,
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": "config", "mountPath": "/etc/coredns"}],
    }
    return {
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": "coredns"}}],
    }


def _service() -> dict[str, Any]:
    ports = [
        {"name": name, "protocol": protocol, "port": 53, "targetPort": _PORT}
        for name, protocol in (("dns", "UDP"), ("dns-tcp", "TCP"))
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**_META, "name": "kube-dns"},
        "spec": {"selector": _LABELS, "clusterIP": layout.DNS_SERVICE, "ports": ports},
    }
