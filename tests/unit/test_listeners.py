"""The last events of a run reach the user's listeners."""

import threading
import time
from typing import Any, ClassVar

import pytest
from mainstem.runtime.supervision import listeners
from mainstem.runtime.supervision.listeners import Listeners
from pyspark.sql.streaming import StreamingQueryListener


class Heard(StreamingQueryListener):
    """Keeps what it is told."""

    events: ClassVar[list[Any]] = []

    def onQueryStarted(self, event: Any) -> None:
        self.events.append(event)

    def onQueryProgress(self, event: Any) -> None:
        self.events.append(event)

    def onQueryTerminated(self, event: Any) -> None:
        self.events.append(event)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Listeners:
    monkeypatch.setattr(listeners, "_event", lambda _method, event: event)
    monkeypatch.setattr(Heard, "events", [])
    return Listeners([f"{__name__}:Heard"])


def test_a_late_termination_event_reaches_the_listener(told: Listeners) -> None:
    told.tell("onQueryStarted", "one")
    told.tell("onQueryStarted", "two")
    told.tell("onQueryTerminated", "one is over")
    later = threading.Timer(0.3, told.tell, ("onQueryTerminated", "two is over"))
    later.start()
    told.close()
    assert Heard.events == ["one", "two", "one is over", "two is over"]


def test_a_missing_termination_event_does_not_block(told: Listeners, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listeners, "GOODBYE", 0.2)
    told.tell("onQueryStarted", "one")
    began = time.monotonic()
    told.close()
    assert time.monotonic() - began < 5
    assert Heard.events == ["one"]
