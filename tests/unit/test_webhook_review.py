"""The answers of the admission webhook, from a review to the response."""

import asyncio
import copy
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from mainstem_operator.admission.review import Review, ReviewUnreadable, allowed, decision, read
from mainstem_operator.admission.server import AdmissionServer, ServerTls
from mainstem_operator.validation import reviews
from mainstem_operator.validation.worker_pool import COMMAND, Validators


SPEC: dict[str, Any] = {
    "sources": [{"name": "ticks", "rate": {}}],
    "views": [{"name": "windows", "sql": ""}],
    "queries": [
        {"name": "show", "from": "windows", "outputMode": "complete", "to": [{"name": "out", "console": {}}]}
    ],
    "checkpoints": {"location": "s3a://checkpoints/ticks"},
}


def resource(length: str = "1 minute", **more: Any) -> dict[str, Any]:
    spec = copy.deepcopy(SPEC)
    spec["views"][0]["sql"] = (
        f"SELECT window(timestamp, '{length}') AS w,\n  count(*) AS n\nFROM ticks GROUP BY window(timestamp, '{length}')"
    )
    about = {"name": "ticks", "namespace": "a"}
    return {
        "apiVersion": "mainstem.dev/v1alpha1",
        "kind": "StreamingPipeline",
        "metadata": about,
        "spec": spec | more,
    }


