"""Documents that tests write: the head that every pipeline has."""

from typing import Any


def pipeline_head(name: str) -> dict[str, Any]:
    """The fields of a pipeline beside its `spec`."""
    return {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": name},
    }
