"""The table of a query's states: every pair of state and event, and the one place that assigns a state."""

import re
from dataclasses import replace
from pathlib import Path

import mainstem.runtime
import pytest
from mainstem.language.model.status.query_progress import QueryProgress
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.progress.transitions import TRANSITIONS, QueryEvent, ReasonEffect, after, initial


# `-`: the event changes nothing. `!`: it sets reason and message. `0`: it clears them.
TABLE = """
             Progress Idle      InputMissing InputPresent Retry        Failure  End         Drain    Interruption
Starting     Running  Running,0 Waiting,!    -            Restarting,! Failed,! Completed,0 Drained  Interrupted
Waiting      -        -         Waiting,!    Starting,0   Restarting,! Failed,! Completed,0 Drained  Interrupted
Running      -        -         Waiting,!    -            Restarting,! Failed,! Completed,0 Drained  Interrupted
Restarting   Running  Running,0 Waiting,!    -            Restarting,! Failed,! Completed,0 Drained  Interrupted
Suspended    -        -         Waiting,!    -            Restarting,! Failed,! -           -        -
Failed       -        -         -            -            -            -        -           -        -
Completed    -        -         -            -            -            -        -           -        -
Drained      -        -         -            -            -            -        -           -        -
Interrupted  -        -         -            -            -            -        -           -        -
Idle         -        -         -            -            -            -        -           -        -
Stopped      -        -         -            -            -            -        -           -        -
"""
HEAD, *ROWS = (line.split() for line in TABLE.strip().splitlines())
PAIRS = [
    (QueryState(state), QueryEvent(event), entry)
    for state, *entries in ROWS
    for event, entry in zip(HEAD, entries, strict=True)
]
EFFECTS = {"": ReasonEffect.KEEP, "!": ReasonEffect.SET, "0": ReasonEffect.CLEAR}


def test_the_table_has_every_pair() -> None:
    assert {(state, event) for state, event, _ in PAIRS} == {
        (state, event) for state in QueryState for event in QueryEvent
    }
    assert len(PAIRS) == len(QueryState) * len(QueryEvent)


@pytest.mark.parametrize(("state", "event", "entry"), PAIRS)
def test_each_event_leads_to_its_state(state: QueryState, event: QueryEvent, entry: str) -> None:
    before = QueryProgress("copy", state=state, reason="Before", message="before")
    status = after(before, event, "Now", "now")
    if entry == "-":
        assert status is before
        assert (state, event) not in TRANSITIONS
        return
    to, _, effect = entry.partition(",")
    assert TRANSITIONS[state, event].reason is EFFECTS[effect]
    reason, message = {"": ("Before", "before"), "!": ("Now", "now"), "0": (None, None)}[effect]
    assert status == replace(before, state=QueryState(to), reason=reason, message=message)


@pytest.mark.parametrize(("suspended", "state"), [(True, QueryState.SUSPENDED), (False, QueryState.STARTING)])
def test_a_query_begins_as_starting_or_suspended(suspended: bool, state: QueryState) -> None:
    assert initial(suspended=suspended) is state


def test_one_place_assigns_a_state_and_one_a_status() -> None:
    root = Path(mainstem.runtime.__path__[0])
    sources = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in root.rglob("*.py")}
    assert [name for name, text in sources.items() if re.search(r"supervised\.status\s*=[^=]", text)] == []
    assigning = {
        name for name, text in sources.items() if re.search(r"\bstate=(QueryState|transition)", text)
    }
    assert assigning == {"progress/transitions.py"}
    assert sources["query/supervised_query.py"].count("self.status = ") == 1
