"""The definition against a real API server: it and our own reader agree on what a document may be."""

import json
import re
from typing import Any

import pytest
from documents import INVALID, OURS_ONLY, VALID, Edit, document
from kubernetes.client import ApiException
from mainstem.schema.models import defaults
from mainstem.spec.document import read_text
from mainstem.spec.yamltext import parse


def test_there_are_enough_documents_to_mean_something() -> None:
    assert len(VALID) >= 20
    assert len({edit.server for edit in INVALID}) >= 20


@pytest.mark.parametrize("name", VALID)
def test_valid_documents_are_taken_with_the_defaults_of_our_models(pipelines, name: str) -> None:
    [read] = read_text(VALID[name])
    assert pipelines.create(document(name))["spec"] == defaults(read.written.spec)


@pytest.mark.parametrize("edit", INVALID, ids=lambda edit: edit.id)
def test_invalid_documents_are_refused(pipelines, edit: Edit) -> None:
    with pytest.raises(ApiException) as refused:
        pipelines.create(edit.document())
    assert edit.server in json.loads(refused.value.body)["message"]


@pytest.mark.parametrize("edit", OURS_ONLY, ids=lambda edit: edit.id)
def test_what_the_server_cannot_know_it_takes(pipelines, edit: Edit) -> None:
    assert pipelines.create(edit.document())["metadata"]["name"]


def test_a_table_shows_the_printer_columns(pipelines) -> None:
    pipelines.create(document("smallest"), dry_run=False)
    ready = {
        "type": "Ready",
        "status": "False",
        "reason": "QueryFailed",
        "message": "the query show failed",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    pipelines.apply(_part(status={"phase": "Degraded", "conditions": [ready]}), "operator", status=True)
    table = pipelines.table()
    columns = {column["name"]: column["priority"] for column in table["columnDefinitions"]}
    assert columns == {"Name": 0, "Phase": 0, "Ready": 0, "Reason": 1, "Age": 0}
    [row] = table["rows"]
    assert row["cells"][:4] == ["smallest", "Degraded", "False", "QueryFailed"]


def test_status_is_written_only_by_way_of_its_subresource(pipelines) -> None:
    created = pipelines.create(document("with-metadata-and-status"), dry_run=False)
    assert "status" not in created


def test_two_field_managers_own_different_entries_of_a_list(pipelines) -> None:
    def query(name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "from": "ticks", "to": [{"name": "out", "console": {}}], **more}

    base = document("smallest")["spec"]
    pipelines.apply(_part(spec=base | {"queries": [query("first")]}), "one")
    merged = pipelines.apply(_part(spec={"queries": [query("second")]}), "two")
    assert [entry["name"] for entry in merged["spec"]["queries"]] == ["first", "second"]
    with pytest.raises(ApiException, match=r"conflict with ..one"):
        pipelines.apply(_part(spec={"queries": [query("first", **{"from": "tocks"})]}), "two")
    left = pipelines.apply(_part(spec={"queries": [query("third")]}), "two")
    assert [entry["name"] for entry in left["spec"]["queries"]] == ["first", "third"]


def test_the_largest_document_is_within_the_budget_of_the_rules(pipelines) -> None:
    names = [f"{'n' * 60}{index:03}" for index in range(64)]
    dead = {
        "kafka": {"connection": names[-1], "subscribe": ["t"]},
        "decode": {"json": {"schema": "a INT"}, "onBadRecord": "deadLetter"},
    }
    large = document("smallest")
    large["spec"] |= {
        "connections": [{"name": name, "kafka": {"bootstrapServers": "b:9092"}} for name in names],
        "sources": [{"name": f"s{name[1:]}", **dead} for name in names],
        "views": [{"name": name, "sql": "SELECT 1"} for name in names],
        "queries": [
            {"name": name, "from": names[-1], "to": [{"name": "out", "console": {}}]} for name in names
        ],
    }
    assert len(pipelines.create(large)["spec"]["queries"]) == 64


def _part(**fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": {"name": "smallest"},
        **fields,
    }


SCALARS = """
yes No on OFF y N true True yEs ~ null 0 12 -3 +3 007 017 -017 08 0x10 0X1f 0b11 0o17 1_000 _1 1_ 1e3 1.5 1. .5 -.5
1e-2 00.5 0E0 NaN 12:30 2013-01-01 2013-01-01T10:00:00Z 1.2.3 9007199254740993 123456789012345678901234567890
a$b '12' "no" 0x 0xg 1e 1e+ + - -- +.5 0_8 1__0 0b2
"""


@pytest.mark.parametrize("scalar", SCALARS.split())
def test_bare_words_and_numbers_are_what_the_server_makes_of_them(pipelines, scalar: str) -> None:
    """The value of a parameter takes strings only: the server says what else it found."""
    text = f"""
apiVersion: mainstem.dev/v1alpha1
kind: StreamingPipeline
metadata: {{name: scalar}}
spec:
  parameters: [{{name: a, value: {scalar}}}]
  sources: [{{name: ticks, rate: {{}}}}]
  queries: [{{name: show, from: ticks, to: [{{name: out, console: {{}}}}]}}]
  checkpoints: {{location: /c}}
"""
    [part] = parse(text)
    ours = part.data["spec"]["parameters"][0]["value"]
    try:
        theirs = pipelines.create_text(text)["spec"]["parameters"][0]["value"]
    except ApiException as refused:
        message = json.loads(refused.body)["message"]
        found = re.search(r'must be of type string: \\?"(\w+)\\?"|Required value', message)
        assert found, message
        kinds = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), type(None): ("null",)}
        assert (found[1] or "null") in kinds[type(ours)], message
    else:
        assert ours == theirs
