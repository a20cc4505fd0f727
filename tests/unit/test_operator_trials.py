"""With `spec.trial` a changed document is tried beside the running driver, and waits until it is promoted."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from mainstem import reasons
from mainstem.changes.consequences import RefusedQuery
from mainstem.changes.transition import Step, transition
from mainstem.language.document import read_object
from mainstem.language.model.status.pipeline_status import MAX_BYTES as STATUS_BYTES
from mainstem.names import TRIAL, UPDATE
from mainstem.trial.outcome import Difference, Outcome, QueryTrial, SideResult
from mainstem.trial.summary import MAX_BYTES, failure, summary
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.observed_ages import with_ages
from mainstem_operator.decisions.pipeline_status import DRIVERS_PART
from mainstem_operator.decisions.plan import plan as next_plan_of
from mainstem_operator.manifests import pods
from mainstem_operator.manifests.trial_pod import trial_pod
from mainstem_operator.observed.ages import Ages
from mainstem_operator.observed.observation import Observation
from mainstem_operator.observed.pod_status import PodWarning
from mainstem_operator.observed.rejections import Refusal
from mainstem_operator.observed.trials import Trial, holds, remembered, result
from mainstem_operator.validation.documents import DocumentChange, change, validate
from unit.operator_steps import (
    NOW,
    SETTINGS,
    SPEC,
    at,
    body,
    condition,
    ended,
    moment,
    next_step,
    pod,
    reported,
    revision,
    running,
    status,
    timestamp,
)


OLD = body()
WANTED = {**SPEC, "timeZone": "Europe/Zurich", "trial": {"batches": 3, "timeout": "10 minutes"}}
NEW_NAME, OLD_NAME = revision(body(WANTED)).name, revision(OLD).name
HEALTHY = [
    {"revision": OLD_NAME, "generation": 1, "outcome": "Healthy", "attempt": 1, "startTime": timestamp(NOW)}
]
CHANGE = DocumentChange(replaced=("a",))
RUNNING = running(OLD)


def pipeline(
    spec: Mapping[str, Any] = WANTED, *states: str, trial: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """The pipeline with the changed document, while a driver runs a healthy revision."""
    part = reported(*(states or ("Running", "Idle")))
    part["reported"]["revision"] = OLD_NAME
    tried = {"trial": dict(trial)} if trial else {}
    return body(spec, status("Running", OLD, history=HEALTHY, **tried) | part | more, generation=2)


def step(changed: Mapping[str, Any], its_pod: Mapping[str, Any] | None = RUNNING, **more: Any) -> Plan:
    return next_step(changed, its_pod, **({"current": revision(OLD), "change": CHANGE} | more))


def afterwards(changed: Mapping[str, Any], plan: Plan, **more: Any) -> Plan:
    """The plan once the status of a plan is written, which is all that this plan does to the driver."""
    assert (plan.update, plan.stop, plan.start) == (None, False, None)
    kept = {key: value for key, value in changed["status"].items() if key in DRIVERS_PART}
    return step({**changed, "status": kept | plan.status}, **more)


def known(phase: str, **more: Any) -> dict[str, Any]:
    """A trial as the status has it."""
    fields = {
        "revision": NEW_NAME,
        "against": OLD_NAME,
        "phase": phase,
        "reason": f"Trial{phase}",
        "message": "m",
        "startTime": timestamp(NOW),
        "batches": 3,
        "timeout": "10 minutes",
    }
    return {key: value for key, value in (fields | more).items() if value is not None}


def its_trial(written: Mapping[str, Any]) -> Trial:
    trial = remembered({"trial": written})
    assert trial is not None
    return trial


def made(written: Mapping[str, Any], state: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """The trial pod of a trial, as a cluster has it."""
    manifest = trial_pod(
        body(WANTED), its_trial(written), revision(body(WANTED)), revision(OLD), CHANGE, SETTINGS
    )
    manifest["metadata"] |= {"uid": "trial-1", "resourceVersion": "1"}
    containers = {"containerStatuses": [{"name": "driver", "state": dict(state)}]} if state else {}
    manifest["status"] = {"phase": "Running" if state else "Pending", **containers, **more}
    return manifest


def over(code: int, report: str = "", *, why: str = "Error") -> dict[str, Any]:
    """The state of a container that has ended."""
    return {"terminated": {"exitCode": code, "reason": why, "message": report}}


def of_phase(plan: Plan) -> str:
    return str(plan.status["trial"]["phase"])


# -- when a trial begins


def test_a_healthy_driver_keeps_its_document_and_a_pod_tries_the_changed_one() -> None:
    plan = step(pipeline())
    assert (plan.update, plan.stop, plan.start) == (None, False, None)
    assert plan.start_trial is not None
    assert (plan.start_trial.revision, plan.start_trial.against) == (NEW_NAME, OLD_NAME)
    assert (plan.status["phase"], plan.status["revision"]) == ("Running", OLD_NAME)
    assert condition(plan, "DocumentApplied")[:2] == ("False", "TrialRunning")
    assert condition(plan, "Ready")[:2] == ("False", "TrialRunning")
    assert condition(plan, "Reconciling")[0] == "True"
    assert [(each.type, each.reason) for each in plan.events] == [("Normal", "TrialRunning")]
    assert plan.requeue is not None
    assert plan.requeue <= 30


@pytest.mark.parametrize(
    ("states", "its_pod", "more", "words"),
    [
        (("Running", "Idle"), None, {}, "no driver runs"),
        (("Running", "Idle"), ended(OLD, 1), {}, "no driver runs"),
        (("Running", "Idle"), pod(OLD), {}, "no driver runs"),
        (
            ("Running", "Idle"),
            RUNNING,
            {"change": DocumentChange(fields=("queries[a].pool",))},
            "restarts no query",
        ),
        (("Running", "Idle"), RUNNING, {"change": None}, "is not known"),
    ],
    ids=["no pod", "an ended driver", "a driver that starts", "a live change", "an unknown document"],
)
def test_without_something_to_compare_the_document_is_applied_and_the_status_shows_why(
    states: tuple[str, ...], its_pod: Mapping[str, Any] | None, more: Mapping[str, Any], words: str
) -> None:
    plan = step(pipeline(WANTED, *states), its_pod, **more)
    assert of_phase(plan) == "Skipped"
    assert words in plan.status["trial"]["message"]
    assert plan.start_trial is None
    assert not holds(plan.status, NEW_NAME)


@pytest.mark.parametrize("outcome", ["Progressing", "Failed"])
def test_a_running_revision_that_is_not_healthy_is_replaced_at_once(outcome: str) -> None:
    plan = step(pipeline(history=[HEALTHY[0] | {"outcome": outcome}]))
    assert of_phase(plan) == "Skipped"
    assert plan.update is not None


@pytest.mark.parametrize(
    ("changed", "its_pod"),
    [
        (pipeline(WANTED, "Restarting", "Idle"), RUNNING),
        (pipeline(WANTED, "Waiting", "Idle"), RUNNING),
        (pipeline({**WANTED, "suspend": True}), RUNNING),
        (pipeline({**WANTED, "restartNonce": 1}), RUNNING),
        (pipeline(reported={"attempt": 0, "time": timestamp(NOW)}), RUNNING),
        (pipeline(), running(OLD, leaving=True)),
        (
            pipeline(),
            {
                **RUNNING,
                "metadata": {
                    **RUNNING["metadata"],
                    "annotations": RUNNING["metadata"]["annotations"] | {UPDATE: "another"},
                },
            },
        ),
    ],
    ids=[
        "a restart",
        "a query that waits",
        "suspended",
        "a new nonce",
        "not reported",
        "a drain",
        "a hand-over",
    ],
)
def test_a_trial_waits_until_the_driver_and_all_queries_run(
    changed: dict[str, Any], its_pod: dict[str, Any]
) -> None:
    plan = step(changed, its_pod)
    assert of_phase(plan) == "Pending"
    assert plan.start_trial is None
    assert plan.update is None or plan.update.name == OLD_NAME
    assert all(event.reason != "TrialPending" for event in plan.events)


def test_a_refused_change_has_no_trial() -> None:
    refused = (RefusedQuery("a", "the query a cannot continue"),)
    plan = step(pipeline(), refused_changes=refused)
    assert "trial" not in plan.status
    assert condition(plan, "CheckpointCompatible")[0] == "False"
    assert "trial" not in step(pipeline(), refused="exceeded quota").status


def test_a_trial_is_not_part_of_the_revision() -> None:
    assert revision(body({**WANTED, "trial": {"promote": OLD_NAME}})).name == NEW_NAME
    without = {key: value for key, value in WANTED.items() if key != "trial"}
    assert revision(body(without)).name == NEW_NAME
    assert "trial" not in revision(body(WANTED)).text


def test_the_queries_of_a_trial_are_those_that_the_driver_would_replace() -> None:
    more = {
        **SPEC,
        "queries": [{**SPEC["queries"][0], "trigger": {"processingTime": "1 s"}}, SPEC["queries"][1]],
    }
    [before, after] = [read_object(body(spec)).graph for spec in (SPEC, more)]
    assert transition(before, after).steps["a"] is Step.REPLACE
    made_change = change(revision(OLD).text, revision(body(more)).text)
    assert (made_change.replaced, made_change.driver) == (("a",), ())
    weights = {**SPEC, "queries": [{**SPEC["queries"][0], "pool": {"weight": 3}}, SPEC["queries"][1]]}
    assert change(revision(OLD).text, revision(body(weights)).text).replaced == ()


# -- how a trial ends


QUERIES = [{"name": "a", "outcome": "differs", "batches": "5-7", "same": 8, "onlyOld": 4, "onlyNew": 0}]
REPORT = json.dumps({"outcome": "completed", "reason": "TrialDiffers", "message": "1 of 1", "trial": QUERIES})
PASSED = json.dumps(
    {
        "outcome": "completed",
        "reason": "TrialPassed",
        "message": "1 of 1",
        "trial": [{"name": "a", "outcome": "equal"}],
    }
)
NO_CHECKPOINT = failure("CheckpointNotFound", "no checkpoint")


@pytest.mark.parametrize(
    ("state", "phase", "reason"),
    [
        (over(0, PASSED), "Passed", "TrialPassed"),
        (over(9, REPORT), "Differs", "TrialDiffers"),
        (over(5, failure("TopicMissing", "no topic t")), "Failed", "TopicMissing"),
        (over(5, NO_CHECKPOINT), "Skipped", "CheckpointNotFound"),
        (over(137, why="OOMKilled"), "Failed", "OOMKilled"),
        (over(0), "Failed", "TrialNoResult"),
        (
            over(0, '{"outcome": "completed", "trial": [{"name": "a", "outcome": "nonsense"}]}'),
            "Failed",
            "TrialNoResult",
        ),
        (over(9, "not JSON"), "Failed", "TrialNoResult"),
    ],
)
def test_the_result_is_that_of_the_exit_code_with_a_report(
    state: dict[str, Any], phase: str, reason: str
) -> None:
    ending = result(made(known("Running"), state))
    assert (ending.phase, ending.reason) == (phase, reason)


def test_a_difference_is_in_the_status_and_the_running_document_stays() -> None:
    trial = known("Running")
    plan = step(pipeline(trial=trial), trial_pod=made(trial, over(9, REPORT)))
    assert of_phase(plan) == "Differs"
    assert plan.status["trial"]["queries"] == QUERIES
    assert plan.status["trial"]["endTime"] == timestamp(NOW)
    assert (plan.update, plan.start_trial, plan.stop_trial) == (None, None, False)
    assert condition(plan, "DocumentApplied")[:2] == ("False", "TrialDiffers")
    assert f"spec.trial.promote to {NEW_NAME}" in condition(plan, "DocumentApplied")[2]
    assert condition(plan, "Stalled")[:2] == ("True", "TrialDiffers")
    assert [(each.type, each.reason) for each in plan.events] == [("Warning", "TrialDiffers")]


def test_a_trial_that_has_passed_waits_for_a_person_and_its_pod_is_deleted() -> None:
    trial = known("Running")
    plan = step(pipeline(trial=trial), trial_pod=made(trial, over(0, PASSED)))
    assert (of_phase(plan), plan.update, plan.stop_trial) == ("Passed", None, True)
    assert condition(plan, "Reconciling")[:2] == ("True", "TrialPassed")


def test_with_automatic_promotion_only_a_trial_that_has_passed_is_promoted() -> None:
    automatic = {**WANTED, "trial": WANTED["trial"] | {"promotion": "Automatic"}}
    trial = known("Running")
    plan = step(pipeline(automatic, trial=trial), trial_pod=made(trial, over(0, PASSED)))
    assert of_phase(plan) == "Promoted"
    handed = afterwards(pipeline(automatic, trial=trial), plan).update
    assert handed is not None
    assert handed.name == NEW_NAME
    plan = step(pipeline(automatic, trial=trial), trial_pod=made(trial, over(9, REPORT)))
    assert (of_phase(plan), plan.update) == ("Differs", None)


def test_without_a_comparison_of_each_query_and_its_code_a_trial_is_not_promoted_by_itself() -> None:
    automatic = {**WANTED, "trial": WANTED["trial"] | {"promotion": "Automatic"}}
    trial = known("Running")
    its_pod = made(trial, over(0, PASSED))
    image = DocumentChange(driver=("spec.image",))
    plan = step(pipeline(automatic, trial=trial), trial_pod=its_pod, change=image)
    assert (of_phase(plan), plan.update) == ("Passed", None)
    assert "code of the changed image" in plan.status["trial"]["message"]
    report = json.loads(PASSED)
    report["trial"] = [*report["trial"], {"name": "b", "outcome": "notCompared"}]
    plan = step(pipeline(automatic, trial=trial), trial_pod=made(trial, over(0, json.dumps(report))))
    assert (of_phase(plan), plan.update) == ("Passed", None)


def test_a_trial_without_checkpoints_is_skipped_only_if_no_tried_query_has_a_batch() -> None:
    trial = known("Running")
    its_pod = made(trial, over(5, NO_CHECKPOINT))
    fresh = pipeline(trial=trial)
    for query in fresh["status"]["queries"]:
        query.pop("batch", None)
    plan = step(fresh, trial_pod=its_pod)
    assert of_phase(plan) == "Skipped"
    assert afterwards(fresh, plan).update is not None
    committed = pipeline(trial=trial)
    for query in committed["status"]["queries"]:
        query["batch"] = 7
    plan = step(committed, trial_pod=its_pod)
    assert (of_phase(plan), afterwards(committed, plan).update) == ("Failed", None)


@pytest.mark.parametrize("seconds", [0, 300])
def test_the_end_of_a_long_trial_neither_replaces_the_driver_nor_skips_the_check_of_its_objects(
    seconds: int,
) -> None:
    """The age of the change begins with its end, and the next look asks the API server about the document's objects."""
    asked = pipeline({**WANTED, "trial": WANTED["trial"] | {"promote": NEW_NAME}}, trial=known("Differs"))
    asked["status"]["reported"]["time"] = timestamp(at(seconds))
    ages = Ages()
    for now in (NOW, at(seconds)):
        observed = Observation(
            body=asked,
            pod=RUNNING,
            now=now,
            settings=SETTINGS,
            validation=validate(asked),
            current=revision(OLD),
            change=CHANGE,
        )
        observed = with_ages(observed, ages, moment(now))
    promoting = next_plan_of(observed)
    assert of_phase(promoting) == "Promoted"
    assert observed.revision is not None
    assert observed.revision.name == OLD_NAME
    kept = {key: value for key, value in asked["status"].items() if key in DRIVERS_PART}
    written = {**asked, "status": kept | promoting.status}
    assert (promoting.update, promoting.stop) == (None, False)
    later = with_ages(replace(observed, body=written), ages, moment(at(seconds + 1)))
    assert later.revision is not None
    assert later.revision.name == NEW_NAME
    applying = next_plan_of(later)
    assert applying.stop is False
    assert applying.update is not None


