"""After any events in any order the loop converges, and its status is consistent.

A few dictionaries play the API server, because this tests decisions. The tier `apiserver` has the real one.
"""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mainstem.language.model.status.pipeline_status import MAX_BYTES, Phase, Status
from mainstem.names import UPDATE
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.checkpoints import has_driver
from mainstem_operator.decisions.pipeline_status import DRIVERS_PART
from mainstem_operator.decisions.plan import plan
from mainstem_operator.manifests import pods
from mainstem_operator.observed import pod_status
from mainstem_operator.observed.conditions import AT_REST, ENDED, parsed, timestamp
from mainstem_operator.observed.observation import Observation, Refusal, running_revision
from mainstem_operator.validation.documents import DocumentChange, Revision, ValidationResult, validate
from unit.operator_steps import BOUNDED, NOW, SETTINGS, SPEC, body, ended, reported, running


STATES = ["Starting", "Waiting", "Running", "Idle", "Restarting", "Failed", "Completed"]
DOCUMENTS: list[dict[str, Any]] = [
    SPEC,
    {**SPEC, "timeZone": "Europe/Zurich"},
    {**SPEC, "restart": {"policy": "Never"}},
    {**SPEC, "restart": {"maxDriverRetries": 2, "maxBackoff": "60s"}},
    {**SPEC, "queries": [{**SPEC["queries"][0], "from": "nothing"}]},
    BOUNDED,
    {**BOUNDED, "schedule": {"cron": "*/30 * * * *"}},
    {**BOUNDED, "schedule": {"cron": "30 2 * * *", "timeZone": "Europe/Zurich"}},
]
ASLEEP = st.integers(0, 4).map(lambda number: number == 0)
"""Whether the operator misses it, for now."""
_VALIDATED: dict[str, ValidationResult] = {}


def validation_of(pipeline: dict[str, Any]) -> ValidationResult:
    key = json.dumps(pipeline["spec"])
    if key not in _VALIDATED:
        _VALIDATED[key] = validate(pipeline)
    return _VALIDATED[key]


def has_reported(pipeline: dict[str, Any], its_pod: dict[str, Any] | None) -> bool:
    """Whether the driver of the pod has reported its revision."""
    part = pipeline.get("status", {}).get("reported", {})
    return its_pod is not None and part.get("attempt") == pod_status.attempt(its_pod) and "revision" in part


