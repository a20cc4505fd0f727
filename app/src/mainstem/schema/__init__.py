"""The language in three other forms, each made from the models of `mainstem.language` and from nothing else.

`crd()` is what the API server enforces, `json_schema()` what an editor checks while one types, and `reference()` what a
reader looks up. `files()` names the file of each; `python -m mainstem.schema` writes them. All of it is pure.
"""

from mainstem.schema.crd import crd, crd_yaml
from mainstem.schema.editors import json_schema, json_schema_text
from mainstem.schema.reference import reference


__all__ = ["crd", "crd_yaml", "files", "json_schema", "json_schema_text", "reference"]


def files() -> dict[str, str]:
    """Path below the repository's root -> text, for every file that is generated from the models."""
    definition = crd_yaml()
    return {
        "k8s/crd/streamingpipelines.yaml": definition,
        "helm/mainstem/crd/streamingpipelines.yaml": definition,
        "k8s/streamingpipeline.schema.json": json_schema_text(),
        "docs/reference.md": reference(),
    }