def test_a_document_that_runs_is_on_trial_no_more() -> None:
    about = RUNNING["metadata"]
    its_pod = {**RUNNING, "metadata": about | {"annotations": about["annotations"] | {UPDATE: NEW_NAME}}}
    for phase in ("Pending", "Running", "Differs"):
        changed = pipeline(trial=known(phase))
        changed["status"]["reported"]["revision"] = NEW_NAME
        given = {"its_pod": its_pod, "current": None, "change": None}
        plan = step(changed, **given)
        assert of_phase(plan) == "Skipped"
        assert condition(afterwards(changed, plan, **given), "Ready")[0] == "True"


def test_during_a_trial_the_driver_does_not_apply_an_older_document() -> None:
    about = RUNNING["metadata"]
    annotations = about["annotations"] | {UPDATE: "0a0a0a0a"}
    its_pod = {**RUNNING, "metadata": about | {"annotations": annotations}}
    plan = step(pipeline(trial=known("Pending")), its_pod)
    assert plan.update is not None
    assert plan.update.name == OLD_NAME
    assert step(pipeline(trial=known("Pending"))).update is None


def test_a_document_on_trial_does_not_start_in_place_of_one_that_is_not_known() -> None:
    plan = step(pipeline(trial=known("Differs")), None, gone=ended(OLD, 0, "drained"), current=None)
    assert plan.start is None
    assert plan.status["phase"] == "Failed"
    assert "spec.trial.promote" in condition(plan, "DriverRunning")[2]


