import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documents import INVALID, MENDED, OURS_ONLY, VALID, Edit, document
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_text
from mainstem.language.loading.shape_validation import shape_problems
from mainstem.language.loading.string_patterns import PATTERNS
from mainstem.language.model.pipeline import StreamingPipeline
from mainstem.language.model.status.pipeline_status import Status
from mainstem.language.yaml.yamltext import YamlText
from mainstem.names import CRD_REVISION, SCHEMA
from mainstem.schema import crd, files, json_schema, reference
from mainstem.schema.__main__ import main
from mainstem.schema.cel import WHICH, escaped, exactly_one
from mainstem.schema.cel_connector_rules import CONNECTOR_RULES
from mainstem.schema.cel_pipeline_rules import PIPELINE_RULES
from mainstem.schema.cel_query_rules import QUERY_RULES
from mainstem.schema.models import definitions, referred


ROOT = Path(__file__).parents[2]
EDITORS = Draft202012Validator(json_schema())


def test_generated_files_match_the_models() -> None:
    stale = [name for name, text in files().items() if (ROOT / name).read_text(encoding="utf-8") != text]
    assert not stale, f"{', '.join(stale)}: differs from the models; run make generate"


def test_files_are_written_once(tmp_path: Path) -> None:
    main(tmp_path)
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*")}
    main(tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in written} == set(files())
    assert written == {path: path.stat().st_mtime_ns for path in written}


LINTED = {"low-latency": ["TriggerDeprecated"], "python-sinks": ["NotDurable"]}
"""Documents that a warning is about, for want of another way to say what it is about."""


@pytest.mark.parametrize("name", VALID)
def test_valid_documents_are_read(name: str) -> None:
    [read] = read_text(VALID[name])
    reasons = [warning.reason for warning in read.warnings]
    made_up = [
        source
        for source in read.pipeline.spec.sources
        if source.choice() in ("rate", "rateMicroBatch", "socket")
    ]
    assert reasons.count("NotFaultTolerant") == len(made_up)
    assert [reason for reason in reasons if reason != "NotFaultTolerant"] == LINTED.get(name, [])
    EDITORS.validate(document(name))


@pytest.mark.parametrize("edit", INVALID + OURS_ONLY + MENDED, ids=lambda edit: edit.id)
def test_invalid_documents_are_rejected(edit: Edit) -> None:
    with pytest.raises(SpecInvalid) as refused:
        read_text(json.dumps(edit.document()))
    assert edit.reason in {problem.reason for problem in refused.value.problems}


def test_valid_documents_cover_every_field() -> None:
    schemas = definitions()
    every = {(model, name) for model, schema in schemas.items() for name in schema["properties"]}
    used = {field for name in VALID for field in _fields("StreamingPipeline", document(name), schemas)}
    assert every - used == set()


def test_crd_is_small_enough_for_apply_and_for_etcd() -> None:
    """`kubectl apply` keeps the definition as JSON in an annotation, and annotations have 256 KiB at most."""
    assert len(json.dumps(crd(), separators=(",", ":"))) < 200_000


REVISION = 22, "2125efaac8ebecca"
"""The revision of the definition, and the hash of all in it but its descriptions."""


def test_a_changed_definition_has_a_new_revision() -> None:
    """By which an operator knows a definition that is too old. Increase `CRD_REVISION`, then correct both values here."""
    definition = crd()
    del definition["metadata"]["annotations"][SCHEMA]
    text = json.dumps(without_descriptions(definition), sort_keys=True)
    assert (CRD_REVISION, hashlib.sha256(text.encode()).hexdigest()[:16]) == REVISION


def without_descriptions(part: Any) -> Any:
    if isinstance(part, dict):
        kept = {key: each for key, each in part.items() if key != "description" or not isinstance(each, str)}
        return {key: without_descriptions(each) for key, each in kept.items()}
    return [without_descriptions(each) for each in part] if isinstance(part, list) else part


def test_crd_is_structural_and_bounded() -> None:
    faults = [fault for path, node in _nodes(_root(), "") for fault in _faults(path, node)]
    assert faults == []


def test_crd_writes_defaults_of_nested_objects() -> None:
    query = _root()["properties"]["spec"]["properties"]["queries"]["items"]["properties"]
    assert query["pool"]["default"] == {"weight": 1, "minShare": 0}
    assert query["checkpoint"]["default"] == {"generation": 1, "onChange": "refuse"}
    assert "default" not in query["trigger"]


def test_every_union_has_its_rule() -> None:
    unions = [schema["x-one-of"] for schema in definitions().values() if "x-one-of" in schema]
    rules = [rule for _, node in _nodes(_root(), "") for rule in node.get("x-kubernetes-validations", ())]
    rules_of_unions = {rule["rule"] for rule in rules if rule["message"].startswith("exactly one of")}
    assert rules_of_unions == {exactly_one(keys).rule for keys in unions}
    assert all(len(rule["message"].removesuffix(WHICH)) < 120 for rule in rules)


def test_each_rule_of_the_server_has_a_document_that_our_reader_refuses_too() -> None:
    """Holds each rule in CEL equal to its counterpart in Python: our reader and the API server both refuse `INVALID`."""
    messages = {
        rule.message
        for rules in {**CONNECTOR_RULES, **PIPELINE_RULES, **QUERY_RULES}.values()
        for rule in rules
    }
    assert [
        text for text in messages if not any(edit.server and edit.server in text for edit in INVALID)
    ] == []


