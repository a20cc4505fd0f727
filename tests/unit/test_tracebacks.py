"""The message of the user's Python code that failed in a batch."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mainstem.runtime.failures.classification import classify_text
from mainstem.runtime.failures.tracebacks import raised


WORKER = """\
org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/opt/mainstem/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark/worker.py", line 2100, in main
    process()
  File "/opt/mainstem/lib/python3.11/site-packages/shop/orders.py", line 12, in parse
    return _count(text)
  File "/opt/mainstem/lib/python3.11/site-packages/shop/orders.py", line 20, in _count
    raise ValueError(f"no count, password={text}")
    ^^^^^^^^^^^^^^
ValueError: no count, password=hunter2
 SQLSTATE: 39000
"""
OF_JAVA = WORKER.replace(
    "ValueError: no count", "pyspark.errors.exceptions.captured.AnalysisException: no count"
)


def test_the_message_has_the_exception_and_the_lines_of_the_user() -> None:
    failure = classify_text(WORKER)
    assert failure.reason == "PythonFailed"
    assert not failure.permanent
    assert (
        failure.message
        == "ValueError: no count, password=***** (orders.py:12 in parse, orders.py:20 in _count)"
    )


def message_of(text: str) -> str | None:
    failure = raised(text)
    return None if failure is None or failure.java else str(failure)


def test_the_message_has_at_most_the_last_four_lines() -> None:
    frames = "".join(f'  File "/u/m.py", line {line}, in f\n    f()\n' for line in range(1, 9))
    text = f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n"
    assert message_of(text) == "RecursionError: too deep (m.py:5 in f, m.py:6 in f, m.py:7 in f, m.py:8 in f)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no traceback",
        "Traceback (most recent call last):",
        "Traceback (most recent call last):\n",
        'Traceback (most recent call last):\n  File "/u/m.py", line 1, in f\n',
        OF_JAVA,
    ],
)
def test_a_text_without_a_traceback_has_no_message(text: str) -> None:
    assert message_of(text) is None


def test_an_exception_without_a_message_is_named_by_its_type() -> None:
    text = 'Traceback (most recent call last):\n  File "/u/m.py", line 1, in f\nKeyboardInterrupt\n'
    assert message_of(text) == "KeyboardInterrupt (m.py:1 in f)"


SPARK = "/opt/lib/python3.11/site-packages/pyspark/python/lib/pyspark.zip/pyspark"
PROXY = (
    "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. Reason: "
    "An exception was raised by the Python Proxy. Return Message: "
)
WRAPPED = {
    "a worker": (
        "org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: ",
        f'  File "{SPARK}/worker.py", line 3622, in main\n    process()\n',
        " SQLSTATE: 38000 SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: q\n",
    ),
    "foreachBatch": (
        f"org.apache.spark.sql.streaming.StreamingQueryException: [STREAM_FAILED] Query [id = 1] terminated with exception: {PROXY}",
        (
            '  File "/opt/lib/python3.11/site-packages/py4j/clientserver.py", line 644, in _call_proxy\n'
            "    return_value = getattr(self.pool[obj_id], method)(*params)\n                   ^^^^^^^^^^^\n"
            '  File "/opt/lib/python3.11/site-packages/mainstem/dataframes/sinks/batches.py", line 60, in write\n    each(kept, batch_id)\n'
        ),
        (
            " SQLSTATE: 39000 SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: q\n\n"
            "py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: cut\n"
        ),
    ),
}
OWN = '  File "/srv/code/shop.py", line 12, in parse\n    return _count(text)\n           ^^^^\n'
SYNTAX = '  File "/srv/code/shop.py", line 3\n    def (\n        ^\n'
STANDARD = '  File "/usr/lib/python3.11/re/_compiler.py", line 745, in compile\n    p = parse()\n'
LIBRARY = '  File "/opt/lib/python3.11/site-packages/pandas/core/frame.py", line 9, in get\n    raise KeyError(key)\n'
COMPILED = '  File "pyarrow/array.pxi", line 1217, in pyarrow.lib.Array.cast\n'
CAUSE = f"{OWN}ValueError: first\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\n"
RAISED = [
    ("of the user's", OWN, "TypeError: object of type 'int' has no len()", "TypeError: object of type 'int' has no len() (shop.py:12 in parse)"),
    ("a wrong signature", "", "TypeError: Status.handleExpiredTimer() got an unexpected keyword argument 'expiredTimerInfo'", "TypeError: Status.handleExpiredTimer() got an unexpected keyword argument 'expiredTimerInfo'"),
    ("a module that an executor lacks", OWN, "ModuleNotFoundError: No module named 'lxml'", "ModuleNotFoundError: No module named 'lxml' (shop.py:12 in parse)"),
    ("no frame but compiled ones", COMPILED, "pyspark.errors.exceptions.base.PySparkValueError: Failed to convert 'x'", "PySparkValueError: Failed to convert 'x'"),
    ("Python's own library", OWN + STANDARD, "re.error: missing )", "re.error: missing ) (shop.py:12 in parse)"),
    ("a library", OWN + LIBRARY, "KeyError: 'price'", "KeyError: 'price' (shop.py:12 in parse)"),
    ("a library alone", LIBRARY, "KeyError: 'price'", "KeyError: 'price' (frame.py:9 in get)"),
    ("several lines", OWN, 'ValueError: first\nsecond: líne ☃\n\n  File "x.py", line 3, in f\nlast', "ValueError: first second: líne ☃ (shop.py:12 in parse)"),
    ("very long", OWN, "ValueError: " + "x" * 100_000, "ValueError: " + "x" * 360 + "... (shop.py:12 in parse)"),
    ("a cause", CAUSE + OWN, "RuntimeError: second", "RuntimeError: second (shop.py:12 in parse)"),
    ("an exit", OWN, "SystemExit: enough", "SystemExit: enough (shop.py:12 in parse)"),
    ("without a message", OWN, "KeyError", "KeyError (shop.py:12 in parse)"),
    ("a module that is no Python", OWN + SYNTAX, "SyntaxError: invalid syntax", "SyntaxError: invalid syntax (shop.py:12 in parse, shop.py:3)"),
    ("a secret", OWN, "ValueError: refused, password=hunter2", "ValueError: refused, password=***** (shop.py:12 in parse)"),
]  # fmt: skip


@pytest.mark.parametrize("around", WRAPPED)
@pytest.mark.parametrize(("name", "frames", "message", "expected"), RAISED, ids=[each[0] for each in RAISED])
def test_the_last_line_of_the_innermost_traceback_comes_first(
    around: str, name: str, frames: str, message: str, expected: str
) -> None:
    before, spark, after = WRAPPED[around]
    text = f"{before}Traceback (most recent call last):\n{spark}{frames}{message}\n{after}"
    failure = classify_text(text)
    assert failure.reason == "PythonFailed"
    assert re.sub("x{50,}", "xxx", failure.message) == re.sub("x{50,}", "xxx", expected), name
    assert len(failure.message) <= 400


@pytest.mark.parametrize("around", WRAPPED)
def test_a_group_of_exceptions_is_classified(around: str) -> None:
    before, spark, after = WRAPPED[around]
    lines = f"{spark}{OWN}ExceptionGroup: several (2 sub-exceptions)\n".splitlines()
    group = "".join(f"  | {line}\n" for line in lines)
    group += "  +-+---------------- 1 ----------------\n    | ValueError: one\n    +------------------------------------\n"
    failure = classify_text(f"{before}  + Exception Group Traceback (most recent call last):\n{group}{after}")
    assert failure.reason == "PythonFailed"
    assert failure.message == "ExceptionGroup: several (2 sub-exceptions) (shop.py:12 in parse)"


def test_a_java_exception_below_python_is_classified_by_its_whole_text() -> None:
    before, spark, after = WRAPPED["foreachBatch"]
    message = "py4j.protocol.Py4JJavaError: An error occurred while calling o99.save.\n: java.lang.IllegalStateException: odd\n"
    failure = classify_text(f"{before}Traceback (most recent call last):\n{spark}{message}{after}")
    assert (failure.reason, failure.message) == ("QueryFailed", "IllegalStateException: odd")


def test_an_error_of_mainstem_in_a_batch_keeps_its_reason() -> None:
    before, spark, after = WRAPPED["foreachBatch"]
    message = "mainstem.errors.NotReady: the secret 'db' has no password [SecretNotFound]\n"
    failure = classify_text(f"{before}Traceback (most recent call last):\n{spark}{message}{after}")
    assert (failure.reason, failure.message) == ("SecretNotFound", "the secret 'db' has no password")


def test_the_sink_is_named_after_the_exception() -> None:
    before, spark, after = WRAPPED["foreachBatch"]
    message = "ValueError: odd\nmainstem: in the sink 'code'\n"
    failure = classify_text(f"{before}Traceback (most recent call last):\n{spark}{OWN}{message}{after}")
    assert failure.message == "ValueError: odd (shop.py:12 in parse) (sink 'code')"


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("exited unexpectedly (crashed)", "ended the process"),
        ("failed to connect back.", "did not start in time"),
    ],
)
def test_a_lost_worker_is_reported_with_possible_causes(message: str, why: str) -> None:
    failure = classify_text(
        f"org.apache.spark.SparkException: Python worker {message}. Consider setting 'spark...' to 'true'\njava.io.EOFException: None"
    )
    assert failure.reason == "PythonWorkerLost"
    assert why in failure.message


@given(st.text(), st.text())
def test_any_text_after_a_traceback_is_classified(frames: str, message: str) -> None:
    failure = classify_text(
        f'Traceback (most recent call last):\n  File "a.py", line 1, in f\n{frames}\n{message}'
    )
    assert failure.message
    assert len(failure.message) <= 400