def test_a_trial_that_waits_is_skipped_once_the_running_revision_is_not_healthy() -> None:
    changed = pipeline(trial=known("Pending"))
    changed["status"]["history"] = [{**HEALTHY[0], "outcome": "Failed", "reason": "QueryFailed"}]
    plan = step(changed)
    assert of_phase(plan) == "Skipped"
    assert afterwards(changed, plan).update is not None


@pytest.mark.parametrize("phase", ["Pending", "Running", "Passed", "Differs", "Failed"])
def test_a_request_promotes_a_document_whatever_its_trial_has_shown(phase: str) -> None:
    asked = {**WANTED, "trial": WANTED["trial"] | {"promote": NEW_NAME}}
    plan = step(pipeline(asked, trial=known(phase)))
    assert of_phase(plan) == "Promoted"
    assert phase in plan.status["trial"]["message"]
    assert afterwards(pipeline(asked, trial=known(phase)), plan).update is not None
    other = {**WANTED, "trial": WANTED["trial"] | {"promote": OLD_NAME}}
    assert step(pipeline(other, trial=known(phase))).update is None


WAITING = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}


@pytest.mark.parametrize(
    ("state", "seconds", "more", "phase", "reason"),
    [
        (WAITING, 250, {}, "Running", "TrialRunning"),
        (WAITING, 301, {}, "Failed", "ImagePullBackOff"),
        ({"running": {}}, 599, {}, "Running", "TrialRunning"),
        ({"running": {}}, 601, {}, "Failed", "TrialTimedOut"),
        (
            {"waiting": {}},
            301,
            {"trial_warning": PodWarning(reasons.FAILED_MOUNT, "no Secret s")},
            "Failed",
            "FailedMount",
        ),
        (None, 601, {}, "Failed", "TrialTimedOut"),
        (None, 1, {"trial_refusal": Refusal(reasons.POD_REFUSED, "quota")}, "Failed", "PodRefused"),
    ],
)
def test_a_trial_that_does_not_end_has_failed_with_its_cause(
    state: dict[str, Any] | None, seconds: float, more: dict[str, Any], phase: str, reason: str
) -> None:
    trial = known("Running")
    its_pod = made(trial, state) if state else None
    changed = pipeline(trial=trial)
    changed["status"]["reported"]["time"] = timestamp(at(seconds))
    plan = step(changed, trial_pod=its_pod, now=at(seconds), **more)
    assert (of_phase(plan), plan.status["trial"]["reason"]) == (phase, reason)
    assert plan.stop_trial == (phase == "Failed" and its_pod is not None)
    assert plan.update is None


