"""After any events in any order the loop converges, and its status is consistent.

A few dictionaries play the API server, because this tests decisions. The tier `apiserver` has the real one.
"""

import copy
import json
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from mainstem.changes.consequences import RefusedQuery
from mainstem.language.model.status.pipeline_status import MAX_BYTES, Phase, Status
from mainstem.language.model.status.revision_history import KEPT_ENTRIES
from mainstem.language.model.status.states import is_active
from mainstem.language.model.status.trial_status import HOLDING
from mainstem.names import UPDATE, UPDATE_NUMBER
from mainstem.reasons import POD_REFUSED
from mainstem_operator.decisions import rollback, unchecked
from mainstem_operator.decisions.actions import Plan
from mainstem_operator.decisions.beside import preflights
from mainstem_operator.decisions.checkpoints import guarded, in_use, remains
from mainstem_operator.decisions.health import has_begun
from mainstem_operator.decisions.history import driver_history
from mainstem_operator.decisions.observed_ages import with_ages
from mainstem_operator.decisions.pipeline_status import DRIVERS_PART
from mainstem_operator.decisions.plan import plan
from mainstem_operator.decisions.revisions import protected
from mainstem_operator.manifests import pods
from mainstem_operator.manifests.preflight_pod import preflight_pod
from mainstem_operator.manifests.trial_pod import trial_pod
from mainstem_operator.observed import hand_overs, pod_status, trials
from mainstem_operator.observed import preflights as checked
from mainstem_operator.observed.ages import Ages
from mainstem_operator.observed.conditions import AT_REST, ENDED, parsed, timestamp
from mainstem_operator.observed.observation import Observation, last_revision, report_of, running_revision
from mainstem_operator.observed.preflights import PreflightPod
from mainstem_operator.observed.rejections import FailedPod, Refusal
from mainstem_operator.observed.revision_entries import newest
from mainstem_operator.observed.unanswered import REPEATEDLY
from mainstem_operator.validation.documents import DocumentChange, Revision, ValidationResult, validate
from unit.operator_steps import BOUNDED, NOW, SETTINGS, SPEC, body, ended, moment, reported, running


LAKE = {"connections": [{"name": "lake", "s3": {"secretRef": {"name": "lake"}, "buckets": ["checkpoints"]}}]}
"""A connection that a run uses, so that its Secret is required."""
STATES = ["Starting", "Waiting", "Running", "Idle", "Restarting", "Failed", "Completed"]
DOCUMENTS: list[dict[str, Any]] = [
    SPEC,
    {**SPEC, "timeZone": "Europe/Zurich"},
    {**SPEC, "restart": {"policy": "Never"}},
    {**SPEC, "restart": {"maxDriverRetries": 2, "maxBackoff": "60s"}},
    {**SPEC, "queries": [{**SPEC["queries"][0], "from": "nothing"}]},
    {**SPEC, **LAKE},
    {**SPEC, **LAKE, "restart": {"maxDriverRetries": 1}},
    BOUNDED,
    {**BOUNDED, "schedule": {"cron": "*/30 * * * *"}},
    {**BOUNDED, "schedule": {"cron": "30 2 * * *", "timeZone": "Europe/Zurich"}},
]
TRIALS: list[dict[str, Any]] = [
    {**document, "trial": settings}
    for document in DOCUMENTS[:3]
    for settings in ({"timeout": "10 minutes"}, {"promotion": "Automatic"})
]
PREFLIGHT_ENDS = [(0, False), (3, False), (5, False), (5, True), (1, True), (137, None), (0, None), (2, None)]
"""Exit code of a preflight, and whether a later one may have another result; None without a report."""
ASLEEP = st.integers(0, 4).map(lambda number: number == 0)
"""Whether the operator misses it, for now."""
DEADLINE = timedelta(minutes=10)
"""`rollback.progressDeadline` of every document."""
WAITS = timedelta(minutes=10)
"""How long an edit waits for a revision that has followed a healthy one."""
RESET_AFTER = 600
"""`restart.resetAfter` of every document, in seconds."""
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


def entry_of(status: dict[str, Any]) -> tuple[str, int, str]:
    """The entry of the history that has not ended: its revision, generation and start."""
    entry = newest(status)
    assert entry is not None
    return entry["revision"], entry["generation"], entry["startTime"]


