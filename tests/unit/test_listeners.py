"""The last events of a run reach the user's listeners."""

import threading
import time
from typing import Any, ClassVar

import pytest
from mainstem.runtime.supervision import listeners
from mainstem.runtime.supervision.listeners import Listeners
from pyspark.sql.streaming import StreamingQueryListener


class Recorder(StreamingQueryListener):
    """Keeps the events that it receives."""

    events: ClassVar[list[Any]] = []

    def onQueryStarted(self, event: Any) -> None:
        self.events.append(event)

    def onQueryProgress(self, event: Any) -> None:
        self.events.append(event)

    def onQueryTerminated(self, event: Any) -> None:
        self.events.append(event)


@pytest.fixture
def user_listeners(monkeypatch: pytest.MonkeyPatch) -> Listeners:
    monkeypatch.setattr(listeners, "_event", lambda _method, event: event)
    monkeypatch.setattr(Recorder, "events", [])
    return Listeners([f"{__name__}:Recorder"])


def test_a_late_termination_event_reaches_the_listener(user_listeners: Listeners) -> None:
    user_listeners.pass_on("onQueryStarted", "one")
    user_listeners.pass_on("onQueryStarted", "two")
    user_listeners.pass_on("onQueryTerminated", "one is over")
    later = threading.Timer(0.3, user_listeners.pass_on, ("onQueryTerminated", "two is over"))
    later.start()
    user_listeners.close()
    assert Recorder.events == ["one", "two", "one is over", "two is over"]


def test_a_missing_termination_event_does_not_block(
    user_listeners: Listeners, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listeners, "GOODBYE", 0.2)
    user_listeners.pass_on("onQueryStarted", "one")
    began = time.monotonic()
    user_listeners.close()
    assert time.monotonic() - began < 5
    assert Recorder.events == ["one"]