def asked(new: dict[str, Any], old: dict[str, Any] | None = None) -> Review:
    request = {"uid": "u", "namespace": "a", "object": new, "oldObject": old, "dryRun": True}
    return read({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def answered(new: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """The response, without the warning of the source, which no user has in production."""
    review = asked(new, old)
    findings = reviews.findings(new)
    of_change = reviews.change_warnings(old, new) if old and not findings.problems else ()
    of_document = [warning for warning in findings.warnings if not warning.endswith("[NotFaultTolerant]")]
    answer = decision(review, findings.problems, (*of_change, *of_document))
    response: dict[str, Any] = answer["response"]
    assert response["uid"] == "u"
    return response


def with_sql(sql: str) -> dict[str, Any]:
    bad = resource()
    bad["spec"]["views"][0]["sql"] = sql
    return bad


def test_a_valid_document_is_allowed_without_warnings() -> None:
    assert answered(resource()) == {"uid": "u", "allowed": True}


def test_an_invalid_document_is_denied_with_path_line_and_reason() -> None:
    response = answered(with_sql("SELECT *\nFROM\n  nowhere"))
    assert not response["allowed"]
    assert response["status"]["code"] == 422
    message = response["status"]["message"]
    assert message.startswith("spec.views[0].sql, line 3, column ")
    assert "'nowhere'" in message
    assert message.rstrip().endswith("]")


def test_every_problem_of_a_document_is_in_the_message() -> None:
    bad = resource(checkpoints={"location": "/tmp/x"})
    bad["spec"]["queries"][0]["from"] = "nowhere"
    assert "spec.queries[0].from: " in answered(bad)["status"]["message"]
    assert (
        "spec.checkpoints.location: "
        in answered(resource(checkpoints={"location": "/tmp/x"}))["status"]["message"]
    )


def test_the_policies_of_the_cluster_are_in_the_message_with_the_other_problems() -> None:
    bad = with_sql("SELECT nothing(value) FROM ticks")
    bad["spec"]["checkpoints"]["location"] = "/tmp/checkpoints"
    message = answered(bad)["status"]["message"]
    assert "[CheckpointNotDurable]" in message
    assert "[UnknownFunction]" in message


def test_the_warnings_of_a_document_are_those_of_validate() -> None:
    answer = answered(with_sql("SELECT value\nFROM ticks EMIT CHANGES"))
    assert answer["allowed"]
    [warning] = answer["warnings"]
    assert warning.startswith(
        "spec.views[0].sql, line 2, column 12: Spark has no EMIT: leave it out; the query's `outputMode"
    )


def test_a_change_that_misreads_the_checkpoint_is_allowed_with_a_warning() -> None:
    response = answered(resource("5 minutes"), resource())
    assert response["allowed"]
    [warning] = response["warnings"]
    assert warning.startswith(
        "query show: cannot continue from its checkpoint; the operator refuses the document while the driver runs. "
    )
    assert "spec." in warning


@pytest.mark.parametrize(
    ("policy", "consequence"),
    [
        ("newGeneration", "starts with an empty checkpoint"),
        ("keep", "continues from its checkpoint and may misread"),
    ],
)
def test_the_warning_follows_the_policy_of_the_query(policy: str, consequence: str) -> None:
    new = resource("5 minutes")
    new["spec"]["queries"][0]["checkpoint"] = {"onChange": policy}
    assert any(
        warning.startswith(f"query show: {consequence}") for warning in answered(new, resource())["warnings"]
    )


def test_a_warning_has_the_records_and_the_time_from_the_stored_status() -> None:
    old, new = resource(), resource()
    old["spec"]["sources"] = new["spec"]["sources"] = [
        {
            "name": "ticks",
            "kafka": {"connection": "broker", "subscribe": ["t"], "startingOffsets": "earliest"},
        }
    ]
    for each in (old, new):
        each["spec"]["connections"] = [{"name": "broker", "kafka": {"bootstrapServers": "broker:9092"}}]
    source = {"name": "ticks", "lag": 0, "retainedRecords": 90_000}
    query = {
        "name": "show",
        "state": "Running",
        "lag": 0,
        "rowsPerSecond": 100,
        "processedRowsPerSecond": 1600,
    }
    old["status"] = {"queries": [query | {"sources": [source]}]}
    new["spec"]["queries"][0]["checkpoint"] = {"generation": 2}
    [warning] = [each for each in answered(new, old)["warnings"] if each.startswith("query show")]
    assert warning.startswith(
        "query show: starts with an empty checkpoint: reads 90,000 records again, about 60 seconds at 1,600 records/s "
        "while 100/s arrive. spec.queries[show].checkpoint.generation: "
    )


def test_warnings_name_the_driver_and_each_query_that_a_change_concerns() -> None:
    new = resource(driver={"cores": 4})
    new["spec"]["queries"].append(new["spec"]["queries"][0] | {"name": "other"})
    warnings = answered(new, resource())["warnings"]
    assert any(
        warning == "every query restarts: only a new driver can apply spec.driver.cores"
        for warning in warnings
    )
    assert any(warning.startswith("query other: starts with an empty checkpoint") for warning in warnings)
    [removed] = [warning for warning in answered(resource(), new)["warnings"] if "query other" in warning]
    assert removed.startswith("query other: stops")


def test_a_suspended_query_is_not_refused() -> None:
    old, new = resource(), resource("5 minutes")
    for each in (old, new):
        each["spec"]["queries"].append(
            each["spec"]["queries"][0] | {"name": "raw", "from": "ticks", "outputMode": "append"}
        )
    new["spec"]["queries"][0]["suspend"] = True
    [warning] = [each for each in answered(new, old)["warnings"] if each.startswith("query show")]
    assert "cannot continue from its checkpoint when it is resumed" in warning


def test_a_change_of_the_sql_names_only_its_query() -> None:
    old, new = with_sql("SELECT value FROM ticks"), with_sql("SELECT value + 1 AS value FROM ticks")
    for each in (old, new):
        each["spec"]["queries"][0]["outputMode"] = "append"
    [query] = answered(new, old)["warnings"]
    assert query.startswith(
        "query show: restarts, and continues from its checkpoint. spec.views[windows].sql: "
    )


def test_a_change_that_restarts_nothing_has_no_warnings() -> None:
    lighter = resource(restart={"maxRetries": 1}, drain={"timeout": "5s"})
    lighter["spec"]["queries"][0]["pool"] = {"weight": 3}
    assert answered(lighter, resource()) == {"uid": "u", "allowed": True}


@pytest.mark.parametrize(
    ("old", "new", "warning"),
    [
        ({}, {"suspend": True}, "every query stops at a batch's end: spec.suspend"),
        ({"suspend": True}, {}, "a driver starts with the changed document: spec.suspend"),
        ({"suspend": True}, {"suspend": True, "restart": {"maxRetries": 1}}, "nothing changes until the pipeline is resumed: spec.suspend"),
        ({"restartNonce": "1"}, {"restartNonce": "2"}, "every query restarts: spec.restartNonce asks for a new driver"),
        ({"restartNonce": "1"}, {}, None),
    ],
)  # fmt: skip
def test_a_change_of_the_whole_pipeline_has_a_single_warning(
    old: dict[str, Any], new: dict[str, Any], warning: str | None
) -> None:
    assert answered(resource(**new), resource(**old)).get("warnings", []) == ([warning] if warning else [])


def test_a_nonce_that_a_driver_has_started_with_restarts_nothing() -> None:
    old = resource() | {"status": {"revision": "0123abcd", "restartNonce": "1"}}
    assert "warnings" not in answered(resource(restartNonce="1"), old)


def test_a_restart_beside_a_refused_change_starts_the_document_before() -> None:
    warnings = answered(resource("5 minutes", restartNonce="2"), resource())["warnings"]
    assert warnings[0] == (
        "every query restarts with the document before: spec.restartNonce asks for a new driver"
    )
    assert warnings[1].startswith("query show: cannot continue from its checkpoint")


def test_no_driver_refuses_a_document_with_which_a_pipeline_is_resumed() -> None:
    warnings = answered(resource("5 minutes"), resource(suspend=True))["warnings"]
    assert warnings[0] == "a driver starts with the changed document: spec.suspend"
    assert warnings[1].startswith("query show: is refused: ")
    assert not any("while the driver runs" in warning for warning in warnings)


def test_long_and_many_warnings_are_shortened() -> None:
    response = allowed("u", ["x" * 1000] * 100)["response"]
    assert all(len(warning) <= 256 for warning in response["warnings"])
    assert sum(map(len, response["warnings"])) <= 4096
    assert "86 more" in response["warnings"][-1]


def test_an_invalid_document_can_still_be_suspended() -> None:
    bad = with_sql("SELECT * FROM nowhere")
    stopped = copy.deepcopy(bad)
    stopped["spec"]["suspend"] = True
    response = answered(stopped, bad)
    assert response["allowed"]
    assert "nowhere" in response["warnings"][0]
    assert not answered(stopped, resource())["allowed"]


def test_a_change_of_metadata_needs_no_check() -> None:
    bad = with_sql("SELECT * FROM nowhere")
    labelled = copy.deepcopy(bad)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert not asked(labelled, bad).needs_check
    assert asked(bad, resource()).needs_check
    deleted = copy.deepcopy(bad)
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not asked(deleted, resource()).needs_check


@pytest.mark.parametrize(
    "content", [None, [], {}, {"request": {}}, {"request": {"uid": "u", "object": {"spec": []}}}]
)
def test_other_contents_are_unreadable(content: Any) -> None:
    with pytest.raises(ReviewUnreadable):
        read(content)


def test_the_server_checks_documents_in_the_validation_process() -> None:
    async def ask() -> list[dict[str, Any]]:
        server, validators = started(COMMAND)
        try:
            new, old = resource("5 minutes"), resource()
            bad = with_sql("SELECT * FROM nowhere")
            return [(await server.answer(asked(*each), 60))["response"] for each in [(new, old), (bad,)]]
        finally:
            validators.close()

    changed, invalid = asyncio.run(ask())
    assert (changed["allowed"], invalid["allowed"]) == (True, False)
    assert "cannot continue" in changed["warnings"][0]
    assert "nowhere" in invalid["status"]["message"]


def test_without_an_answer_in_time_the_document_is_allowed_with_a_warning() -> None:
    async def ask() -> tuple[dict[str, Any], dict[str, Any]]:
        server, validators = started((sys.executable, "-c", "import signal; signal.pause()"))
        try:
            first = await server.answer(asked(resource()), 0.3)
            waiting = [asyncio.create_task(server.answer(asked(resource()), 30)) for _ in range(31)]
            await asyncio.sleep(0)
            crowded = await server.answer(asked(resource()), 30)
            for task in waiting:
                task.cancel()
            return first, crowded
        finally:
            validators.close()

    first, crowded = asyncio.run(ask())
    for answer in (first, crowded):
        assert answer["response"]["allowed"]
        assert answer["response"]["warnings"][0].startswith("the document was not checked: ")
    assert "too many" in crowded["response"]["warnings"][0]


def started(command: Sequence[str]) -> tuple[AdmissionServer, Validators]:
    validators = Validators(command)
    return AdmissionServer(validators, ServerTls()), validators
