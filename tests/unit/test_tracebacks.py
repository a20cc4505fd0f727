"""What is told of the user's Python code that failed in a batch."""

import pytest
from mainstem.run.failures import of_text
from mainstem.run.tracebacks import told


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


def test_the_exception_and_the_user_s_lines() -> None:
    failure = of_text(WORKER)
    assert failure.reason == "PythonFailed"
    assert not failure.permanent
    assert (
        failure.message
        == "ValueError: no count, password=***** (orders.py:12 in parse, orders.py:20 in _count)"
    )


def test_no_more_than_the_last_four_lines() -> None:
    frames = "".join(f'  File "/u/m.py", line {line}, in f\n    f()\n' for line in range(1, 9))
    text = f"Traceback (most recent call last):\n{frames}RecursionError: too deep\n"
    assert told(text) == "RecursionError: too deep (m.py:5 in f, m.py:6 in f, m.py:7 in f, m.py:8 in f)"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no traceback",
        "Traceback (most recent call last):\n",
        'Traceback (most recent call last):\n  File "/u/m.py", line 1, in f\n',
        'Traceback (most recent call last):\n  File "/x/pyspark/worker.py", line 1, in f\nValueError: theirs\n',
        'Traceback (most recent call last):\n  File "<frozen x>", line 1, in f\nValueError: theirs\n',
        OF_JAVA,
    ],
)
def test_nothing_of_the_user_s(text: str) -> None:
    assert told(text) is None


def test_an_exception_without_a_message() -> None:
    text = 'Traceback (most recent call last):\n  File "/u/m.py", line 1, in f\nKeyboardInterrupt\n'
    assert told(text) == "KeyboardInterrupt (m.py:1 in f)"