def test_a_failed_revision_is_tried_again_after_another_nonce_or_other_settings() -> None:
    failed = known("Failed")
    assert step(pipeline(trial=failed)).start_trial is None
    longer = {**WANTED, "trial": {"batches": 3, "timeout": "1 hour"}}
    assert step(pipeline(longer, trial=failed)).start_trial is not None
    again = {**WANTED, "restartNonce": 1}
    restarted = running(body({**SPEC, "restartNonce": 1}))
    assert step(pipeline(again, trial=failed), restarted).start_trial is not None


# -- what ends a trial before its result


def test_a_document_that_is_changed_back_discards_the_trial_and_its_pod() -> None:
    trial = known("Running")
    undone = pipeline({**SPEC, "trial": {}}, trial=trial)
    plan = next_step(undone, RUNNING, trial_pod=made(trial, {"running": {}}))
    assert (of_phase(plan), plan.stop_trial, plan.update) == ("Discarded", True, None)
    assert condition(plan, "Ready")[0] == "True"


def test_the_pod_of_another_trial_is_deleted_before_the_next_one_starts() -> None:
    trial = known("Running")
    other = made(known("Running", revision="00000000"), {"running": {}})
    plan = step(pipeline(trial=trial), trial_pod=other)
    assert (plan.stop_trial, plan.start_trial) == (True, None)
    leaving = {**other, "metadata": other["metadata"] | {"deletionTimestamp": timestamp(NOW)}}
    plan = step(pipeline(trial=trial), trial_pod=leaving)
    assert (plan.stop_trial, plan.start_trial) == (False, None)


