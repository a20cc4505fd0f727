"""The definition against a real API server: the definition and our own reader accept the same documents."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from documents import INVALID, MENDED, OURS_ONLY, VALID, Edit, document
from harness.documents import pipeline_head
from kubernetes.client import ApiException
from mainstem.errors import SpecInvalid
from mainstem.language.document import read_object, read_text
from mainstem.language.model.status.pipeline_status import MAX_BYTES, Status
from mainstem.language.yaml.yamltext import parse
from mainstem.schema.models import defaults


SAMPLES = sorted(
    sample
    for sample in (Path(__file__).parents[2] / "k8s" / "samples").glob("*.yaml")
    if not sample.stem.endswith(".test")  # read by `mainstem test`, never applied
)


def test_there_are_enough_documents() -> None:
    assert len(VALID) >= 20
    assert len({edit.server for edit in INVALID}) >= 20
    assert len({edit.reason for edit in OURS_ONLY}) >= 20


@pytest.mark.parametrize("name", VALID)
def test_valid_documents_are_accepted_with_the_defaults_of_the_models(pipelines, name: str) -> None:
    [read] = read_text(VALID[name])
    created = pipelines.create(document(name))
    assert _texts(created["spec"]) == defaults(read.written.spec)
    assert read_object(created).written.spec == read.written.spec


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_samples_pass_a_dry_run(pipelines, sample: Path) -> None:
    assert pipelines.create_text(sample.read_text())["kind"] == "StreamingPipeline"


@pytest.mark.parametrize("edit", INVALID, ids=lambda edit: edit.id)
def test_invalid_documents_are_rejected(pipelines, edit: Edit) -> None:
    with pytest.raises(ApiException) as refused:
        pipelines.create(edit.document())
    assert edit.server in json.loads(refused.value.body)["message"]


@pytest.mark.parametrize("edit", OURS_ONLY, ids=lambda edit: edit.id)
def test_errors_that_only_the_operator_knows_are_accepted_by_the_server(pipelines, edit: Edit) -> None:
    created = pipelines.create(edit.document())
    with pytest.raises(SpecInvalid) as refused:
        read_object(created)
    assert edit.reason in {problem.reason for problem in refused.value.problems}


@pytest.mark.parametrize("edit", MENDED, ids=lambda edit: edit.id)
def test_documents_that_the_server_corrects_are_valid_afterwards(pipelines, edit: Edit) -> None:
    assert read_object(pipelines.create(edit.document())).pipeline.name


def test_a_table_shows_the_printer_columns(pipelines) -> None:
    pipelines.create(document("smallest"), dry_run=False)
    pipelines.apply(_part(status=_operators()), "operator", status=True)
    pipelines.apply(_part(status=_drivers(1)), "driver", status=True)
    table = pipelines.table()
    columns = {column["name"]: column["priority"] for column in table["columnDefinitions"]}
    narrow = ["Name", "Ready", "Phase", "Reason", "Queries", "Lag", "Behind", "Rows/s", "Last Commit", "Age"]
    wide = ["Restarts", "Executors", "Driver", "Checkpoint"]
    assert list(columns) == narrow + wide
    assert [name for name, priority in columns.items() if priority] == wide
    [row] = table["rows"]
    cells = dict(zip(columns, row["cells"], strict=True))
    for name in ("Age", "Behind", "Last Commit"):
        assert re.fullmatch(r"(\d+[ydhms])+", cells.pop(name))
    assert cells == {
        "Name": "smallest",
        "Ready": "False",
        "Phase": "BackingOff",
        "Queries": "1 active",
        "Lag": 2**40,
        "Rows/s": 5000,
        "Reason": "QueryFailed",
        "Restarts": 3,
        "Executors": "1/2",
        "Driver": "smallest-driver",
        "Checkpoint": "s3a://checkpoints/smallest",
    }


def test_the_models_of_the_status_are_those_of_the_server(pipelines) -> None:
    """The server takes all that the models have, keeps it as it is, and each writer has its own part."""
    pipelines.create(document("smallest"), dry_run=False)
    ours = _operators() | _drivers(64)
    status = Status.model_validate_json(json.dumps(ours), strict=True)
    assert status.model_fields_set == set(Status.model_fields)
    pipelines.apply(_part(status=_operators()), "operator", status=True)
    stored = pipelines.apply(_part(status=_drivers(64)), "driver", status=True)
    assert stored["status"] == ours
    assert len(json.dumps(ours)) <= MAX_BYTES
    with pytest.raises(ApiException, match=r"conflict with ..operator"):
        pipelines.apply(_part(status={"phase": "Running"}), "driver", status=True)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"phase": "Fine"}, "Unsupported value"),
        ({"lag": 3}, "field not declared in schema"),
        ({"restarts": -1}, "should be greater than or equal to 0"),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, "Required value"),
        ({"reported": {"attempt": 1, "time": "now"}}, "must be of type date-time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_status_of_another_shape_is_rejected(pipelines, status: dict[str, Any], why: str) -> None:
    pipelines.create(document("smallest"), dry_run=False)
    with pytest.raises(ApiException) as refused:
        pipelines.apply(_part(status=status), "operator", status=True)
    assert why in json.loads(refused.value.body)["message"]


TIME = "2026-01-01T00:00:00Z"


def _operators() -> dict[str, Any]:
    """All of the operator's part of a status."""
    return {
        "observedGeneration": 2,
        "phase": "BackingOff",
        "reason": "QueryFailed",
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "QueryFailed",
                "message": "the query show failed",
                "lastTransitionTime": TIME,
                "observedGeneration": 2,
            }
        ],
        "revision": "0a1b2c3d",
        "attempt": 4,
        "restarts": 3,
        "restartNonce": "7",
        "lastFailure": {
            "class": "OutOfMemory",
            "reason": "OOMKilled",
            "attempt": 2,
            "inARow": 2,
            "nextStartTime": TIME,
        },
        "run": "generation-2",
        "checkpoint": "s3a://checkpoints/smallest",
        "driver": {"pod": "smallest-driver", "node": "node-1"},
        "lastTermination": {
            "attempt": 3,
            "outcome": "failed",
            "exitCode": 4,
            "reason": "QueryFailed",
            "message": "the query show failed",
            "finishedAt": TIME,
            "queries": [{"name": "show", "batch": -1}],
        },
        "schedule": {"lastTime": TIME, "nextTime": TIME},
        "history": [
            {
                "revision": "0a1b2c3d",
                "generation": 2,
                "outcome": "RolledBack",
                "reason": "QueryFailed",
                "attempt": 4,
                "startTime": TIME,
                "endTime": TIME,
                "changes": ["queries[show].trigger"],
            }
        ],
        "rollback": {
            "revision": "0a1b2c3d",
            "target": "4e5f6a7b",
            "reason": "QueryFailed",
            "message": "the query show failed",
            "time": TIME,
            "restartNonce": "7",
        },
        "unanswered": {"revision": "0a1b2c3d", "drivers": 1, "starts": 1, "reason": "OOMKilled"},
        "trial": {
            "revision": "8c9d0e1f",
            "against": "4e5f6a7b",
            "phase": "Differs",
            "reason": "TrialDiffers",
            "message": "1 of 1 query compared; different: show",
            "startTime": TIME,
            "endTime": TIME,
            "batches": 5,
            "timeout": "30 minutes",
            "restartNonce": "7",
            "queries": [
                {
                    "name": "show",
                    "outcome": "differs",
                    "batches": "5-7",
                    "same": 8,
                    "onlyOld": 4,
                    "onlyNew": 0,
                    "changed": 1,
                    "batchTimePercent": 120,
                    "statePercent": 100,
                    "message": "v was int, and is string",
                }
            ],
        },
    }


