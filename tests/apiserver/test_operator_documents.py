"""The driver of a document gets what its user applied."""

from typing import Any

import pytest
from apiserver.operatorbed import Bed, Ours, until
from mainstem.language.document import read_object, read_text
from mainstem_operator.manifests.objects import DOCUMENT_KEY


def short(name: str) -> dict[str, Any]:
    """A document in which one word is each name and each text."""
    return {
        "parameters": [{"name": name, "value": name}],
        "checkpoints": {"location": "s3a://lake/checkpoints"},
        "sources": [{"name": name, "rate": {}}],
        "queries": [{"name": name, "from": name, "to": [{"name": name, "noop": {}}]}],
    }


@pytest.mark.parametrize("name", ["y", "n"])
def test_a_word_that_yaml_reads_as_a_truth_value_reaches_the_driver_as_text(bed: Bed, name: str) -> None:
    bed.operator.up()
    ours = Ours(bed, bed.namespace(), name)
    ours.create(short(name))
    [read] = read_text(ours.files(ours.runs())[DOCUMENT_KEY])
    assert read.pipeline == read_object(ours.get()).pipeline
    assert (read.pipeline.metadata.name, read.pipeline.spec.queries[0].to[0].name) == (name, name)
    assert read.pipeline.spec.parameters[0].value == name
    until(lambda: ours.condition("SpecValid").get("status") == "True")