def test_a_deleted_pipeline_deletes_its_trial_pod() -> None:
    trial = known("Running")
    gone = pipeline(trial=trial)
    gone["metadata"]["deletionTimestamp"] = timestamp(NOW)
    plan = step(gone, trial_pod=made(trial, {"running": {}}))
    assert (plan.stop_trial, plan.start_trial) == (True, None)


def test_after_a_failure_of_the_driver_the_running_document_starts_again() -> None:
    for phase in ("Running", "Differs"):
        plan = step(pipeline(trial=known(phase)), None, gone=ended(OLD, 0, "drained"))
        assert plan.start is not None
        assert plan.start.revision.name == OLD_NAME


# -- the pod


def test_the_trial_pod_runs_both_documents_with_the_drivers_resources_and_no_rights() -> None:
    trial = its_trial(known("Running"))
    manifest = made(known("Running"))
    driver = pods.driver_pod(body(WANTED), revision(body(WANTED)), SETTINGS, attempt=1, run="r")
    spec, [container] = manifest["spec"], manifest["spec"]["containers"]
    own = driver["spec"]["containers"][0]
    assert container["args"] == [
        "trial", "/etc/mainstem/document/pipeline.yaml", "--against", "/etc/mainstem/document/running.yaml",
        "--batches", "3", "--cores", "2", "--heap", "1024m", "--summary", "/dev/termination-log", "--query", "a",
    ]  # fmt: skip
    for field in ("image", "resources", "securityContext", "terminationMessagePath"):
        assert container[field] == own[field]
    assert not {"ports", "livenessProbe", "readinessProbe", "startupProbe"} & container.keys()
    assert spec["securityContext"] == driver["spec"]["securityContext"]
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("ticks-driver", False)
    assert spec["restartPolicy"] == "Never"
    assert spec["activeDeadlineSeconds"] == 660
    about = manifest["metadata"]
    assert about["name"] == "ticks-trial"
    assert about["annotations"][TRIAL] == trial.identity
    assert about["labels"]["app.kubernetes.io/component"] == "trial"
    assert about["ownerReferences"][0]["uid"] == "uid-1"
    document = next(each for each in spec["volumes"] if each["name"] == "mainstem-document")
    names = [each["configMap"]["name"] for each in document["projected"]["sources"]]
    assert names == [f"ticks-{NEW_NAME}", f"ticks-{OLD_NAME}"]
    assert {each["name"] for each in container["volumeMounts"]} == {each["name"] for each in spec["volumes"]}
    assert "/etc/mainstem/update" not in {each["mountPath"] for each in container["volumeMounts"]}