def _drivers(queries: int) -> dict[str, Any]:
    """All of the driver's part of a status."""
    source = {"name": "ticks", "partitions": 1, "lag": 2**40, "maxLag": 2**40, "decoded": 1, "malformed": 0}
    query = {
        "state": "Running",
        "batch": 7,
        "rowsPerSecond": 5000,
        "processedRowsPerSecond": 9000,
        "inputRows": 2**40,
        "batchDurationMs": 400,
        "lag": 2**40,
        "behindSince": TIME,
        "watermark": TIME,
        "lastProgressTime": TIME,
        "lastCommitTime": TIME,
        "sources": [source],
    }
    summary = {
        "queries": f"{queries} active",
        "lag": 2**40,
        "behindSince": TIME,
        "rowsPerSecond": 5000,
        "lastCommitTime": TIME,
        "executors": "1/2",
        "executorsMessage": "0/1 nodes are available",
    }
    return {
        "queries": [{"name": f"query-{index}", **query} for index in range(queries)],
        "summary": summary,
        "reported": {"attempt": 4, "time": TIME, "answered": 2},
    }


def _texts(spec: dict[str, Any]) -> dict[str, Any]:
    """A `spec` as the server has it, what may be a number as text: the server keeps a bare number, our models do not."""
    for pod in ("driver", "executors"):
        for given in spec[pod]["resources"].values():
            given |= {name: str(value) for name, value in given.items()}
    for source in spec["sources"]:
        if "startingVersion" in source.get("delta", {}):
            source["delta"]["startingVersion"] = str(source["delta"]["startingVersion"])
    return spec


def test_status_is_written_only_through_its_subresource(pipelines) -> None:
    created = pipelines.create(document("with-metadata-and-status"), dry_run=False)
    assert created["status"] == {"observedGeneration": -1}, "only what the definition has for everybody"


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


def test_the_largest_document_is_within_the_cost_budget_of_the_rules(pipelines) -> None:
    names = [f"{'n' * 60}{index:03}" for index in range(64)]
    dead = {
        "kafka": {"connection": names[-1], "subscribe": ["t"]},
        "decode": {"json": {"schema": "a INT"}, "onMalformedRecord": "deadLetter"},
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
        **pipeline_head("smallest"),
        **fields,
    }


SCALARS = """
yes No on OFF y N true True yEs ~ null 0 12 -3 +3 007 017 -017 08 0x10 0X1f 0b11 0o17 1_000 _1 1_ 1e3 1.5 1. .5 -.5
1e-2 00.5 0E0 NaN 12:30 2013-01-01 2013-01-01T10:00:00Z 1.2.3 9007199254740993 123456789012345678901234567890
a$b '12' "no" 0x 0xg 1e 1e+ + - -- +.5 0_8 1__0 0b2
"""


@pytest.mark.parametrize("scalar", SCALARS.split())
def test_unquoted_words_and_numbers_are_read_as_the_server_reads_them(pipelines, scalar: str) -> None:
    """The value of a parameter takes strings only: the server names the other type."""
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
        match = re.search(r'must be of type string: \\?"(\w+)\\?"|Required value', message)
        assert match, message
        kinds = {bool: ("boolean",), int: ("integer", "number"), float: ("number",), type(None): ("null",)}
        assert (match[1] or "null") in kinds[type(ours)], message
    else:
        assert ours == theirs
