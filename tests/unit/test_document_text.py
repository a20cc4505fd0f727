"""What the operator writes for the driver reads back equal, for YAML and for JSON, whatever the strings look like."""

import json
from typing import Any

import pytest
import yaml
from harness.documents import pipeline_head
from hypothesis import example, given
from hypothesis import strategies as st
from mainstem.language.document import read_object, read_text
from mainstem.language.yaml.yamltext import parse
from mainstem_operator.validation.document_text import read_back, written
from mainstem_operator.validation.documents import recall, validate


ODD = (
    *("y", "n", "Y", "N", "yes", "off", "True", "null", "~", "", " ", "-", "<<", "=", "*x", "&x", "!x", "# x", "a: b", "{", "- a"),
    *("1e3", "0o7", "017", ".5", "1_000", "0x10", "0b1", "+1", "1.", ".inf", ".NaN", "12:30", "2024-01-01", "2024-01-01T00:00:00Z"),
    *("\x7f", "\x80", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\x00", "\t", "a\r\nb\n", "\U0001f600", "\\", '"', "'"),
)  # fmt: skip
"""Texts that a reader of bare YAML takes for something else, and characters that YAML does not have."""

TEXTS = st.sampled_from(ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
WHOLE = st.integers(-(2**63), 2**63 - 1)
VALUES = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def smallest(name: str, **parameters: str) -> dict[str, Any]:
    """A resource as the API server has it, valid for any identifiers and any values of parameters."""
    given_names = [{"name": key, "value": value} for key, value in parameters.items()]
    return {
        **pipeline_head("yn"),
        "spec": {
            "parameters": given_names,
            "checkpoints": {"location": "s3a://lake/checkpoints"},
            "connections": [
                {
                    "name": "store",
                    "s3": {"buckets": ["lake"], "endpoint": "http://s3", "secretRef": {"name": "store"}},
                }
            ],
            "sources": [{"name": name, "rate": {}}],
            "queries": [{"name": name, "from": name, "to": [{"name": name, "noop": {}}]}],
        },
    }


@given(st.dictionaries(TEXTS, VALUES, min_size=1, max_size=4))
@example({text: text for text in ODD})
@example({"numbers": [1e16, 1e-7, 5e-324, 1.7976931348623157e308, -0.0, 2**63 - 1, 0.1, 100.0]})
def test_a_written_document_reads_back_equal(data: dict[str, Any]) -> None:
    text = written(data)
    [read] = parse(text)
    assert read.data == json.loads(text) == read_back(text) == data
    assert not read.misread


@pytest.mark.parametrize("text", [text for text in ODD if text and "\x00" not in text])
def test_the_driver_reads_the_document_that_was_applied(text: str) -> None:
    name = text if text in ("y", "n", "yes", "off") else "plain"
    body = smallest(name, text=text)
    revision = validate(body).revision
    assert revision is not None
    [read] = read_text(revision.text)
    assert read.pipeline == read_object(body).pipeline == recall(revision.text, revision.name).pipeline
    [source], [query] = read.pipeline.spec.sources, read.pipeline.spec.queries
    assert (source.name, query.name, query.to[0].name) == (name, name, name)
    assert read.pipeline.spec.parameters[0].value == text


def test_a_text_of_an_older_operator_is_read_as_it_was_written() -> None:
    body = smallest("y", text="1e3")
    assert read_back(yaml.safe_dump(body)) == body
