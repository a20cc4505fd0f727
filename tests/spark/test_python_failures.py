"""The messages of user code that fails: every kind of code by every kind of failure, on Spark itself."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness import sparks
from harness.sampling import only
from harness.supervisor_loop import Stage
from mainstem.errors import NotReady
from mainstem.language.model.status.states import QueryState
from mainstem.runtime.failures.classification import classify
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


pytestmark = pytest.mark.S32

NOWHERE = {"name": "nowhere", "noop": {}}
CALL = {"name": "seen", "sql": "SELECT fun(how) AS number FROM lines"}
JUDGED = {"name": "positive", "expect": "fun(how) > 0"}


def function(name: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "fun", "python": {"function": f"raising:{name}", "returns": "INT", **more}}]


def state(**more: Any) -> dict[str, Any]:
    return {"name": "seen", "state": {"from": "lines", "keys": ["how"], "schema": "number INT", **more}}


def python(**sink: str) -> dict[str, Any]:
    return {"name": "code", "python": sink}


KINDS: dict[str, dict[str, Any]] = {
    "function": {"view": CALL, "functions": function("udf")},
    "pandas function": {"view": CALL, "functions": function("vectorized", vectorized=True)},
    "expectation": {
        "view": {"name": "seen", "sql": "SELECT how FROM lines", "expectations": [JUDGED]},
        "functions": function("udf"),
    },
    "foreachBatch": {"sink": python(foreachBatch="raising:each_batch")},
    "foreach, a function": {"sink": python(foreach="raising:each_row")},
    "foreach, a class": {"sink": python(foreach="raising:Rows")},
    "processor": {"view": state(processor="raising:Processor")},
    "pandas processor": {"view": state(processor="raising:PandasProcessor", pandas=True)},
    "state function": {"view": state(function="raising:with_state", stateSchema="number INT")},
}
MESSAGES = {
    "type": "TypeError: object of type 'int' has no len() (",
    "import": "ModuleNotFoundError: No module named 'module_that_is_not_there' (",
    "lines": "ValueError: first line second: líne ☃ (",
    "long": "ValueError: xxx",
    "library": "re.error: missing ), unterminated subpattern at position 0 (",
    "chained": "RuntimeError: no such count (",
    "exit": "SystemExit: enough (",
    "crash": "a Python worker ended in the middle of its work",
    "group": "ExceptionGroup: several (2 sub-exceptions) (",
}


def spec(
    folder: Path, how: str, *, view: Any = None, sink: Any = None, functions: Any = (), **more: Any
) -> dict[str, Any]:
    (folder / "in").mkdir()
    (folder / "in" / "1.json").write_text(json.dumps({"how": how}) + "\n")
    lines = {"path": f"{folder}/in", "format": "json", "schema": "how STRING"}
    return {
        "sources": [{"name": "lines", "files": lines}],
        "views": [view] if view else [],
        "functions": list(functions),
        "queries": [{"name": "q", "from": "seen" if view else "lines", "to": [sink or NOWHERE]}],
        "checkpoints": {"location": f"{folder}/checkpoints"},
        **more,
    }


def failed(spark: SparkSession, folder: Path, how: str, **code: Any) -> tuple[str, str]:
    """Reason and message."""
    with pytest.raises((PySparkException, NotReady)) as raised:
        sparks.run(spark, spec(folder, how, **code))
    failure = classify(raised.value)
    return failure.reason, failure.message


TABLE = [(kind, how) for kind in KINDS for how in MESSAGES if (kind, how) != ("foreachBatch", "crash")]
"""In foreachBatch a crash is that of the driver itself."""
QUICK = {("foreachBatch", "exit")}
"""The other texts are rows of unit/test_tracebacks; the traceback of a Python worker is in test_functions."""


@pytest.mark.parametrize(
    ("kind", "how"),
    only(TABLE, QUICK),
)
def test_a_failure_is_reported_with_its_exception_and_the_user_lines(
    spark: SparkSession, tmp_path: Path, kind: str, how: str
) -> None:
    reason, message = failed(spark, tmp_path, how, **KINDS[kind])
    assert reason == ("PythonWorkerLost" if how == "crash" else "PythonFailed")
    assert message.startswith(MESSAGES[how])
    assert how == "crash" or "raising.py:" in message


@pytest.mark.full(
    gate="spark/test_python_results.py::test_a_result_that_does_not_fit_fails_the_batch_by_name"
)
def test_a_result_of_another_type_is_reported_without_a_user_line(
    spark: SparkSession, tmp_path: Path
) -> None:
    reason, message = failed(spark, tmp_path, "x", view=CALL, functions=function("misfit", vectorized=True))
    assert reason == "PythonFailed"
    assert message.startswith("function 'fun': the result is declared as INT, but is ")


def test_a_failed_view_is_reported_with_its_exception(spark: SparkSession, tmp_path: Path) -> None:
    view = {"name": "seen", "python": {"function": "raising:frame", "inputs": ["lines"]}}
    reason, message = failed(spark, tmp_path, "x", view=view)
    assert reason == "PythonFailed"
    assert message.startswith(f"view 'seen': {MESSAGES['type']}")


OTHER_ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "processor": (
        {"view": state(processor="raising:OtherTimer", timeMode="ProcessingTime")},
        "expiredTimerInfo=...), but the definition is OtherTimer.handleExpiredTimer(key, timerValues, timer)",
    ),
    "state function": (
        {"view": state(function="raising:no_state", stateSchema="number INT")},
        "no_state(key, frames, state)",
    ),
    "view": (
        {"view": {"name": "seen", "python": {"function": "raising:no_input", "inputs": ["lines"]}}},
        "no_input(lines)",
    ),
    "foreachBatch": ({"sink": python(foreachBatch="raising:no_number")}, "no_number(batch, number)"),
    "foreach, a function": ({"sink": python(foreach="raising:no_input")}, "no_input(row)"),
    "foreach, a class": ({"sink": python(foreach="raising:OtherTimer")}, "OtherTimer has no method process"),
}


@pytest.mark.parametrize("kind", only(OTHER_ARGUMENTS, {"view", "foreachBatch", "foreach, a class"}))
def test_code_with_other_arguments_is_rejected_before_it_runs(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    code, text = OTHER_ARGUMENTS[kind]
    reason, message = failed(spark, tmp_path, "x", **code)
    assert reason == "FunctionNotUsable"
    assert text in message


@pytest.mark.full(
    gate="unit/test_repeated_errors.py::test_the_same_error_of_code_at_the_same_batch_is_permanent"
)
def test_an_error_of_the_code_is_tried_once_more_and_then_no_more(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = spec(tmp_path, "type", **KINDS["function"])
    given["restart"] = {"backoff": "1 second", "maxRetries": 5}
    with Stage(spark.newSession(), tmp_path).running(**given) as running:
        running.to_the_end()
        status = running["q"]
    assert (status.state, status.reason, status.restarts) == (QueryState.FAILED, "PythonFailed", 1)


@pytest.mark.full(
    gate="unit/test_attempts.py::test_each_attempt_is_one_line_with_its_number_and_the_next_try"
)
def test_the_log_of_a_failing_query_has_a_line_for_each_attempt_and_one_traceback(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stage = Stage(spark.newSession(), tmp_path)
    given = spec(tmp_path, "type", **KINDS["function"])
    given["restart"] = {"backoff": "1 second", "maxRetries": 1}
    with stage.running(**given) as running:
        running.to_the_end()
        assert running["q"].state is QueryState.FAILED
    lines = [line for line in capfd.readouterr().err.splitlines() if " [" in line and "FairSched" not in line]
    error_lines = [line for line in lines if "TypeError" in line]
    assert [("query restarts" in line, "query failed" in line) for line in error_lines] == [
        (True, False),
        (False, True),
    ]
    assert [line for line in lines if "component=spark" in line] == []