class Life(RuleBasedStateMachine):
    """One pipeline, its driver's pod, and an operator that may die between any two writes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.pod: dict[str, Any] | None = None
        self.gone: dict[str, Any] | None = None
        self.revisions: dict[str, Any] = {}
        self.made = 0
        self.seen_attempts: list[int] = []
        self.refused: Refusal | None = None
        self.finished = False
        self.ages = Ages()
        self.edits = 0
        self.failed: tuple[str, int] | None = None
        self.trial_pod: dict[str, Any] | None = None
        self.trial_refused = False
        self.preflight_pod: dict[str, Any] | None = None
        self.preflight_failed: FailedPod | None = None
        self.preflight_over: datetime | None = None
        self.passed: set[tuple[str, str]] = set()
        self.discarded: tuple[str, int] | None = None
        self.ended_trials: set[tuple[str, int]] = set()
        self.proven: set[str] = set()
        self.checked: set[str] = set()
        self.working: str | None = None
        self.follows: str | None = None
        self.edited = NOW
        self.lost: set[str] = set()
        self.deaths = 0
        self.vain_starts = 0
        self.at_hand: tuple[int, str, int] | None = None
        self.healthy_since: dict[tuple[str, int, str], datetime] = {}

    @initialize(document=st.sampled_from(DOCUMENTS + TRIALS), runs=st.booleans())
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
        name = last_revision(self.body, self.pod)
        current = None
        if name and (wanted is None or (wanted.name != name and remains(self.body, self.pod, wanted.name))):
            current = self.known(name)
        asked = wanted and wanted.name != running_revision(self.body, self.pod)
        observed = Observation(
            body=copy.deepcopy(self.body),
            pod=copy.deepcopy(self.pod),
            gone=self.gone,
            validation=validation,
            current=current,
            refused=self.refused if asked else None,
            now=self.now,
            settings=SETTINGS,
            trial_pod=copy.deepcopy(self.trial_pod),
            preflight_pod=self.known_preflight(),
        )
        if self.trial_refused and observed.trial is not None and observed.trial.start is not None:
            observed = replace(observed, trial_refusal=Refusal(POD_REFUSED, "no"))
        observed = with_ages(observed, self.ages, moment(self.now))
        target = rollback.target(observed, driver_history(observed))
        if target is not None:
            healthy = self.revisions[target]
            observed = replace(observed, healthy=healthy, way_back=self.compared(wanted, healthy))
        runs = self.known(observed.running_revision) if self.living() else observed.current
        observed = replace(observed, change=self.compared(runs, observed.wanted))
        if guarded(observed) and not observed.rolled_back:
            observed = replace(observed, refused_changes=in_use(observed, observed.change))
        observed = replace(observed, preflight=preflights.required(observed))
        return replace(observed, unchecked=unchecked.is_unchecked(observed))

    def known(self, name: str) -> Revision | None:
        """A document that ran; None if the operator cannot read it any more."""
        return None if name in self.lost else self.revisions.get(name)

    def known_preflight(self) -> PreflightPod:
        """The pod that checks a document; its end, and its rejection, begin a pause."""
        since = self.preflight_over or self.now - timedelta(days=1)
        pause = max(0.0, preflights.PAUSE_SECONDS - (self.now - since).total_seconds())
        return PreflightPod(copy.deepcopy(self.preflight_pod), None, self.preflight_failed, pause)

    def compared(self, running: Revision | None, wanted: Revision | None) -> DocumentChange | None:
        """What a change does; every third document needs a new driver, and some do not fit the checkpoints of others."""
        if running is None or wanted is None or running.name == wanted.name:
            return None
        number = int(wanted.name, 16) + int(running.name, 16)
        driver = ("spec.image",) if int(wanted.name, 16) % 3 == 0 else ()
        refused = (RefusedQuery("a", "it does not fit"),) if number % 5 == 0 else ()
        return DocumentChange(refused, driver, ("image",), () if number % 7 == 0 else ("a",))

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
        self.check_trial(old.get("trial", {}))
        if self.status.get("phase") in AT_REST:
            self.working = None
        if self.status.get("phase") in (*AT_REST, "Completed"):
            self.follows = None
        failed = self.status.get("rollback", {})
        if "target" in failed and failed != old.get("rollback"):
            self.failed = (failed["revision"], self.edits)
            healthy = self.healthy_since.get(entry_of(old), self.now)
            assert self.now - healthy <= DEADLINE, "a revision that was healthy for long is rolled back"
        if "history" in self.status and self.status["history"][0]["outcome"] != "Progressing":
            self.healthy_since.setdefault(entry_of(self.status), self.now)
        changed = old != self.status
        assert changed or not next_plan.events, "an event without a transition"
        return changed

    def carry_out(self, next_plan: Plan) -> bool:
        if self.carry_out_driver(next_plan):
            return True
        tried = self.carry_out_trial(next_plan)
        return self.carry_out_preflight(next_plan) or tried

    def carry_out_preflight(self, next_plan: Plan) -> bool:
        if next_plan.stop_preflight:
            assert self.preflight_pod is not None
            self.preflight_failed = checked.failed(self.preflight_pod) or self.preflight_failed
            self.preflight_pod = self.preflight_over = None
            return True
        if next_plan.start_preflight is None:
            return False
        assert self.preflight_pod is None, "two preflights at a time"
        assert not self.body["spec"].get("suspend")
        wanted, identity = validation_of(self.body).revision, next_plan.start_preflight.identity
        assert wanted is not None
        if self.trial_refused:
            self.preflight_failed = FailedPod(identity, Refusal(POD_REFUSED, "no"))
            self.preflight_over = self.now
            return True
        against = last_revision(self.body, self.pod)
        running = self.known(against)
        attempt = next_plan.next_attempt
        assert attempt > self.status.get("attempt", 0), "an older driver than the running one"
        self.preflight_pod = preflight_pod(
            self.body, identity, wanted, running, SETTINGS, against=against, attempt=attempt
        )
        self.preflight_pod["metadata"] |= {"uid": f"preflight-{self.made}", "resourceVersion": "1"}
        self.preflight_pod["status"] = {"phase": "Pending"}
        self.preflight_over = None
        return True

    def carry_out_trial(self, next_plan: Plan) -> bool:
        if next_plan.stop_trial:
            assert self.trial_pod is not None
            self.trial_pod = None
            return True
        if next_plan.start_trial is not None:
            assert self.trial_pod is None, "two trials at a time"
            assert not self.body["spec"].get("suspend")
            trial, wanted = next_plan.start_trial, validation_of(self.body).revision
            assert wanted is not None
            assert (trial.revision, self.edits) not in self.ended_trials, "tried again without an edit"
            running = self.revisions[trial.against]
            self.trial_pod = trial_pod(self.body, trial, wanted, running, DocumentChange(), SETTINGS)
            self.trial_pod["metadata"] |= {"uid": f"trial-{self.made}", "resourceVersion": "1"}
            self.trial_pod["status"] = {"phase": "Pending"}
            return True
        return False

    def check_may_run(self, revision: str) -> None:
        """A driver gets no revision that is on trial, nor one that was discarded, nor one that failed."""
        assert (revision, self.edits) != self.failed, "tried again without an edit"
        assert (revision, self.edits) != self.discarded, "a discarded revision"
        assert not trials.holds(self.status, revision), "a revision on trial"

    def check_replaces_nothing_that_works(self, revision: Revision) -> None:
        """A document that neither a driver nor a preflight has checked never replaces one that works."""
        working, follows = self.working, self.follows if self.now - self.edited <= WAITS else None
        if revision.name != working:
            self.working = None
            self.follows = revision.name if working or follows else None
        working = working or follows
        if working is None or revision.name in {working, *self.checked}:
            return
        works = self.revisions[working]
        has_passed = (revision.name, working) in self.passed
        assert has_passed or working not in self.lost, (
            "an unchecked document replaces one that works, and is lost"
        )
        restart = works.pipeline.spec.restart
        is_spent = restart.max_driver_retries is not None and self.deaths > restart.max_driver_retries
        fails = restart.policy == "Never" or is_spent or self.vain_starts >= REPEATEDLY
        needs_less = not works.required <= revision.required
        assert has_passed or needs_less or fails or works.ends, (
            "an unchecked document replaces one that works"
        )

    def carry_out_driver(self, next_plan: Plan) -> bool:
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
            self.check_may_run(next_plan.update.name)
            self.revisions[next_plan.update.name] = next_plan.update
            number = hand_overs.next_number(self.body, self.pod)
            self.pod["metadata"]["annotations"] |= {
                UPDATE: next_plan.update.name,
                UPDATE_NUMBER: str(number),
            }
            return True
        if next_plan.start:
            assert self.pod is None, "two drivers at a time"
            assert not self.body["spec"].get("suspend")
            assert "deletionTimestamp" not in self.body["metadata"]
            revision, attempt = next_plan.start.revision, next_plan.start.attempt
            self.check_may_run(revision.name)
            self.check_replaces_nothing_that_works(revision)
            self.revisions[revision.name] = revision
            self.pod = pods.driver_pod(
                self.body, revision, SETTINGS, attempt=attempt, run=next_plan.start.run
            )
            self.made += 1
            self.pod["metadata"] |= {"uid": f"pod-{self.made}", "resourceVersion": "1"}
            self.pod["status"] = {"phase": "Pending"}
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
        assert again.start_trial is None
        assert not again.stop_trial
        assert again.start_preflight is None
        assert not again.stop_preflight

    @rule()
    def dies_after_the_status(self) -> None:
        self.write(plan(self.look()))
        self.gone, self.ages = None, Ages()

    @rule()
    def dies_after_a_step(self) -> None:
        next_plan = plan(self.look())
        self.write(next_plan)
        self.carry_out(next_plan)
        self.gone, self.ages = None, Ages()

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
            part["reported"]["answered"] = report_of(self.body, self.pod).get("answered", 0)
        part["reported"]["time"] = timestamp(self.now - timedelta(seconds=500 if silent else 0))
        self.take(part)
        self.woken(asleep)

    def take(self, part: dict[str, Any]) -> None:
        """Write a report of the driver, and note the revision that all queries run with it."""
        self.body["status"] = self.status | part
        queries, runs = self.status["queries"], running_revision(self.body, self.pod)
        self.checked.add(runs)
        if runs not in (self.working, self.follows):
            self.follows = runs if self.working or self.follows else None
        if self.pod is not None and has_begun(self.status, pod_status.attempt(self.pod)):
            self.vain_starts = 0
        if all(
            is_active(query["state"], query.get("reason")) and "updating" not in query for query in queries
        ):
            self.proven.add(runs)
            # What failed and drains stays failed, whatever its driver still reports.
            if self.pod is not None and not pod_status.leaving(self.pod):
                self.working = runs
        elif runs != self.working or any(query["state"] == "Failed" for query in queries):
            self.working = None
        if any(query["state"] == "Failed" for query in queries):
            self.follows = None
        if "revision" not in self.status["reported"]:
            self.working = self.follows = None

    @precondition(lambda self: self.runs() and has_reported(self.body, self.pod))
    @rule()
    def the_driver_reads_a_document(self) -> None:
        """It takes a while until it has applied it; meanwhile the operator may hand over another one."""
        assert self.pod is not None
        handed = pod_status.handed_revision(self.pod)
        if handed != running_revision(self.body, self.pod):
            self.at_hand = (
                pod_status.attempt(self.pod),
                handed,
                hand_overs.next_number(self.body, self.pod) - 1,
            )

    @precondition(lambda self: self.runs() and has_reported(self.body, self.pod))
    @rule(
        outcome=st.sampled_from(["applied", "SpecInvalid", "TopicMissing", "NewDriverNeeded"]),
        touched=st.sets(st.sampled_from("abc")),
        asleep=ASLEEP,
    )
    def the_driver_takes_over(
        self, outcome: str = "applied", touched: Collection[str] = (), asleep: bool = False
    ) -> None:
        assert self.pod is not None
        if pod_status.leaving(self.pod):
            return  # a driver that drains takes nothing over
        before = self.status["reported"]
        part = {**before, "time": timestamp(self.now)}
        part.pop("refused", None)
        handed = pod_status.handed_revision(self.pod)
        part["answered"] = hand_overs.next_number(self.body, self.pod) - 1
        at_hand, self.at_hand = self.at_hand, None
        if at_hand is not None and at_hand[0] == pod_status.attempt(self.pod):
            _, handed, part["answered"] = at_hand
        if outcome != "applied" and handed == running_revision(self.body, self.pod):
            return  # there is nothing to refuse
        queries = self.status["queries"]
        if outcome == "applied":
            part["revision"] = handed
            queries = [query | ({"updating": True} if query["name"] in touched else {}) for query in queries]
        else:
            retried = outcome == "TopicMissing"
            part["refused"] = {"revision": handed, "reason": outcome, "message": "m", "retried": retried}
        self.take({"reported": part, "queries": queries})
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
        if how[1] == "completed":
            self.proven.add(running_revision(self.body, self.pod))
        if how[0] in (3, 4) or how[1] == "completed":
            self.working = self.follows = None
        self.ends_without_its_document()
        if how == (0, "drained"):
            self.deaths = 0
        elif how[1] != "interrupted":
            self.deaths = 1 if ran >= RESET_AFTER else self.deaths + 1
            if self.pod is not None and not pod_status.leaving(self.pod):
                has_run = has_begun(self.status, pod_status.attempt(self.pod))
                self.vain_starts = 0 if has_run else self.vain_starts + 1
        self.transplant(ended(body(), *how, started=finished - ran, finished=finished))
        self.woken(asleep)

    def ends_without_its_document(self) -> None:
        """The driver ends without the operator: if its document is lost, no other one can run it."""
        if self.pod is None or not pod_status.leaving(self.pod):
            self.forgets_what_is_lost()

    def forgets_what_is_lost(self) -> None:
        if {self.working, self.follows} & self.lost:
            self.working = self.follows = None

    @precondition(lambda self: self.living())
    @rule()
    def the_pod_is_evicted(self) -> None:
        assert self.pod is not None
        self.ends_without_its_document()
        self.pod["status"] = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}

    @precondition(lambda self: self.pod is not None)
    @rule(heard=st.booleans())
    def the_pod_vanishes(self, heard: bool) -> None:
        self.ends_without_its_document()
        self.gone, self.pod = (self.pod if heard else None), None

    @precondition(lambda self: self.pod is not None and not pod_status.leaving(self.pod))
    @rule(asleep=ASLEEP)
    def somebody_deletes_the_pod(self, asleep: bool = False) -> None:
        self.ends_without_its_document()
        self.tell_to_go()
        self.woken(asleep)

    # -- the trial pod

    def trial_lives(self) -> bool:
        return self.trial_pod is not None and not pod_status.over(self.trial_pod)

    @precondition(lambda self: self.trial_lives())
    @rule(asleep=ASLEEP)
    def the_trial_runs(self, asleep: bool = False) -> None:
        assert self.trial_pod is not None
        self.trial_pod["status"] = running(body())["status"]
        self.woken(asleep)

    @precondition(lambda self: self.trial_lives())
    @rule(
        how=st.sampled_from([(0, "equal"), (9, "differs"), (5, "refused"), (137, None), (0, None)]),
        asleep=ASLEEP,
    )
    def the_trial_ends(self, how: tuple[int, str | None], asleep: bool = False) -> None:
        assert self.trial_pod is not None
        code, outcome = how
        report = {"outcome": "completed", "reason": "R", "message": "m"}
        queries = [{"name": "a", "outcome": outcome}] if outcome else []
        state = {"exitCode": code, "message": json.dumps(report | {"trial": queries})}
        containers = [{"name": "driver", "state": {"terminated": state}}]
        self.trial_pod["status"] = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": containers,
        }
        self.woken(asleep)

    @precondition(lambda self: self.trial_pod is not None)
    @rule()
    def the_trial_pod_vanishes(self) -> None:
        self.trial_pod = None

    # -- the preflight pod

    def preflight_lives(self) -> bool:
        return self.preflight_pod is not None and not pod_status.over(self.preflight_pod)

    @precondition(lambda self: self.preflight_lives())
    @rule(asleep=ASLEEP)
    def the_preflight_runs(self, asleep: bool = False) -> None:
        assert self.preflight_pod is not None
        self.preflight_pod["status"] = running(body())["status"]
        self.woken(asleep)

    @precondition(lambda self: self.preflight_lives())
    @rule(how=st.sampled_from(PREFLIGHT_ENDS), asleep=ASLEEP)
    def the_preflight_ends(self, how: tuple[int, bool | None] = (0, False), asleep: bool = False) -> None:
        assert self.preflight_pod is not None
        code, retried = how
        report = {"outcome": "failed" if code else "completed", "reason": "TopicMissing", "message": "m"}
        words = {} if retried is None else {"message": json.dumps(report | {"retried": retried})}
        containers = [{"name": "driver", "state": {"terminated": {"exitCode": code, **words}}}]
        phase = "Failed" if code else "Succeeded"
        self.preflight_pod["status"] = {"phase": phase, "containerStatuses": containers}
        self.preflight_over = self.now
        if how == (0, False):
            wanted, against = checked.identity(self.preflight_pod).split("/")[:2]
            self.passed.add((wanted, against))
        self.woken(asleep)

    @precondition(lambda self: self.preflight_pod is not None)
    @rule()
    def the_preflight_pod_vanishes(self) -> None:
        self.preflight_pod = self.preflight_over = None

    @rule(refused=st.booleans())
    def the_server_refuses_trials(self, refused: bool) -> None:
        self.trial_refused = refused

    @precondition(lambda self: "trial" in self.body["spec"] and "trial" in self.status)
    @rule(asleep=ASLEEP)
    def promotes(self, asleep: bool = False) -> None:
        self.body["spec"]["trial"]["promote"] = self.status["trial"]["revision"]
        self.body["metadata"]["generation"] += 1
        self.woken(asleep)

    # -- the user, and time

    @rule(document=st.sampled_from(DOCUMENTS + TRIALS), asleep=ASLEEP)
    def changes(self, document: dict[str, Any], asleep: bool = False) -> None:
        kept = {key: self.body["spec"][key] for key in ("suspend",) if self.body["spec"].get(key)}
        self.edits += 1
        before = validation_of(self.body).revision
        self.body["spec"] = copy.deepcopy(document) | kept
        if before != validation_of(self.body).revision:
            self.edited = self.now
        if self.pod is not None and pod_status.leaving(self.pod):
            self.forgets_what_is_lost()  # the resource had the last text of the document whose driver ends
        self.body["metadata"]["generation"] += 1
        self.woken(asleep)

    @precondition(lambda self: self.runs() and has_reported(self.body, self.pod))
    @rule(document=st.sampled_from(DOCUMENTS), touched=st.sets(st.sampled_from("ab")))
    def changes_and_is_taken_over(self, document: dict[str, Any], touched: Collection[str]) -> None:
        self.the_driver_reports(["Running", "Idle"])
        self.changes(document)
        if self.runs() and pod_status.handed_revision(self.pod or {}) != running_revision(
            self.body, self.pod
        ):
            self.the_driver_takes_over(touched=touched)

    @precondition(
        lambda self: (
            self.runs() and has_reported(self.body, self.pod) and not self.body["spec"].get("suspend")
        )
    )
    @rule(document=st.sampled_from(DOCUMENTS), reads=st.booleans())
    def changes_and_undoes_it(self, document: dict[str, Any], reads: bool) -> None:
        self.the_driver_reports(["Running", "Idle"])
        before = copy.deepcopy(self.body["spec"])
        self.changes(document)
        if reads and self.runs() and has_reported(self.body, self.pod):
            self.the_driver_reads_a_document()
        self.changes(before)

    @rule(suspend=st.sampled_from([True, False, False]), asleep=ASLEEP)
    def suspends(self, suspend: bool, asleep: bool = False) -> None:
        self.body["spec"]["suspend"] = suspend
        self.body["metadata"]["generation"] += 1
        self.woken(asleep)

    @rule(nonce=st.integers(0, 3), asleep=ASLEEP)
    def restarts(self, nonce: int, asleep: bool = False) -> None:
        self.edits += 1
        self.body["spec"]["restartNonce"] = nonce
        self.body["metadata"]["generation"] += 1
        self.woken(asleep)

    @precondition(lambda self: self.living() and not pod_status.leaving(self.pod or {}))
    @rule()
    def the_running_document_is_lost(self) -> None:
        """Somebody deletes its ConfigMap, or the rules of a new operator refuse it."""
        self.lost.add(last_revision(self.body, self.pod))

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

    def check_trial(self, old: dict[str, Any]) -> None:
        """A trial that has a result, or was discarded, stays so until an edit."""
        now = self.status.get("trial", {})
        if now.get("phase") == "Discarded" and old.get("phase") != "Discarded":
            self.discarded = (now["revision"], self.edits)
        if now.get("phase") in ("Passed", "Differs", "Failed"):
            self.ended_trials.add((now["revision"], self.edits))
        if old.get("phase") == "Promoted" and now.get("revision") == old["revision"]:
            assert now["phase"] in ("Promoted", "Discarded")

    @invariant()
    def a_driver_runs_no_document_on_trial(self) -> None:
        trial = self.status.get("trial", {})
        if trial.get("phase") in HOLDING:
            assert trial["revision"] != self.status.get("revision"), "on trial, and runs"

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
        if failure.get("class") in ("Infrastructure", "Change"):
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
            if self.at_hand is not None and self.pod is not None and self.runs():
                attempt, revision, _ = self.at_hand
                assert attempt != pod_status.attempt(self.pod) or revision == wanted.name, "ready too early"

    @invariant()
    def the_history_names_what_runs(self) -> None:
        entries = self.status.get("history", [])
        assert len(entries) <= KEPT_ENTRIES
        running = [entry for entry in entries if "endTime" not in entry]
        assert len(running) <= 1
        if "history" in self.status:
            assert [entry["revision"] for entry in running] == [self.status["revision"]]
        failed = self.status.get("rollback", {})
        if "target" in failed:
            assert failed["target"] in protected(self.status)
            assert failed["target"] != failed["revision"]

    @invariant()
    def a_revision_is_healthy_only_after_all_queries_ran_its_plan(self) -> None:
        healthy = {e["revision"] for e in self.status.get("history", []) if e["outcome"] == "Healthy"}
        assert healthy <= self.proven

    @invariant()
    def it_is_ready_or_reconciling_or_stalled(self) -> None:
        conditions = {entry["type"]: entry["status"] for entry in self.status.get("conditions", ())}
        if not conditions:
            return
        assert [conditions["Ready"] == "True", "Reconciling" in conditions, "Stalled" in conditions].count(
            True
        ) == 1
        if self.status["phase"] in AT_REST:
            of_document = [conditions.get(name, "True") for name in ("SpecValid", "CheckpointCompatible")]
            assert (conditions["Ready"] == "True") == (set(of_document) == {"True"})
        if self.status["phase"] in ENDED:
            assert "Stalled" in conditions


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=40, stateful_step_count=40)


@pytest.mark.full
class TestManyLives(Life.TestCase):  # type: ignore[name-defined,misc]
    """More lives than the gate has time for."""

    settings = settings(max_examples=400, stateful_step_count=40)


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


def rolled_back(*happened: Callable[[Life], None]) -> Life:
    """The life of a pipeline after a healthy document, a changed one, and more."""
    life = Life()
    life.applied(SPEC, runs=True)
    life.changes(CHANGED)
    for happens in happened:
        happens(life)
    return life


CHANGED = {**SPEC, "restart": {"maxDriverRetries": 2, "maxBackoff": "60s"}}


def taken_over_and_failed(life: Life) -> None:
    life.the_driver_takes_over()
    life.the_driver_reports(["Failed", "Idle"])


def test_a_failed_document_is_rolled_back_in_the_running_driver_and_stays_so() -> None:
    life = rolled_back(taken_over_and_failed)
    first = str(life.status["history"][-1]["revision"])
    assert life.status["rollback"]["target"] == first
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == first
    life.the_driver_takes_over()
    life.the_driver_reports(["Idle", "Idle"])
    life.the_driver_ends((1, None))
    life.time_passes(60)
    assert life.pod is not None
    assert pod_status.revision(life.pod) == first
    assert [entry["outcome"] for entry in life.status["history"]] == ["Healthy", "RolledBack", "Healthy"]


def test_a_failed_document_is_tried_again_with_another_nonce() -> None:
    life = rolled_back(taken_over_and_failed, lambda life: life.restarts(7))
    assert "rollback" not in life.status
    life.the_driver_ends((0, "drained"))
    life.the_pod_vanishes(heard=True)
    life.turns()
    assert life.pod is not None
    assert pod_status.revision(life.pod) == life.status["history"][0]["revision"]
    assert [entry["outcome"] for entry in life.status["history"]] == ["Progressing", "RolledBack", "Healthy"]


def test_a_document_that_is_healthy_for_long_is_not_rolled_back_by_crashes_after_an_eviction() -> None:
    def healthy(life: Life) -> None:
        life.the_driver_takes_over()
        life.the_driver_reports(["Idle", "Idle"])
        life.time_passes(1800)

    def starts_again_after(end: tuple[int, str | None]) -> Callable[[Life], None]:
        def happens(life: Life) -> None:
            life.the_driver_ends(end)
            life.time_passes(60)
            life.the_container_starts()

        return happens

    crashes = [starts_again_after((1, None))] * 3
    life = rolled_back(healthy, starts_again_after((0, "drained")), *crashes)
    assert "rollback" not in life.status


TRIED = {**SPEC, "timeZone": "Europe/Zurich", "trial": {}}
AUTOMATIC = {**TRIED, "trial": {"promotion": "Automatic"}}


def tried(*happened: Callable[[Life], None], document: dict[str, Any] = TRIED) -> Life:
    """The life of a healthy pipeline after a change that is tried, and more."""
    life = Life()
    life.applied(SPEC, runs=True)
    life.changes(document)
    for happens in happened:
        happens(life)
    return life


def has_passed(life: Life) -> None:
    life.the_trial_ends((0, "equal"))


def differs(life: Life) -> None:
    life.the_trial_ends((9, "differs"))


def changed_back(life: Life) -> None:
    life.changes({**SPEC, "trial": {}})


def restarted(life: Life) -> None:
    life.restarts(7)


@pytest.mark.parametrize(
    ("document", "happened", "phase"),
    [
        (TRIED, (), "Running"),
        (TRIED, (has_passed,), "Passed"),
        (TRIED, (differs,), "Differs"),
        (TRIED, (lambda life: life.the_trial_ends((5, "refused")),), "Failed"),
        (TRIED, (lambda life: life.the_trial_ends((0, None)),), "Failed"),
        (TRIED, (lambda life: life.time_passes(40_000),), "Failed"),
        (TRIED, (restarted,), "Pending"),
        (TRIED, (lambda life: life.suspends(suspend=True),), "Pending"),
        (TRIED, (differs, lambda life: life.promotes()), "Promoted"),
        (TRIED, (lambda life: life.promotes(),), "Promoted"),
        (AUTOMATIC, (has_passed,), "Promoted"),
        (AUTOMATIC, (differs,), "Differs"),
        (TRIED, (changed_back,), "Discarded"),
        (TRIED, (differs, changed_back, lambda life: life.changes(TRIED)), "Running"),
    ],
)
def test_a_trial_has_the_phase_that_follows_from_what_happened(
    document: dict[str, Any], happened: tuple[Callable[[Life], None], ...], phase: str
) -> None:
    assert tried(*happened, document=document).status["trial"]["phase"] == phase


@pytest.mark.parametrize("document", [TRIED, {**SPEC, "trial": {}}])
def test_a_first_start_is_not_tried(document: dict[str, Any]) -> None:
    life = Life()
    life.applied(document, runs=True)
    assert life.status["phase"] == "Running"
    assert life.status["trial"]["phase"] == "Skipped"
    assert life.trial_pod is None


def test_a_document_on_trial_is_not_applied_even_after_the_driver_has_failed() -> None:
    life = tried(differs)
    first = life.status["revision"]
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == first
    life.the_driver_ends((1, None))
    life.time_passes(60)
    assert pod_status.revision(life.pod) == first
    assert life.status["trial"]["phase"] == "Differs"


def test_a_promoted_document_is_handed_to_the_running_driver() -> None:
    life = tried(differs, lambda life: life.promotes())
    assert life.pod is not None
    assert pod_status.handed_revision(life.pod) == life.status["trial"]["revision"]
    assert life.trial_pod is None
    life.the_driver_takes_over()
    assert life.status["revision"] == life.status["trial"]["revision"]
    assert life.status["trial"]["phase"] == "Promoted"


@pytest.mark.parametrize(
    ("document", "ends"),
    [
        (TRIED, lambda life: life.promotes(asleep=True)),
        (TRIED, lambda life: life.changes({**SPEC, "timeZone": "Europe/Zurich"}, asleep=True)),
        (AUTOMATIC, lambda life: life.the_trial_ends((0, "equal"), asleep=True)),
    ],
    ids=["promoted", "no longer wanted", "passed"],
)
def test_the_write_that_ends_a_trial_does_not_show_the_pipeline_as_ready(
    document: dict[str, Any], ends: Callable[[Life], None]
) -> None:
    life = tried(ends, document=document)
    life.dies_after_the_status()
    assert life.status["observedGeneration"] == life.body["metadata"]["generation"]
    life.a_pipeline_is_ready_only_with_its_document()


def test_a_new_revision_ends_the_trial_of_the_one_before() -> None:
    life = tried(lambda life: life.changes({**SPEC, "restart": {"policy": "Never"}, "trial": {}}))
    assert life.trial_pod is not None
    assert life.status["trial"]["phase"] == "Running"
    assert trials.identity(life.trial_pod).startswith(life.status["trial"]["revision"])


def test_without_spec_trial_the_change_is_applied_and_the_pod_is_deleted() -> None:
    life = tried(lambda life: life.changes({key: TRIED[key] for key in TRIED if key != "trial"}))
    assert life.trial_pod is None
    assert "trial" not in life.status


def test_a_document_is_healthy_only_after_its_queries_have_ended_the_batches_of_the_one_before() -> None:
    life = rolled_back(
        lambda life: life.the_driver_takes_over(touched="a"), lambda life: life.time_passes(1800)
    )
    outcomes = [entry["outcome"] for entry in life.status["history"]]
    assert outcomes == ["Progressing", "Healthy"]
    assert "rollback" not in life.status
    life.the_driver_reports(["Starting", "Idle"])
    assert life.status["history"][0]["outcome"] == "Progressing"
    life.the_driver_reports(["Running", "Idle"])
    assert life.status["history"][0]["outcome"] == "Healthy"