class Life(RuleBasedStateMachine):
    """One pipeline, its driver's pod, and an operator that may die between any two writes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.pod: dict[str, Any] | None = None
        self.gone: dict[str, Any] | None = None
        self.revisions: dict[str, Any] = {}
        self.made = 0
        self.created = NOW
        self.seen_attempts: list[int] = []
        self.refused: Refusal | None = None
        self.finished = False
        self.taking_over: tuple[str, int] | None = None
        self.taking_over_since = NOW

    @initialize(document=st.sampled_from(DOCUMENTS), runs=st.booleans())
    def applied(self, document: dict[str, Any], runs: bool = False) -> None:
        self.body = body(document)
        if runs:
            self.turns()
        if self.living():
            self.the_container_starts()
            self.the_driver_reports(["Running", "Idle"])

    # -- the operator

    def look(self) -> Observation:
        validation = validation_of(self.body)
        wanted = validation.revision
        name = running_revision(self.body, self.pod) or self.status.get("revision")
        had = has_driver(self.body, self.pod)
        current = self.revisions.get(name) if wanted is None or (wanted.name != name and had) else None
        asked = wanted and wanted.name != running_revision(self.body, self.pod)
        observed = Observation(
            body=copy.deepcopy(self.body),
            pod=copy.deepcopy(self.pod),
            gone=self.gone,
            validation=validation,
            current=current,
            change=self.change(current, wanted),
            refused=self.refused if asked else None,
            now=self.now,
            settings=SETTINGS,
            start_age=(self.now - self.created).total_seconds() if self.living() and not self.runs() else 0.0,
        )
        return replace(observed, update_age=self.update_age(observed))

    def change(self, running: Revision | None, wanted: Revision | None) -> DocumentChange | None:
        """What a change does; every third document needs a new driver."""
        if running is None or wanted is None or not has_reported(self.body, self.pod):
            return None
        return DocumentChange(driver=("spec.image",) if int(wanted.name, 16) % 3 == 0 else ())

    def update_age(self, observed: Observation) -> float:
        wanted = observed.validation.revision
        taking_over = None
        if observed.takes_documents and wanted and wanted.name != observed.running_revision:
            taking_over = (wanted.name, observed.status["reported"]["attempt"])
        if taking_over != self.taking_over:
            self.taking_over, self.taking_over_since = taking_over, self.now
        return (self.now - self.taking_over_since).total_seconds()

    @property
    def status(self) -> dict[str, Any]:
        next_plan: dict[str, Any] = self.body.get("status", {})
        return next_plan

    def write(self, next_plan: Plan) -> bool:
        old = copy.deepcopy(self.status)
        if next_plan.driver_part is not None:
            kept = {key: value for key, value in self.status.items() if key not in DRIVERS_PART}
            self.body["status"] = kept | next_plan.driver_part
        if next_plan.status:
            kept = {key: value for key, value in self.status.items() if key in DRIVERS_PART}
            self.body["status"] = kept | copy.deepcopy(dict(next_plan.status))
        self.check_transitions(old)
        changed = old != self.status
        assert changed or not next_plan.events, "an event without a transition"
        return changed

    def carry_out(self, next_plan: Plan) -> bool:
        if next_plan.stop:
            assert self.pod is not None
            assert pod_status.leaving(self.pod) == next_plan.force, "the driver is deleted twice"
            if next_plan.force:
                self.gone, self.pod = self.pod, None
            else:
                self.tell_to_go()
            return True
        if next_plan.update:
            assert self.pod is not None
            assert self.runs()
            assert not pod_status.leaving(self.pod)
            assert pod_status.handed_revision(self.pod) != next_plan.update.name, "handed over twice"
            self.revisions[next_plan.update.name] = next_plan.update
            self.pod["metadata"]["annotations"][UPDATE] = next_plan.update.name
            return True
        if next_plan.start:
            assert self.pod is None, "two drivers at a time"
            assert not self.body["spec"].get("suspend")
            assert "deletionTimestamp" not in self.body["metadata"]
            revision, attempt = next_plan.start.revision, next_plan.start.attempt
            self.revisions[revision.name] = revision
            self.pod = pods.driver_pod(
                self.body, revision, SETTINGS, attempt=attempt, run=next_plan.start.run
            )
            self.made += 1
            self.pod["metadata"] |= {"uid": f"pod-{self.made}", "resourceVersion": "1"}
            self.pod["status"] = {"phase": "Pending"}
            self.created = self.now
            if self.made % 2:
                self.pod["spec"]["nodeName"] = "node-1"
            return True
        return False

    def tell_to_go(self) -> None:
        assert self.pod is not None
        if pod_status.over(self.pod) or not pod_status.running(self.pod):
            self.gone, self.pod = self.pod, None
        else:
            self.pod["metadata"]["deletionTimestamp"] = timestamp(self.now)

    def woken(self, asleep: bool) -> None:
        if not asleep:
            self.turns()

    @rule()
    def turns(self) -> None:
        for _ in range(5):
            next_plan = plan(self.look())
            changed = self.write(next_plan)
            self.finished = self.finished or next_plan.finished
            if not (self.carry_out(next_plan) or changed) or next_plan.finished:
                break
        else:
            next_plan = plan(self.look())
        before = copy.deepcopy(self.status)
        again = plan(self.look())
        assert not self.write(again), (before, self.status)
        assert again.events == ()
        assert not again.stop
        assert again.start is None
        assert again.update is None

    @rule()
    def dies_after_the_status(self) -> None:
        self.write(plan(self.look()))
        self.gone = None

    @rule()
    def dies_after_a_step(self) -> None:
        next_plan = plan(self.look())
        self.write(next_plan)
        self.carry_out(next_plan)
        self.gone = None

    # -- the kubelet and the driver

    def living(self) -> bool:
        return self.pod is not None and not pod_status.over(self.pod)

    def runs(self) -> bool:
        return self.living() and self.pod is not None and pod_status.running(self.pod)

    def transplant(self, other: dict[str, Any]) -> None:
        assert self.pod is not None
        self.pod["status"] = other["status"]

    @precondition(lambda self: self.living())
    @rule(asleep=ASLEEP)
    def the_container_starts(self, asleep: bool = False) -> None:
        self.transplant(running(body()))
        self.woken(asleep)

    @precondition(lambda self: self.runs())
    @rule(
        states=st.lists(st.sampled_from(STATES), min_size=1, max_size=3),
        silent=st.booleans(),
        old=st.booleans(),
        asleep=ASLEEP,
    )
    def the_driver_reports(
        self, states: list[str], silent: bool = False, old: bool = False, asleep: bool = False
    ) -> None:
        assert self.pod is not None
        part = reported(*states, attempt=pod_status.attempt(self.pod))
        if not old or has_reported(self.body, self.pod):
            part["reported"]["revision"] = running_revision(self.body, self.pod)
        part["reported"]["time"] = timestamp(self.now - timedelta(seconds=500 if silent else 0))
        self.body["status"] = self.status | part
        self.woken(asleep)

    @precondition(lambda self: self.runs() and has_reported(self.body, self.pod))
    @rule(
        outcome=st.sampled_from(["applied", "SpecInvalid", "TopicMissing", "NewDriverNeeded"]), asleep=ASLEEP
    )
    def the_driver_takes_over(self, outcome: str = "applied", asleep: bool = False) -> None:
        assert self.pod is not None
        before = self.status["reported"]
        part = {**before, "time": timestamp(self.now)}
        part.pop("refused", None)
        handed = pod_status.handed_revision(self.pod)
        if outcome == "applied":
            part["revision"] = handed
        else:
            retried = outcome == "TopicMissing"
            part["refused"] = {"revision": handed, "reason": outcome, "message": "m", "retried": retried}
        self.body["status"] = self.status | {"reported": part}
        self.woken(asleep)

    @precondition(lambda self: self.runs())
    @rule(
        how=st.sampled_from(
            [
                (0, "completed"),
                (0, "drained"),
                (0, None),
                (1, None),
                (3, "failed"),
                (4, "failed"),
                (5, "failed"),
                (6, "interrupted"),
                (137, None),
            ]
        ),
        ran=st.integers(0, 1200),
        asleep=ASLEEP,
    )
    def the_driver_ends(self, how: tuple[int, str | None], ran: int = 9, asleep: bool = False) -> None:
        finished = (self.now - NOW).total_seconds()
        self.transplant(ended(body(), *how, started=finished - ran, finished=finished))
        self.woken(asleep)

    @precondition(lambda self: self.living())
    @rule()
    def the_pod_is_evicted(self) -> None:
        assert self.pod is not None
        self.pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}

    @precondition(lambda self: self.pod is not None)
    @rule(heard=st.booleans())
    def the_pod_vanishes(self, heard: bool) -> None:
        self.gone, self.pod = (self.pod if heard else None), None

    @precondition(lambda self: self.pod is not None and not pod_status.leaving(self.pod))
    @rule(asleep=ASLEEP)
    def somebody_deletes_the_pod(self, asleep: bool = False) -> None:
        self.tell_to_go()
        self.woken(asleep)

    # -- the user, and time

    @rule(document=st.sampled_from(DOCUMENTS), asleep=ASLEEP)
    def changes(self, document: dict[str, Any], asleep: bool = False) -> None:
        suspend = self.body["spec"].get("suspend")
        self.body["spec"] = copy.deepcopy(document) | ({"suspend": True} if suspend else {})
        self.body["metadata"]["generation"] += 1
        self.woken(asleep)

    @rule(suspend=st.sampled_from([True, False, False]), asleep=ASLEEP)
    def suspends(self, suspend: bool, asleep: bool = False) -> None:
        self.body["spec"]["suspend"] = suspend
        self.body["metadata"]["generation"] += 1
        self.woken(asleep)

    @rule(nonce=st.integers(0, 3), asleep=ASLEEP)
    def restarts(self, nonce: int, asleep: bool = False) -> None:
        self.body["spec"]["restartNonce"] = nonce
        self.body["metadata"]["generation"] += 1
        self.woken(asleep)

    @rule(words=st.sampled_from([None, None, "exceeded quota"]))
    def the_server_refuses(self, words: str | None) -> None:
        self.refused = Refusal("PodRefused", words) if words else None

    @precondition(lambda self: "deletionTimestamp" not in self.body["metadata"])
    @rule(really=st.integers(0, 24), asleep=ASLEEP)
    def is_deleted(self, really: int = 0, asleep: bool = False) -> None:
        if really == 0:
            self.body["metadata"]["deletionTimestamp"] = timestamp(self.now)
            self.woken(asleep)

    @rule(seconds=st.sampled_from([1, 4, 5, 60, 301, 1800, 40_000, 10**7]), asleep=ASLEEP)
    def time_passes(self, seconds: int, asleep: bool = False) -> None:
        self.now += timedelta(seconds=seconds)
        self.woken(asleep)

    # -- always

    def check_transitions(self, old: dict[str, Any]) -> None:
        before = {entry["type"]: entry for entry in old.get("conditions", ())}
        for entry in self.status.get("conditions", ()):
            was = before.get(entry["type"])
            if was and was["status"] == entry["status"]:
                assert entry["lastTransitionTime"] == was["lastTransitionTime"], entry
            else:
                assert parsed(entry["lastTransitionTime"]) == self.now.replace(microsecond=0), entry
        assert self.status.get("attempt", 0) >= old.get("attempt", 0)

    @invariant()
    def the_status_is_one(self) -> None:
        if self.status:
            Status.model_validate(self.status)
            assert len(json.dumps(self.status).encode()) < MAX_BYTES
            types = [entry["type"] for entry in self.status.get("conditions", ())]
            assert len(types) == len(set(types))

    @invariant()
    def no_healthy_number_outlives_its_driver(self) -> None:
        if self.status.get("phase") in (*AT_REST, *ENDED, "BackingOff"):
            assert "active" not in self.status.get("summary", {}).get("queries", "")

    @invariant()
    def the_budget_is_never_exceeded_and_no_pause_is_longer_than_its_limit(self) -> None:
        failure = self.status.get("lastFailure", {})
        if failure.get("class") == "Infrastructure":
            assert failure["inARow"] >= 1
        elif failure:
            assert failure["inARow"] == self.status["restarts"]
        if "nextStartTime" in failure:
            assert self.status["phase"] == "BackingOff"
            assert parsed(failure["nextStartTime"]) <= self.now + timedelta(minutes=5)

    @invariant()
    def a_running_pipeline_is_ready_only_with_the_report_of_its_driver(self) -> None:
        ready = [entry for entry in self.status.get("conditions", ()) if entry["type"] == "Ready"]
        if ready and ready[0]["status"] == "True" and self.status["phase"] not in AT_REST:
            assert self.status["reported"]["attempt"] == self.status["attempt"]

    @invariant()
    def a_pipeline_is_ready_only_with_its_document(self) -> None:
        ready = [entry for entry in self.status.get("conditions", ()) if entry["type"] == "Ready"]
        if not ready or ready[0]["status"] != "True" or self.status["phase"] in AT_REST:
            return
        current = self.status["observedGeneration"] == self.body["metadata"]["generation"]
        wanted = validation_of(self.body).revision
        if current and wanted is not None:
            assert self.status["revision"] == wanted.name

    @invariant()
    def it_is_ready_or_reconciling_or_stalled(self) -> None:
        conditions = {entry["type"]: entry["status"] for entry in self.status.get("conditions", ())}
        if not conditions:
            return
        assert [conditions["Ready"] == "True", "Reconciling" in conditions, "Stalled" in conditions].count(
            True
        ) == 1
        if self.status["phase"] in AT_REST:
            assert (conditions["Ready"] == "True") == (conditions["SpecValid"] == "True")
        if self.status["phase"] in ENDED:
            assert "Stalled" in conditions


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=100, stateful_step_count=40)


def lived(document: dict[str, Any], *happened: Callable[[Life], None]) -> str:
    """The phase in which a life ends."""
    life = Life()
    life.applied(document)
    life.turns()
    for happens in happened:
        happens(life)
    return str(life.status["phase"])


def test_every_phase_can_be_reached() -> None:
    def runs(life: Life) -> None:
        life.the_container_starts()
        life.the_driver_reports(["Idle", "Idle"])

    reached = {
        lived(SPEC),
        lived(SPEC, runs),
        lived(SPEC, runs, lambda life: life.the_driver_reports(["Failed", "Idle"])),
        lived(SPEC, runs, lambda life: life.suspends(suspend=True)),
        lived(SPEC, lambda life: life.suspends(suspend=True)),
        lived(SPEC, runs, lambda life: life.the_driver_ends((4, "failed"))),
        lived(SPEC, runs, lambda life: life.the_driver_ends((3, "failed"))),
        lived(BOUNDED, runs, lambda life: life.the_driver_ends((0, "completed"))),
        lived(SPEC, runs, lambda life: life.is_deleted()),
        lived(DOCUMENTS[-1]),
        lived(DOCUMENTS[4]),
    }
    assert reached == set(get_args(Phase))
