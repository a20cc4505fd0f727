"""A document that only a new driver can apply is checked in a pod of its own, before that driver replaces one that works."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from mainstem.names import PREFLIGHT, revision_name
from mainstem_operator.decisions.beside import preflights
from mainstem_operator.manifests import pods
from mainstem_operator.manifests.preflight_pod import preflight_pod
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import find_condition, timestamp
from mainstem_operator.observed.pod_status import PodWarning
from mainstem_operator.observed.preflights import PreflightPod, Verdict
from mainstem_operator.observed.preflights import failed as preflight_end
from mainstem_operator.observed.rejections import Refusal
from mainstem_operator.validation.documents import DocumentChange
from unit.operator_steps import (
    BOUNDED,
    SETTINGS,
    SPEC,
    body,
    observation,
    reported,
    revision,
    running,
    status,
)
from unit.test_operator_model import CHANGED, LAKE, Life
from unit.test_unchecked_documents import healthy


OTHER = {**SPEC, **LAKE}
"""A document that only a new driver can apply."""
OLD, NEW = revision(body()).name, revision(body(OTHER)).name
PASSES, REFUSES = (0, False), (3, False)
AGAIN = [(5, True), (1, True), (137, None), (2, None), (0, None), (6, False)]
"""Ends without a verdict: refused for now, an error of Mainstem, killed, an image without the command, no report, a strange code."""
Event = Callable[[Life], None]


def held(*happened: Event) -> Life:
    """A healthy pipeline with a changed document that only a new driver can apply; then more happens."""
    life = healthy()
    life.changes(OTHER)
    for happens in happened:
        happens(life)
    return life


def ends(code: int, retried: bool | None) -> Event:
    return lambda life: life.the_preflight_ends((code, retried))


def waits(life: Life, seconds: int) -> None:
    life.time_passes(seconds)


def shown(life: Life, kind: str = "DocumentApplied") -> tuple[str, str, str]:
    condition = find_condition(life.status, kind) or {"status": "-", "reason": "-", "message": "-"}
    return condition["status"], condition["reason"], condition["message"]


def runs_on(life: Life, revision: str = OLD) -> bool:
    """Whether the driver runs with the document before, and nobody ends it."""
    assert life.pod is not None
    is_untouched = pod_status.running(life.pod) and not pod_status.leaving(life.pod)
    return is_untouched and (pod_status.handed_revision(life.pod), life.status["revision"]) == (
        revision,
        revision,
    )


def is_replaced(life: Life) -> bool:
    """Whether the driver is asked to end, for the changed document."""
    assert life.pod is not None
    return pod_status.leaving(life.pod) and shown(life, "DriverRunning")[1] == "Updating"


def next_driver(life: Life) -> str:
    """The revision of the driver that follows the one that drains."""
    life.the_driver_ends((0, "drained"))
    if life.pod is not None and pod_status.leaving(life.pod):
        life.the_pod_vanishes(heard=True)
        life.turns()
    assert life.pod is not None
    return pod_status.revision(life.pod)


def test_a_pod_checks_the_document_while_the_driver_runs_on() -> None:
    life = held()
    assert life.preflight_pod is not None
    assert runs_on(life)
    assert shown(life) == (
        "False",
        "Applying",
        f"the pod ticks-preflight checks revision {NEW}, for at most 10 minutes: only a new driver can apply spec.image; until then revision {OLD} runs on",
    )
    assert shown(life, "Ready")[:2] == ("False", "Applying")
    assert shown(life, "Reconciling")[0] == "True"


def test_a_document_that_passes_gets_its_driver_and_the_pod_goes_with_it() -> None:
    life = held(ends(*PASSES))
    assert is_replaced(life)
    assert life.preflight_pod is not None, "it stays for its verdict"
    assert next_driver(life) == NEW
    assert life.preflight_pod is None
    assert shown(life)[0] == "-"


def test_a_refusal_is_shown_like_that_of_a_driver_and_holds() -> None:
    life = held(ends(*REFUSES))
    waits(life, 40_000)
    assert runs_on(life)
    assert life.preflight_pod is not None, "it stays for its log"
    assert shown(life)[0] == "-"
    expected = ("False", "TopicMissing")
    assert shown(life, "SpecValid")[:2] == expected
    message = shown(life, "SpecValid")[2]
    assert message.startswith("m; the previous document remains in use. Change the document, or set another")
    assert shown(life, "Stalled")[0] == "True"
    entry = life.status["history"][0]
    assert (entry["revision"], entry["outcome"], entry["reason"]) == (NEW, "Rejected", "TopicMissing")


@pytest.mark.parametrize("how", AGAIN)
def test_without_a_verdict_the_document_is_checked_again_a_minute_later(how: tuple[int, bool | None]) -> None:
    life = held(ends(*how))
    assert life.preflight_pod is not None
    first, before = life.preflight_pod, shown(life)
    assert runs_on(life)
    assert before[0] == "False"
    assert before[1] != "Applying"
    waits(life, 5)
    assert life.preflight_pod is first, "it stays for its log"
    waits(life, 60)
    assert life.preflight_lives(), "checked again"
    assert shown(life) == before, "the reason does not come and go with each try"
    life.the_preflight_ends(PASSES)
    assert is_replaced(life)


def test_an_evicted_pod_has_no_verdict_whatever_it_has_written() -> None:
    life = held(ends(*PASSES))
    assert life.preflight_pod is not None
    evicted = life.preflight_pod["status"] | {"phase": "Failed", "reason": "Evicted"}
    state = {"exitCode": 137, "message": '{"outcome": "completed", "retried": false}'}
    evicted["containerStatuses"] = [{"name": "driver", "state": {"terminated": state}}]
    life = held()
    assert life.preflight_pod is not None
    life.preflight_pod["status"] = evicted
    life.turns()
    assert runs_on(life)
    assert shown(life)[:2] == ("False", "Evicted")


@pytest.mark.parametrize(
    "message", ["", "no JSON", "[]", '{"retried": "false"}', '{"outcome": 1}', "[" * 9999]
)
def test_a_report_of_any_text_is_no_verdict(message: str) -> None:
    life = held()
    assert life.preflight_pod is not None
    for code in (0, 3, 5):
        state = {"exitCode": code, "message": message}
        containers = [{"name": "driver", "state": {"terminated": state}}]
        life.preflight_pod["status"] = {"phase": "Failed", "containerStatuses": containers}
        life.turns()
        assert runs_on(life)
        assert shown(life, "SpecValid")[0] == "True"


def test_a_rejected_pod_is_asked_for_again_a_minute_later() -> None:
    life = healthy()
    life.the_server_refuses_trials(refused=True)
    life.changes(OTHER)
    assert (life.preflight_pod, runs_on(life)) == (None, True)
    assert shown(life)[:2] == ("False", "PodRefused")
    assert "no; revision" in shown(life)[2]
    life.the_server_refuses_trials(refused=False)
    waits(life, 5)
    assert life.preflight_pod is None
    waits(life, 60)
    life.the_preflight_ends(PASSES)
    assert is_replaced(life)


def test_a_pod_that_does_not_start_shows_why_and_what_to_do() -> None:
    life = held()
    assert life.preflight_pod is not None
    waiting = {"reason": "ErrImagePull", "message": "no such image"}
    containers = [{"name": "driver", "state": {"waiting": waiting}}]
    life.preflight_pod["status"] = {"phase": "Pending", "containerStatuses": containers}
    waits(life, 40_000)
    assert runs_on(life)
    status, reason, message = shown(life)
    assert (status, reason) == ("False", "ImagePullBackOff")
    assert "has not started: no such image" in message
    assert "set spec.suspend to true" in message


def test_a_warning_of_the_pods_events_is_shown() -> None:
    life = held()
    pod = PreflightPod(life.preflight_pod, PodWarning("FailedMount", 'secret "lake" not found'))
    look = replace(life.look(), preflight_pod=pod, preflight=None)
    preflight = preflights.required(look)
    assert preflight is not None
    assert (preflight.verdict, preflight.reason) == (Verdict.OPEN, "FailedMount")


@pytest.mark.parametrize("how", [None, PASSES, REFUSES, (137, None)])
def test_an_operator_that_starts_meanwhile_goes_on(how: tuple[int, bool | None] | None) -> None:
    life = held()
    if how is not None:
        life.the_preflight_ends(how, asleep=True)
    pod = life.preflight_pod
    life.dies_after_the_status()
    life.preflight_failed = life.preflight_over = None
    life.turns()
    assert is_replaced(life) if how == PASSES else runs_on(life)
    assert how == (137, None) or life.preflight_pod is pod, "checked twice"


@pytest.mark.parametrize("end", [(137, None), (1, None), (0, "drained"), (6, "interrupted")])
def test_a_driver_that_ends_meanwhile_is_followed_by_one_with_the_document_before(
    end: tuple[int, str | None],
) -> None:
    life = held(lambda life: life.the_driver_ends(end))
    assert shown(life)[:2] == ("False", "Applying")
    assert shown(life)[2].endswith(f"until then the next driver starts with revision {OLD}")
    waits(life, 301)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == OLD
    assert life.preflight_lives(), "one preflight for both"
    life.the_container_starts()
    life.the_driver_reports(["Running", "Idle"])
    life.the_preflight_ends(PASSES)
    assert is_replaced(life)
    assert next_driver(life) == NEW


def test_a_document_that_passes_while_no_driver_runs_starts() -> None:
    life = held(lambda life: life.the_driver_ends((137, None)), ends(*PASSES))
    waits(life, 301)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == NEW
    assert life.preflight_pod is None


def test_a_verdict_that_is_lost_before_the_start_is_asked_for_again() -> None:
    life = held(ends(*PASSES), lambda life: life.the_preflight_pod_vanishes())
    assert next_driver(life) == OLD
    assert life.preflight_lives()


def test_a_change_that_is_undone_ends_its_preflight() -> None:
    life = held(lambda life: life.changes(SPEC))
    assert life.preflight_pod is None
    assert runs_on(life)
    assert shown(life, "Ready")[0] == "True"


def test_another_document_is_checked_in_another_pod() -> None:
    life = held(ends(*REFUSES))
    identity = preflights_of(life)
    life.changes({**OTHER, "timeZone": "Europe/Paris"})
    assert life.preflight_lives()
    assert preflights_of(life) != identity
    assert runs_on(life)


def preflights_of(life: Life) -> str:
    assert life.preflight_pod is not None
    return str(life.preflight_pod["metadata"]["annotations"][PREFLIGHT])


def test_another_restart_nonce_checks_a_refused_document_again() -> None:
    life = held(ends(*REFUSES), lambda life: life.restarts(7))
    assert life.preflight_lives()
    assert runs_on(life), "the requested restart may be the replacement"
    life.the_preflight_ends(PASSES)
    assert is_replaced(life)


def test_a_requested_restart_waits_for_no_preflight_that_is_in_trouble() -> None:
    life = held(
        ends(137, None), lambda life: life.restarts(7), lambda life: life.the_preflight_ends((137, None))
    )
    assert life.pod is not None
    assert pod_status.leaving(life.pod)
    assert shown(life, "DriverRunning")[1] == "Restarting"
    assert next_driver(life) == OLD


def test_another_default_image_checks_a_refused_document_again() -> None:
    life = held(ends(*REFUSES))
    look = life.look()
    assert look.preflight is not None
    assert look.preflight.verdict is Verdict.REFUSED
    upgraded = replace(
        look, settings=SETTINGS.model_copy(update={"driver_image": "registry.example/mainstem:2"})
    )
    again = preflights.required(replace(upgraded, preflight=None))
    assert again is not None
    assert again.is_open


def test_a_change_of_which_only_the_driver_knows_that_it_needs_a_new_one_is_checked() -> None:
    life = healthy()
    life.changes(CHANGED)
    life.the_driver_takes_over("NewDriverNeeded")
    assert life.preflight_lives()
    assert life.pod is not None
    assert not pod_status.leaving(life.pod)
    life.the_driver_ends((137, None))
    waits(life, 301)
    assert pod_status.revision(life.pod) == OLD
    life.the_container_starts()
    life.the_driver_reports(["Running", "Idle"])
    life.the_driver_takes_over("NewDriverNeeded")
    life.the_preflight_ends(PASSES)
    assert is_replaced(life)


def test_a_driver_that_needs_another_one_keeps_its_refusal_until_the_verdict() -> None:
    """It would forget that with each document that it gets, and the check would begin again."""
    life = healthy()
    life.changes(CHANGED)
    life.the_driver_takes_over("NewDriverNeeded")
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) != OLD
    pod, before = life.preflight_pod, dict(life.pod["metadata"]["annotations"])
    waits(life, 40_000)
    assert (life.preflight_pod, life.pod["metadata"]["annotations"]) == (pod, before)


def test_a_document_that_the_driver_has_and_not_applied_is_taken_back_meanwhile() -> None:
    """Otherwise the driver would apply an edit that is replaced."""
    life = healthy()
    life.changes(CHANGED)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) != OLD
    life.changes(OTHER)
    assert pod_status.handed_revision(life.pod) == OLD


def test_a_refused_document_replaces_nothing_when_a_query_fails() -> None:
    """The other queries run on, as after a refusal of the driver."""
    life = held(ends(*REFUSES), lambda life: life.the_driver_reports(["Running", "Failed"]))
    waits(life, 40_000)
    assert runs_on(life)
    assert shown(life, "SpecValid")[1] == "TopicMissing"


@pytest.mark.parametrize("end", [(3, "failed"), (4, "failed")])
def test_a_refused_document_replaces_nothing_that_has_failed_for_good(end: tuple[int, str]) -> None:
    life = held(ends(*REFUSES), lambda life: life.the_driver_ends(end))
    waits(life, 301)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == OLD
    assert shown(life, "SpecValid")[1] == "TopicMissing"


def test_a_requested_restart_starts_no_unchecked_document_that_needs_fewer_secrets() -> None:
    life = Life()
    life.applied(OTHER, runs=True)
    life.the_driver_reports(["Running", "Idle"])
    life.changes({**SPEC, "timeZone": "Europe/Rome"})
    life.the_preflight_ends((137, None))
    life.restarts(7)
    life.the_preflight_ends((137, None))
    assert next_driver(life) == NEW, "the document before"


def test_an_edit_that_comes_back_is_given_to_the_driver_again() -> None:
    """What the driver has refused may be possible now."""
    life = healthy()
    life.changes(CHANGED)
    life.the_driver_takes_over("SpecInvalid")
    life.changes(OTHER)
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == OLD
    life.the_driver_takes_over()
    life.changes(CHANGED)
    assert pod_status.handed_revision(life.pod) not in (OLD, NEW)
    assert shown(life, "SpecValid")[0] == "True"


def test_a_pod_that_is_deleted_slowly_keeps_the_reason_of_its_end() -> None:
    life = held(ends(137, None))
    before = shown(life)
    assert life.preflight_pod is not None
    life.preflight_failed = preflight_end(life.preflight_pod)
    life.preflight_pod["metadata"]["deletionTimestamp"] = timestamp(life.now)
    life.turns()
    assert shown(life) == before


@pytest.mark.parametrize("end", [(137, None), (0, "drained")])
def test_a_refused_document_replaces_nothing_when_the_driver_ends(end: tuple[int, str | None]) -> None:
    """Nor one that needs fewer Secrets than the document before."""
    life = Life()
    life.applied({**SPEC, **LAKE}, runs=True)
    life.the_driver_reports(["Running", "Idle"])
    before = life.status["revision"]
    life.changes({**SPEC, "timeZone": "Europe/Rome"})
    life.the_preflight_ends(REFUSES)
    life.the_driver_ends(end)
    waits(life, 301)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == before
    assert shown(life, "SpecValid")[1] == "TopicMissing"


def test_a_driver_of_an_older_release_that_ends_is_followed_by_one_with_the_document_before() -> None:
    life = Life()
    life.applied(SPEC, runs=True)
    life.the_driver_reports(["Running", "Idle"], old=True)
    life.body["status"]["reported"].pop("revision", None)
    life.changes(CHANGED)
    assert life.preflight_lives()
    life.the_driver_ends((137, None))
    waits(life, 301)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == OLD


def test_a_document_whose_driver_never_starts_is_replaced_by_its_remedy() -> None:
    life = held()
    for _ in range(2):
        life.the_driver_ends((137, None))
        waits(life, 301)
        life.the_container_starts()
        life.the_driver_reports(["Starting", "Starting"])
    life.the_driver_ends((137, None))
    waits(life, 301)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == NEW


def test_a_pod_whose_node_does_not_report_is_deleted_by_force() -> None:
    life = held(lambda life: life.restarts(7))
    assert life.preflight_pod is not None
    life.preflight_pod["metadata"]["deletionTimestamp"] = timestamp(life.now)
    look = life.look()
    assert look.preflight is not None
    assert "is being deleted" in look.preflight.message
    assert not preflights.goes_on(look), "a requested restart does not wait for it"
    assert not preflights.must_stop(look)
    assert preflights.must_stop(replace(look, now=look.now + timedelta(seconds=31)))


def test_a_refusal_keeps_its_reason_if_a_sidecar_runs_on_until_its_time_is_over() -> None:
    life = held(ends(*REFUSES))
    assert life.preflight_pod is not None
    life.preflight_pod["status"] |= {"reason": "DeadlineExceeded", "message": "too long"}
    life.turns()
    assert shown(life, "SpecValid")[:2] == ("False", "TopicMissing")


def test_a_pod_with_a_verdict_is_no_failure_of_the_next_check() -> None:
    life = held(ends(*REFUSES), lambda life: life.changes(SPEC), lambda life: life.changes(OTHER))
    assert life.preflight_lives()
    assert shown(life)[:2] == ("False", "Applying")


def test_a_pod_that_takes_what_the_driver_needs_goes() -> None:
    life = held(lambda life: life.the_driver_ends((137, None)))
    look = life.look()
    assert not preflights.must_stop(look)
    assert preflights.must_stop(replace(look, refused=Refusal("PodRefused", "exceeded quota")))


def test_suspending_and_resuming_starts_the_document_unchecked() -> None:
    life = held(ends(*REFUSES), lambda life: life.suspends(suspend=True))
    assert life.preflight_pod is None
    life.the_driver_ends((0, "drained"))
    life.the_pod_vanishes(heard=True)
    life.turns()
    life.suspends(suspend=False)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == NEW


def test_a_document_is_checked_too_if_the_one_that_runs_is_not_known() -> None:
    """Somebody has deleted its ConfigMap, or the rules of a new operator refuse it."""
    life = healthy()
    life.the_running_document_is_lost()
    life.changes(OTHER)
    assert runs_on(life)
    assert life.preflight_pod is not None
    volumes = {each["name"]: each for each in life.preflight_pod["spec"]["volumes"]}
    [document] = [each["projected"]["sources"] for each in volumes.values() if "projected" in each]
    names = {each["configMap"]["name"]: each["configMap"].get("optional") for each in document}
    assert names == {revision_name("ticks", NEW): None, revision_name("ticks", OLD): True}
    life.the_preflight_ends(REFUSES)
    waits(life, 40_000)
    assert runs_on(life)
    life.restarts(7)
    life.the_preflight_ends((137, None))
    waits(life, 1)
    assert runs_on(life), "a restart would start the changed document"
    waits(life, 60)
    life.the_preflight_ends(REFUSES)
    waits(life, 60)
    assert runs_on(life), "a restart would start the refused document"
    life.restarts(8)
    life.the_preflight_ends(PASSES)
    assert is_replaced(life)
    assert next_driver(life) == NEW


def test_a_document_replaces_one_that_is_not_known_once_its_driver_has_ended() -> None:
    """No driver could start with that."""
    life = healthy()
    life.the_running_document_is_lost()
    life.changes(OTHER)
    life.the_driver_ends((1, None))
    waits(life, 301)
    assert life.pod is not None
    assert (pod_status.revision(life.pod), pod_status.over(life.pod)) == (NEW, False)


def test_a_trial_comes_first() -> None:
    life = healthy()
    life.changes({**OTHER, "trial": {"timeout": "10 minutes"}})
    assert (life.preflight_pod, life.trial_pod is None) == (None, False)
    life.promotes()
    assert life.preflight_lives()
    assert runs_on(life)
    life.the_preflight_ends(PASSES)
    assert is_replaced(life)


def waiting(**more: Any) -> dict[str, Any]:
    """A healthy pipeline with a changed document."""
    part = reported("Running", "Idle")
    part["reported"]["revision"] = OLD
    entry = {"revision": OLD, "generation": 1, "outcome": "Healthy", "startTime": "2026-01-01T00:00:00Z"}
    known = status("Running", body(), history=[entry], **more)
    return body(OTHER, known | part, generation=2)


@pytest.mark.parametrize(
    "difference",
    [
        {"change": DocumentChange()},
        {"change": None},
        {"current": revision(body(BOUNDED))},
        {"status": {"history": []}},
        {"status": {"phase": "Suspended"}},
        {"suspend": True},
        {"deleted": True},
        {"rolled_back": True},
    ],
    ids=["the-driver-applies-it", "not-compared", "ends-by-itself", "never-healthy", "at-rest", "suspended", "deleted", "rolled-back"],
)  # fmt: skip
def test_what_needs_no_preflight(difference: dict[str, Any]) -> None:
    given = {"current": revision(body()), "change": DocumentChange(driver=("spec.image",))}
    assert preflights.required(observation(waiting(), running(body()), **given)) is not None
    pipeline = waiting()
    pipeline["status"] |= difference.get("status", {})
    pipeline["spec"] |= {"suspend": True} if "suspend" in difference else {}
    if "deleted" in difference:
        pipeline["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    if "rolled_back" in difference:
        failed = {"reason": "R", "message": "m", "time": "2026-03-01T12:00:00Z"}
        pipeline["status"]["rollback"] = {"revision": NEW, "target": OLD, **failed}
    given |= {key: value for key, value in difference.items() if key in given}
    assert preflights.required(observation(pipeline, running(body()), **given)) is None


# -- the pod


def with_store(secret: str, **more: Any) -> dict[str, Any]:
    store = {"name": "lake", "s3": {"buckets": ["checkpoints"], "secretRef": {"name": secret}}}
    return body({**SPEC, "connections": [store], **more})


def test_the_pod_is_that_of_the_next_driver_without_its_rights() -> None:
    new = with_store("new", executors={"instances": 2})
    old = with_store("old", driver={"serviceAccountName": "own"})
    made = preflight_pod(new, "a/b", revision(new), revision(old), SETTINGS, against="old", attempt=8)
    driver = pods.driver_pod(new, revision(new), SETTINGS, attempt=8, run="")
    spec, [container] = made["spec"], made["spec"]["containers"]
    own = driver["spec"]["containers"][0]
    documents = "/etc/mainstem/document"
    assert container["args"] == [
        "driver", f"{documents}/pipeline.yaml", "--preflight-against", f"{documents}/running.yaml",
    ]  # fmt: skip
    for field in ("image", "resources", "securityContext", "env", "terminationMessagePath"):
        assert container[field] == own[field]
    assert {"name": "MAINSTEM_ATTEMPT", "value": "8"} in container["env"]
    assert not {"ports", "livenessProbe", "readinessProbe", "startupProbe"} & container.keys()
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("ticks-driver", False)
    assert (spec["restartPolicy"], spec["activeDeadlineSeconds"]) == ("Never", 600)
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in spec["volumes"]}
    for secret, is_optional in (("new", None), ("old", True)):
        volume = volumes[mounts[f"/etc/mainstem/secrets/{secret}"]]["secret"]
        assert (volume["secretName"], volume.get("optional")) == (secret, is_optional)
    assert not [name for name in volumes if "spark-secret" in name or "update" in name]
    about = made["metadata"]
    assert (about["name"], about["annotations"][PREFLIGHT]) == ("ticks-preflight", "a/b")
    assert about["labels"]["app.kubernetes.io/component"] == "preflight"
    assert {"mainstem.dev/attempt", "mainstem.dev/run"} & about["annotations"].keys() == set()
    assert json.dumps(made)


def test_the_pod_has_the_sidecars_and_the_service_account_of_the_next_driver() -> None:
    """Through a sidecar the driver may reach its servers."""
    proxy = {
        "name": "proxy",
        "image": "proxy:1",
        "volumeMounts": [{"name": "sockets", "mountPath": "/sockets"}],
    }
    template = {"spec": {"containers": [proxy], "volumes": [{"name": "sockets", "emptyDir": {}}]}}
    new = body({**OTHER, "driver": {"template": template, "serviceAccountName": "own"}})
    made = preflight_pod(new, "a/b", revision(new), revision(body()), SETTINGS, against="old", attempt=2)
    assert [each["name"] for each in made["spec"]["containers"]] == ["driver", "proxy"]
    assert "sockets" in {each["name"] for each in made["spec"]["volumes"]}
    assert made["spec"]["serviceAccountName"] == "own"