def with_store(secret: str, **more: Any) -> dict[str, Any]:
    store = {
        "name": "store",
        "s3": {"buckets": ["checkpoints"], "endpoint": "http://s3:1", "secretRef": {"name": secret}},
    }
    return body({**WANTED, "connections": [store], **more})


def test_the_trial_pod_has_the_secrets_of_both_documents_and_all_queries_if_a_new_driver_is_needed() -> None:
    new, old = with_store("new"), with_store("old", driver={"serviceAccountName": "own"})
    manifest = trial_pod(
        new,
        its_trial(known("Running")),
        revision(new),
        revision(old),
        replace(CHANGE, driver=("spec.image",)),
        SETTINGS,
    )
    [container] = manifest["spec"]["containers"]
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in manifest["spec"]["volumes"]}
    for secret in ("new", "old"):
        assert volumes[mounts[f"/etc/mainstem/secrets/{secret}"]]["secret"]["secretName"] == secret
    assert "--query" not in container["args"]
    assert manifest["spec"]["serviceAccountName"] == "own"


def test_the_trial_pod_of_a_pipeline_with_executors_needs_no_object_that_its_first_driver_creates() -> None:
    scaled = body({**WANTED, "executors": {"instances": 2}})
    manifest = trial_pod(
        scaled, its_trial(known("Running")), revision(scaled), revision(OLD), CHANGE, SETTINGS
    )
    assert not [each for each in manifest["spec"]["volumes"] if "spark-secret" in each["name"]]
    document = next(each for each in manifest["spec"]["volumes"] if each["name"] == "mainstem-document")
    assert len(document["projected"]["sources"]) == 2


