"""An edit that is undone before the driver has read it: the driver answers a number, and until then the pipeline is not ready."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.names import UNFINISHED, UPDATE, UPDATE_NUMBER, update_key, update_number_key
from mainstem.reasons import NEW_DRIVER_NEEDED
from mainstem.runtime.clock import Clock
from mainstem.runtime.driver.driver_state import DriverState
from mainstem.runtime.driver.updates import Updates
from mainstem_operator.decisions.updates import APPLY_SECONDS
from mainstem_operator.manifests import objects
from mainstem_operator.observed import hand_overs
from mainstem_operator.validation.documents import DocumentChange
from unit.operator_steps import SPEC, body, condition, ended, next_step, reported, revision, running, status
from unit.test_operator_updates import NEW_NAME, OLD, OLD_NAME, WANTED, aged


ATTEMPT = 1


class Kubelet:
    """The folder of a ConfigMap, which is replaced as a kubelet does it: by a link to another folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._count = folder, 0

    def writes(self, spec: dict[str, Any], number: int | None, attempt: int = ATTEMPT) -> None:
        made = objects.update(OLD, revision(body(spec)), attempt, number or 0)["data"]
        if number is None:
            del made[update_number_key(attempt)]
        self._count += 1
        version = self.folder / f"..{self._count}"
        version.mkdir()
        for name, text in made.items():
            (version / name).write_text(text)
        link = self.folder / "..data_tmp"
        link.symlink_to(version.name)
        link.replace(self.folder / "..data")


class Driver:
    """A driver that started with the old document."""

    def __init__(self, folder: Path) -> None:
        self.state = DriverState([QueryProgress("a")], Clock(), OLD_NAME)
        self.updates = Updates(folder, ATTEMPT, self.state)

    def applies(self) -> None:
        self.updates.read()
        self.updates.applied()

    def refuses(self, *, retried: bool = False) -> None:
        self.updates.read()
        self.updates.refused(NEW_DRIVER_NEEDED, "because", retried=retried)


@pytest.fixture
def kubelet(tmp_path: Path) -> Kubelet:
    return Kubelet(tmp_path)


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path)


def test_a_driver_that_has_got_no_document_has_answered_none(driver: Driver) -> None:
    assert driver.updates.look() is None
    assert driver.state.answered == 0


def test_a_document_is_answered_once_it_is_applied_or_refused(kubelet: Kubelet, driver: Driver) -> None:
    kubelet.writes(WANTED, 1)
    assert driver.updates.look() == NEW_NAME
    assert driver.state.answered == 0
    driver.applies()
    assert (driver.state.revision, driver.state.answered) == (NEW_NAME, 1)
    kubelet.writes(SPEC, 2)
    assert driver.updates.look() == OLD_NAME
    assert driver.state.answered == 1
    driver.refuses()
    assert (driver.state.revision, driver.state.answered) == (NEW_NAME, 2)


def test_a_change_that_is_undone_before_it_was_read_is_answered_by_a_look(
    kubelet: Kubelet, driver: Driver
) -> None:
    kubelet.writes(SPEC, 2)
    assert driver.updates.look() == OLD_NAME
    assert (driver.state.revision, driver.state.answered) == (OLD_NAME, 2)


def test_the_document_of_another_driver_or_of_an_older_operator_counts_as_none(
    kubelet: Kubelet, driver: Driver
) -> None:
    kubelet.writes(SPEC, 5, attempt=ATTEMPT + 1)
    assert driver.updates.look() is None
    kubelet.writes(SPEC, None)
    assert driver.updates.look() == OLD_NAME
    assert driver.state.answered == 0


def test_document_and_number_are_of_one_version_of_the_files(kubelet: Kubelet, driver: Driver) -> None:
    """The kubelet replaces all files at once, so no look sees the document of one and the number of another."""
    kubelet.writes(WANTED, 1)
    driver.updates.look()
    place = driver.updates._place()
    kubelet.writes(SPEC, 2)
    assert {file.name for file in place.iterdir()} == {
        update_key(ATTEMPT, NEW_NAME),
        update_number_key(ATTEMPT),
    }
    assert (place / update_number_key(ATTEMPT)).read_text() == "1"


def pipeline(spec: dict[str, Any] = SPEC, **report: Any) -> dict[str, Any]:
    """The pipeline after its driver has reported that it runs the old document."""
    part = reported("Running", "Idle")
    part["reported"] |= {"revision": OLD_NAME, **report}
    return body(spec, status("Running", OLD) | part, generation=3)


def pod(handed: str = NEW_NAME, number: int | None = 1) -> dict[str, Any]:
    made = running(OLD)
    made["metadata"]["annotations"] |= {UPDATE: handed}
    if number is not None:
        made["metadata"]["annotations"] |= {UPDATE_NUMBER: str(number)}
    return made


def test_an_undone_change_is_not_ready_until_the_driver_has_answered_it() -> None:
    plan = next_step(pipeline(answered=0), pod())
    assert plan.update is not None
    assert plan.update.name == OLD_NAME
    waits = next_step(pipeline(answered=0), pod(OLD_NAME, 2))
    for each in (plan, waits):
        assert condition(each, "Ready")[:2] == ("False", "Applying")
        assert condition(each, "DocumentApplied")[:2] == ("False", "Applying")
        assert "is undone" in condition(each, "DocumentApplied")[2]
        assert each.requeue is not None
    assert (waits.update, waits.stop) == (None, False)
    answered = next_step(pipeline(answered=2), pod(OLD_NAME, 2))
    assert condition(answered, "Ready")[0] == "True"
    assert condition(answered, "DocumentApplied") == ("-", "-", "-")


