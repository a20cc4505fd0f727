"""Generates the CRD, the JSON Schema and the reference page from the models of `mainstem.language`.

The API server enforces `crd()`, editors use `json_schema()`, and people read `reference()`. `files()` has the path of each
file, and `python -m mainstem.schema` writes them. Never imports Spark or Kubernetes.
"""

from mainstem.schema.crd import crd, crd_yaml
from mainstem.schema.editors import json_schema, json_schema_text
from mainstem.schema.reference import reference


__all__ = ["crd", "crd_yaml", "files", "json_schema", "json_schema_text", "reference"]


def files() -> dict[str, str]:
    """Path below the repository's root -> text, for every generated file."""
    definition = crd_yaml()
    return {
        "k8s/crd/streamingpipelines.yaml": definition,
        "helm/mainstem/crd/streamingpipelines.yaml": definition,
        "k8s/streamingpipeline.schema.json": json_schema_text(),
        "docs/reference.md": reference(),
    }
