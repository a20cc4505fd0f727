"""The registry of reasons: each entry is complete, has a name of its own, and is used."""

import pickle
import re
from collections import Counter
from pathlib import Path

import pytest
from mainstem import reasons
from mainstem.errors import NotReady, Problem, SpecInvalid
from mainstem.reasons import healthy, operator_faults, registry
from mainstem.reasons.reason import Exit, Origin, Reason, Restarted
from mainstem.runtime.failures.failure_patterns import FAILURE_PATTERNS


ROOT = Path(__file__).resolve().parents[2]
SOURCES = [
    path.read_text(encoding="utf-8")
    for folder in ("app/src/mainstem", "operator/src/mainstem_operator")
    for path in (ROOT / folder).rglob("*.py")
    if path.parent.name != "reasons"
]
NAMES = {name: value for name, value in vars(reasons).items() if isinstance(value, Reason)}
SHARED = {"ApiServerUnreachable"}
"""Names with two meanings: for a driver and for the operator."""


def test_every_entry_is_used() -> None:
    used = {name for text in SOURCES for name in re.findall(r"\b(?:reasons\.)?([A-Z][A-Z0-9_]+)\b", text)}
    unused = {name for name, reason in NAMES.items() if reason.origin is Origin.MAINSTEM and name not in used}
    assert unused == set()


def test_no_literal_becomes_a_reason() -> None:
    literals = [
        match for text in SOURCES for match in re.findall(r"""\bnamed\(["'].*|\bReason\(["'].*""", text)
    ]
    assert literals == []


def test_every_name_is_unique() -> None:
    counts = Counter(map(str, registry.entries()))
    assert {name for name, count in counts.items() if count > 1} == SHARED
    assert len(NAMES) == len(registry.entries())


@pytest.mark.parametrize("reason", registry.entries(), ids=str)
def test_every_entry_is_complete(reason: Reason) -> None:
    assert reason.meaning.endswith((".", ")."))
    if reason in registry.entries(healthy):
        assert not reason.action
        assert reason.exit_code is None
    else:
        assert reason.action.endswith(".")


def test_a_restart_helps_against_an_outage_without_limit() -> None:
    assert {str(reason) for reason in registry.entries() if reason.restarted is Restarted.UNLIMITED} == {
        "BrokerUnreachable",
        "DatabaseUnreachable",
        "StoreUnreachable",
    }


def test_a_failure_is_permanent_if_its_reason_is() -> None:
    other = {pattern.reason for pattern in FAILURE_PATTERNS if pattern.permanent != pattern.reason.permanent}
    assert other == set()


def test_a_name_that_arrives_as_text_is_its_entry() -> None:
    assert reasons.named("TopicNotFound") is reasons.TOPIC_NOT_FOUND
    assert reasons.named("ApiServerUnreachable") is reasons.API_SERVER_UNREACHABLE
    assert operator_faults.OPERATOR_API_SERVER_UNREACHABLE == reasons.API_SERVER_UNREACHABLE
    assert reasons.named("UNRESOLVED_COLUMN.WITH_SUGGESTION").origin is Origin.SPARK
    assert reasons.named("NodeAffinity").origin is Origin.KUBERNETES


def test_an_error_keeps_its_reason_in_another_process() -> None:
    problem = Problem(1, 2, "spec", "no", reasons.UNKNOWN_FIELD)
    [read] = pickle.loads(pickle.dumps([problem]))
    assert read == problem
    assert read.reason.exit_code is Exit.SPEC_INVALID
    assert read.reason.action == reasons.UNKNOWN_FIELD.action


def test_a_reason_has_the_exit_code_of_its_error() -> None:
    assert NotReady("no", reason=reasons.JAVA_NOT_FOUND).exit_code is reasons.JAVA_NOT_FOUND.exit_code
    assert SpecInvalid([]).exit_code is reasons.SPEC_INVALID.exit_code