def test_rules_name_fields_as_the_server_does() -> None:
    unknown = [
        f"{path}: {name}"
        for path, node in _nodes(_root(), "")
        for rule in node.get("x-kubernetes-validations", ())
        for name in re.findall(r"\bself\.(\w+)", rule["rule"])
        if name not in {escaped(field) for field in node["properties"]}
    ]
    assert unknown == []
    assert escaped("function") == "__function__"


def test_every_pattern_is_described_in_words() -> None:
    patterns = set(re.findall(r'"pattern": ("(?:[^"\\]|\\.)*")', json.dumps(definitions())))
    assert {json.loads(pattern) for pattern in patterns} - PATTERNS.keys() == set()


def test_the_reference_has_a_section_for_every_object() -> None:
    page = reference()
    assert [name for name in definitions() if f"\n## {name}\n" not in page] == []
    assert page.index("\n## Source\n") < page.index("\n## View\n") < page.index("\n## Query\n")
    assert "| `weight` | integer (1 to 1000) | `1` | Share relative to the other queries' weights. |" in page


def test_the_reference_has_the_status_after_the_document() -> None:
    page = reference()
    assert page.index("\n## Rules\n") < page.index("\n## Status\n") < page.index("\n## QueryProgress\n")
    schemas = definitions(Status)
    assert [name for name in schemas if page.count(f"\n## {name}\n") != 1] == []
    assert not schemas.keys() & definitions().keys()
    assert "| `lag` | integer | Records that are not read yet, over all queries whose lag is known. |" in page


SCALARS = st.sampled_from([0, 1, -1, 2**60, 1.5, True, False, "", "a", "A b", "${x}", "30 seconds", "x" * 64])
VALUES = (
    SCALARS
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.sampled_from(["name", "path", "a", ""]), SCALARS)
)
# Not zones, which are looked up; and not null, which editors should mark although it means "absent".


@settings(max_examples=300)
@given(st.sampled_from(sorted(VALID)), st.data())
def test_editors_and_models_agree_on_the_shape(name: str, data: st.DataObject) -> None:
    mutated = document(name)
    mutated.pop("status", None)  # the reader passes it over before it looks at the shape
    places = [(above, key) for above, key in _places(mutated) if key != "timeZone"]
    above, key = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from([key for _, key in places if isinstance(key, str)]))
    at = other if isinstance(above, dict) and data.draw(st.booleans()) else key
    above[at] = data.draw(VALUES)
    accepted = shape_problems(YamlText(mutated), StreamingPipeline)[0] is not None
    assert EDITORS.is_valid(mutated) == accepted


@pytest.mark.parametrize("number", [1, 1.0])
def test_true_is_not_accepted_as_a_number(number: float) -> None:
    """A literal is compared by value, and `1 == True` in Python."""
    fields, taken = set(), []
    for name in sorted(VALID):
        mutated = document(name)
        mutated.pop("status", None)
        for above, key in [(above, key) for above, key in _places(mutated) if above[key] is True]:
            fields.add(key)
            above[key] = number
            shaped = shape_problems(YamlText(mutated), StreamingPipeline)[0] is not None
            taken += [(name, key)] if shaped or EDITORS.is_valid(mutated) else []
            above[key] = True
    assert taken == []
    assert fields >= {"availableNow", "once", "delete"}


def _fields(model: str, value: dict[str, Any], schemas: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every (model, field) that a valid document gives."""
    for name, node in schemas[model]["properties"].items():
        if name in value:
            yield model, name
            values = node.get("additionalProperties")
            of_map = values if isinstance(values, dict) else None
            target = referred(of_map or node.get("items", node))
            several = value[name].values() if of_map else value[name] if "items" in node else [value[name]]
            for below in several if target else ():
                yield from _fields(target, below, schemas) if target else ()


def _root() -> dict[str, Any]:
    [version] = crd()["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]


def _nodes(node: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, below in node.get("properties", {}).items():
        yield from _nodes(below, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in node:
            yield from _nodes(node[key], f"{path}[]")


def _faults(path: str, node: dict[str, Any]) -> Iterator[str]:
    if node.keys() & {"$ref", "title", "const", "anyOf", "oneOf", "propertyNames", "prefixItems", "nullable"}:
        yield f"{path}: not structural: {sorted(node)}"
    if foreign := [key for key in node if key.startswith("x-") and not key.startswith("x-kubernetes-")]:
        yield f"{path}: {foreign}"
    if not path.endswith("[]") and path not in ("", ".metadata") and not node.get("description"):
        yield f"{path}: no description"
    if path not in (".apiVersion", ".kind"):
        yield from _unbounded(path, node)


def _unbounded(path: str, node: dict[str, Any]) -> Iterator[str]:
    if node.get("x-kubernetes-int-or-string"):
        if "type" in node or not node.keys() >= {"pattern", "maxLength", "minimum"}:
            yield f"{path}: a number or a string, with bounds for both: {sorted(node)}"
        return
    if node.get("x-kubernetes-preserve-unknown-fields") and "type" not in node:
        if not path.endswith(".merge.sequenceBy"):
            yield f"{path}: only columns are one or several"
        return
    if node["type"] == "string" and not node.keys() & {"maxLength", "enum", "format"}:
        yield f"{path}: no maxLength"
    if node["type"] == "array" and "maxItems" not in node:
        yield f"{path}: no maxItems"
    if node.get("x-kubernetes-preserve-unknown-fields"):
        if not re.fullmatch(r"[.]spec[.](driver|executors)[.]template", path):
            yield f"{path}: only pod templates hold what nobody knows"
    elif "additionalProperties" in node and not ("maxProperties" in node and node["additionalProperties"]):
        yield f"{path}: no maxProperties"


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document, as the thing that holds it and the key or index in it."""
    for key, below in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(below, dict | list):
            yield from _places(below)
