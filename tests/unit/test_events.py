"""Spark's events, taken by the supervisor."""

import json
from typing import Any

import pytest
from mainstem.runtime.clock import Clock
from mainstem.runtime.progress.listener import Progress
from mainstem.runtime.supervision.events import EventQueue


@pytest.mark.parametrize("name", [None, "theirs"])
def test_events_of_a_query_that_user_code_started_are_ignored(name: str | None) -> None:
    """Code of the user's may start one in a query's session."""
    unasked: Any = None
    events = EventQueue(unasked, unasked, lambda _method, _event: None, Clock())
    events.put(Progress(json.dumps({"name": name, "timestamp": "2026-01-01T00:00:00.000Z"})))
    events.take([])
