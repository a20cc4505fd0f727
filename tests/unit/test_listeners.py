"""The last events of a run reach the user's listeners."""

from typing import Any, ClassVar

import pytest
from harness.clock import OwnClock
from harness.waiting import eventually
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


class Passing(OwnClock):
    """Time passes while somebody sleeps."""

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)


class LateEnd(Passing):
    """After some time, while the listeners are closed, the last query ends. Events arrive in no time."""

    user_listeners: Listeners

    def sleep(self, seconds: float) -> None:
        before = self.seconds()
        eventually("the events are delivered", lambda: len(Recorder.events) == 3 + (before >= AT))
        super().sleep(seconds)
        if before < AT <= self.seconds():
            self.user_listeners.pass_on("onQueryTerminated", "two is over")


AT = 1_000.0 + 0.3


@pytest.fixture(autouse=True)
def _events_are_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "_event", lambda _method, event: event)
    monkeypatch.setattr(Recorder, "events", [])


def test_a_late_termination_event_reaches_the_listener() -> None:
    clock = LateEnd()
    user_listeners = clock.user_listeners = Listeners([f"{__name__}:Recorder"], clock)
    user_listeners.pass_on("onQueryStarted", "one")
    user_listeners.pass_on("onQueryStarted", "two")
    user_listeners.pass_on("onQueryTerminated", "one is over")
    user_listeners.close()
    assert Recorder.events == ["one", "two", "one is over", "two is over"]


def test_a_missing_termination_event_does_not_block() -> None:
    clock = Passing()
    user_listeners = Listeners([f"{__name__}:Recorder"], clock)
    user_listeners.pass_on("onQueryStarted", "one")
    user_listeners.close()
    assert clock.seconds() >= 1_000.0 + listeners.GOODBYE
    eventually("the event is delivered", lambda: Recorder.events == ["one"])
