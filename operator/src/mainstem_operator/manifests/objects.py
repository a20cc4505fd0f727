"""Manifests of all objects except pods; pure."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from mainstem.names import (
    API_VERSION,
    COMPONENT_LABEL,
    DOCUMENT_KEY,
    EXECUTOR_KEY,
    KIND,
    MANAGED_LABEL,
    NAME_LABEL,
    OPERATOR,
    PIPELINE_LABEL,
    driver_name,
    revision_name,
    template_name,
    update_key,
    update_name,
    update_number_key,
)

from mainstem_operator.manifests import rbac as rights
from mainstem_operator.manifests.pod_template import Object
from mainstem_operator.validation.documents import Revision


DOCUMENT: Final = "document"
TEMPLATE: Final = "executor-template"
UPDATE: Final = "update"
"""Components of a pipeline's ConfigMaps."""


def labels(pipeline: str, component: str) -> dict[str, str]:
    """Labels of all objects of a pipeline."""
    return {
        NAME_LABEL: "mainstem",
        MANAGED_LABEL: OPERATOR,
        COMPONENT_LABEL: component,
        PIPELINE_LABEL: pipeline,
    }


def metadata(body: Mapping[str, Any], name: str, component: str = "driver") -> Object:
    """Metadata with name, labels and owner: Kubernetes deletes the object with its owner."""
    about = body["metadata"]
    owner = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": about["name"],
        "uid": about["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "name": name,
        "namespace": about["namespace"],
        "labels": labels(about["name"], component),
        "ownerReferences": [owner],
    }


def access(body: Mapping[str, Any], revision: Revision) -> list[Object]:
    """Service account, role and binding of the driver; none if the document names a service account."""
    pipeline = body["metadata"]["name"]
    if revision.pipeline.spec.driver.service_account_name:
        return []
    about = metadata(body, driver_name(pipeline))
    subject = {"kind": "ServiceAccount", "name": about["name"], "namespace": about["namespace"]}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": about["name"]}
    rbac = "rbac.authorization.k8s.io/v1"
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": about,
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": rbac,
            "kind": "Role",
            "metadata": about,
            "rules": rights.rules(rights.driver(pipeline, executors=revision.scaled_out)),
        },
        {
            "apiVersion": rbac,
            "kind": "RoleBinding",
            "metadata": about,
            "roleRef": role,
            "subjects": [subject],
        },
    ]


def document(body: Mapping[str, Any], revision: Revision) -> Object:
    """The immutable ConfigMap of a revision."""
    name = revision_name(body["metadata"]["name"], revision.name)
    return _kept(metadata(body, name, DOCUMENT), {DOCUMENT_KEY: revision.text})


def update(body: Mapping[str, Any], revision: Revision, attempt: int, number: int) -> Object:
    """The ConfigMap with the document that the driver with this start number shall apply while it runs, and its number."""
    name = update_name(body["metadata"]["name"])
    about = metadata(body, name, UPDATE)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": about,
        "data": {update_key(attempt, revision.name): revision.text, update_number_key(attempt): str(number)},
    }


def template(body: Mapping[str, Any], executor: Object) -> Object:
    """The immutable ConfigMap of a template of executors' pods.

    It is not part of the revision: another version or other settings of the operator give another template.
    """
    text = json.dumps(executor, indent=1, sort_keys=True)
    name = template_name(body["metadata"]["name"], hashlib.sha256(text.encode()).hexdigest()[:8])
    return _kept(metadata(body, name, TEMPLATE), {EXECUTOR_KEY: text})


def _kept(about: Object, data: Mapping[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "immutable": True, "data": dict(data)}


def disruption_budget(body: Mapping[str, Any], revision: Revision) -> Object | None:
    """The driver's PodDisruptionBudget, if the document requests one."""
    budget = revision.pipeline.spec.driver.pod_disruption_budget
    if budget is None:
        return None
    about = metadata(body, driver_name(body["metadata"]["name"]))
    spec = {
        # `maxUnavailable` needs an owner with a scale. A pipeline has none, so no eviction would ever be allowed.
        "minAvailable": 1 - budget.max_unavailable,
        "selector": {"matchLabels": about["labels"]},
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": about, "spec": spec}
