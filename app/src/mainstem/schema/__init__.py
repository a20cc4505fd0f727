"""Generates the CRD, the JSON Schema, the reference page and the tables of reasons from models and registry.

The API server enforces `crd()`, editors use `json_schema()`, and people read `reference()`. `files()` has the path of each
file, and `python -m mainstem.schema` writes them. Never imports Spark or Kubernetes.
"""

from mainstem.schema.crd import crd, crd_yaml
from mainstem.schema.editors import json_schema, json_schema_text
from mainstem.schema.reason_tables import with_reasons
from mainstem.schema.reference import reference


__all__ = [
    "WITH_REASONS",
    "crd",
    "crd_yaml",
    "files",
    "json_schema",
    "json_schema_text",
    "reference",
    "with_reasons",
]

WITH_REASONS = ("README.md", "docs/cluster.md", "docs/runbook.md")
"""Pages that are written by hand and have generated tables."""


def files() -> dict[str, str]:
    """Path below the repository's root -> text, for every generated file."""
    definition = crd_yaml()
    return {
        "k8s/crd/streamingpipelines.yaml": definition,
        "helm/mainstem/crd/streamingpipelines.yaml": definition,
        "k8s/streamingpipeline.schema.json": json_schema_text(),
        "docs/reference.md": reference(),
    }