@pytest.mark.parametrize(
    ("report", "its_pod"),
    [
        ({}, pod(OLD_NAME, 2)),
        ({"answered": 0}, pod(OLD_NAME, None)),
        ({"answered": 2}, pod(OLD_NAME, 2)),
        ({"answered": 3}, pod(OLD_NAME, 3)),
    ],
    ids=["an older driver", "an older operator", "answered", "answered later"],
)
def test_nobody_waits_for_an_answer_that_does_not_come(
    report: dict[str, Any], its_pod: dict[str, Any]
) -> None:
    plan = next_step(pipeline(**report), its_pod)
    assert condition(plan, "Ready")[0] == "True"
    assert condition(plan, "DocumentApplied") == ("-", "-", "-")


def test_a_driver_that_does_not_answer_is_shown_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    aged(monkeypatch, APPLY_SECONDS + 1)
    plan = next_step(pipeline(answered=1), pod(OLD_NAME, 2))
    assert condition(plan, "DocumentApplied")[:2] == ("False", "NotAnswered")
    assert (plan.stop, plan.update) == (False, None)


def test_an_end_of_the_driver_ends_the_wait() -> None:
    over = ended(OLD, 4)
    over["metadata"]["annotations"] |= {UPDATE_NUMBER: "2"}
    assert not hand_overs.may_apply_another(pipeline(answered=1), over, OLD_NAME)


@pytest.mark.parametrize("retried", [True, False])
def test_an_undone_change_that_the_driver_has_refused_is_not_ready_either(retried: bool) -> None:
    """It tries a change again for which something is missing, and may apply it at any moment."""
    refused = {"revision": NEW_NAME, "reason": "TopicNotFound", "message": "because", "retried": retried}
    plan = next_step(pipeline(answered=1, refused=refused), pod())
    assert plan.update is not None
    assert plan.update.name == OLD_NAME
    waits = next_step(pipeline(answered=1, refused=refused), pod(OLD_NAME, 2))
    for each in (plan, waits):
        assert condition(each, "Ready")[:2] == ("False", "Applying")
    assert condition(next_step(pipeline(answered=2), pod(OLD_NAME, 2)), "Ready")[0] == "True"


@pytest.mark.parametrize("spec", [SPEC, WANTED])
def test_a_hand_over_that_did_not_end_is_made_again_whatever_is_wanted_then(spec: dict[str, Any]) -> None:
    """The operator died, or the API server refused: the driver may have got the document, or not."""
    given = {"current": revision(OLD), "change": DocumentChange()}
    plan = next_step(pipeline(spec, answered=0), pod(UNFINISHED, 1), **given)
    assert plan.update is not None
    assert plan.update.name == revision(body(spec)).name
    assert condition(plan, "Ready")[:2] == ("False", "Applying")


def test_a_late_answer_posts_that_the_pipeline_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    aged(monkeypatch, APPLY_SECONDS + 1)
    late = next_step(pipeline(answered=1), pod(OLD_NAME, 2))
    after = pipeline(answered=2)
    after["status"] |= {key: value for key, value in late.status.items() if key != "reported"}
    assert [event.reason for event in next_step(after, pod(OLD_NAME, 2)).events] == ["Ready"]


def test_files_that_are_gone_or_cut_off_count_as_none_for_now(kubelet: Kubelet, driver: Driver) -> None:
    kubelet.writes(SPEC, 1)
    assert driver.updates.look() == OLD_NAME
    place = driver.updates._place()
    (place / update_number_key(ATTEMPT)).write_text("")
    assert driver.updates.look() == OLD_NAME
    assert driver.state.answered == 1
    shutil.rmtree(place)
    assert driver.updates._found(place) is None
    assert driver.updates._counted(place) == 1


def test_each_document_has_a_number_above_all_before_it() -> None:
    assert hand_overs.next_number(pipeline(), running(OLD)) == 1
    assert hand_overs.next_number(pipeline(answered=1), pod(number=1)) == 2
    assert hand_overs.next_number(pipeline(answered=0), pod(number=4)) == 5
    assert hand_overs.next_number(pipeline(answered=6), pod(number=4)) == 7


def test_a_hand_over_that_an_operator_did_not_end_is_made_again() -> None:
    """The driver has applied a document whose number its pod does not have, because the operator died between the two writes."""
    part = pipeline(answered=1)
    part["status"]["reported"]["revision"] = NEW_NAME
    plan = next_step(part, running(OLD), current=revision(body(WANTED)), change=DocumentChange())
    assert plan.update is not None
    assert plan.update.name == OLD_NAME


def test_the_file_beside_the_document_has_its_number() -> None:
    made = objects.update(OLD, revision(OLD), 3, 7)
    assert made["data"][update_number_key(3)] == "7"
    assert set(made["data"]) == {update_key(3, OLD_NAME), update_number_key(3)}