def test_the_trial_pod_has_the_labels_and_annotations_of_the_template_and_is_no_driver() -> None:
    template = {
        "metadata": {"labels": {"identity": "yes"}, "annotations": {"vault": "role"}},
        "spec": {"containers": [{"name": "proxy", "image": "proxy:1"}], "nodeSelector": {"disk": "ssd"}},
    }
    new = body({**WANTED, "driver": {"template": template}})
    manifest = trial_pod(new, its_trial(known("Running")), revision(new), revision(OLD), CHANGE, SETTINGS)
    about = manifest["metadata"]
    assert about["labels"]["identity"] == "yes"
    assert about["labels"]["app.kubernetes.io/component"] == "trial"
    assert about["annotations"]["vault"] == "role"
    assert {"mainstem.dev/attempt", "mainstem.dev/run"} & about["annotations"].keys() == set()
    assert [each["name"] for each in manifest["spec"]["containers"]] == ["driver"]
    assert manifest["spec"]["nodeSelector"] == {"disk": "ssd"}


def test_a_long_result_fits_into_the_status_beside_the_driver() -> None:
    long = [{"name": f"q{number}", "outcome": "differs", "message": "x" * 250} for number in range(64)]
    changed = pipeline(trial=known("Differs", queries=long))
    changed["status"]["queries"][0]["message"] = "y" * 20_000
    plan = step(changed)
    part = {key: changed["status"][key] for key in ("queries", "summary", "reported")}
    assert len(json.dumps(plan.status | part)) <= STATUS_BYTES
    assert of_phase(plan) == "Differs"
    assert "queries" not in plan.status["trial"]


# -- the summary


SIDE = SideResult({"k": "string"}, rows=12, batch_ms=(100, 200), state_rows=10)


def test_the_summary_has_the_numbers_of_each_query_the_different_ones_first() -> None:
    trials = [
        QueryTrial(
            "equal", Outcome.EQUAL, batches=(5, 6), old=SIDE, new=SIDE, difference=Difference(same=12)
        ),
        QueryTrial(
            "other",
            Outcome.DIFFERS,
            batches=(5, 6),
            old=SIDE,
            new=replace(SIDE, batch_ms=(300,), state_rows=5),
            difference=Difference(("k",), 1, 2, 3, 4, ("v was int, and is string",)),
        ),
    ]
    read = json.loads(summary(trials))
    assert (read["outcome"], read["reason"]) == ("completed", "TrialDiffers")
    assert read["message"] == "2 of 2 queries compared; different: other"
    assert [each["name"] for each in read["trial"]] == ["other", "equal"]
    assert read["trial"][0] == {
        "name": "other",
        "outcome": "differs",
        "batches": "5-6",
        "same": 1,
        "onlyOld": 2,
        "onlyNew": 3,
        "changed": 4,
        "batchTimePercent": 200,
        "statePercent": 50,
        "message": "v was int, and is string",
    }


@pytest.mark.parametrize("words", ["x" * 5000, "ü" * 5000, "\x00\n" * 3000])
def test_a_summary_of_many_queries_fits_into_a_termination_message(words: str) -> None:
    trials = [
        QueryTrial(f"query-{number:058}", Outcome.NOT_READY, words, "TopicMissing") for number in range(64)
    ]
    text = summary(trials)
    assert len(text.encode()) <= MAX_BYTES
    assert len(json.loads(text)["trial"]) > 20
    assert len(failure("TopicMissing", words).encode()) <= MAX_BYTES


def test_the_reason_of_a_summary_without_a_comparison_is_that_of_its_cause() -> None:
    new = QueryTrial("a", Outcome.NOT_COMPARED, "no checkpoint", "CheckpointNotFound")
    other = QueryTrial("b", Outcome.NOT_COMPARED, "the query is new")
    blocked = QueryTrial("c", Outcome.REFUSED, "cannot continue", "CheckpointIncompatible")
    assert json.loads(summary([new]))["reason"] == "CheckpointNotFound"
    assert json.loads(summary([new, other]))["reason"] == "NothingCompared"
    assert json.loads(summary([new, blocked]))["reason"] == "CheckpointIncompatible"
