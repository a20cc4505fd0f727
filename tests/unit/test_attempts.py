"""The log of a query that fails again and again: one line an attempt, its traceback once."""

from types import SimpleNamespace
from typing import Any

from mainstem.language.model.pipeline import Restart
from mainstem.runtime.failures.classification import Failure, classify_text
from mainstem.runtime.query.restarts import Restarts
from mainstem.runtime.supervision.attempts import log_failure


TRACE = 'Traceback (most recent call last):\n  File "/u/m.py", line 1, in f\n    f()\nValueError: {}'


class Log:
    """Keeps what is logged."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def warning(self, event: str, **fields: Any) -> None:
        self.lines.append(("warning", event, fields))

    def error(self, event: str, **fields: Any) -> None:
        self.lines.append(("error", event, fields))


def attempts(*failures: Failure) -> list[tuple[str, str, dict[str, Any]]]:
    log = Log()
    restarts = Restarts(Restart.model_validate({"maxRetries": 2}))
    run: Any = SimpleNamespace(query=SimpleNamespace(name="q"), restarts=restarts, logged_traceback="")
    for failure in failures:
        log_failure(log, run, failure, restarts.next(0.0, outage=failure.outage))
    return log.lines


def test_each_attempt_is_one_line_with_its_number_and_the_next_try() -> None:
    failure = Failure("PythonFailed", "ValueError: odd")
    first, second, last = attempts(failure, failure, failure)
    fields_of_failure = {"query": "q", "reason": "PythonFailed", "error": "ValueError: odd"}
    assert first == (
        "warning",
        "query restarts",
        fields_of_failure | {"seconds": 5.0, "attempt": 1, "attempts": 2},
    )
    assert second == (
        "warning",
        "query restarts",
        fields_of_failure | {"seconds": 10.0, "attempt": 2, "attempts": 2},
    )
    assert last == ("error", "query failed", fields_of_failure | {"restarts": 2})


def test_a_traceback_is_logged_once_until_it_changes() -> None:
    odd, even = classify_text(TRACE.format("odd")), classify_text(TRACE.format("even"))
    shown = [fields.get("exception") for _, _, fields in attempts(odd, odd, even)]
    assert shown == [odd.traceback, None, even.traceback]
    assert odd.traceback == TRACE.format("odd")


def test_an_outage_has_no_last_attempt() -> None:
    [(_, _, fields)] = attempts(Failure("BrokerUnreachable", "the Kafka broker does not answer"))
    assert "attempts" not in fields


def test_a_traceback_includes_the_tracebacks_of_its_causes() -> None:
    cause = TRACE.format("first")
    chained = f"{cause}\n\nThe above exception was the direct cause of the following exception:\n\n{TRACE.format('second')}"
    traceback = classify_text(
        f"[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {chained}\n"
    ).traceback
    assert traceback == chained
