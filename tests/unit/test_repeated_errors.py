"""An error of the user's code that each try would repeat is tried once more, and then no more."""

import pytest
from mainstem import reasons
from mainstem.runtime.failures.classification import Failure
from mainstem.runtime.failures.repeated_errors import FailedAttempt, repeated


TYPE = "TypeError: can't compare offset-naive and offset-aware datetimes (gaps.py:9 in handleInputRows)"
STRUCT = "view 'v': [0] is declared as STRUCT<n: INT>, but is Row(m=5) (Row): its fields are m"
MISFIT = "function 'f': the result is declared as INT, but is '5' (str)"


@pytest.mark.parametrize(
    ("message", "earlier", "permanent"),
    [
        (TYPE, FailedAttempt(TYPE, 3), True),
        (MISFIT, FailedAttempt(MISFIT, 3), True),
        (STRUCT, FailedAttempt(STRUCT, 3), True),
        (
            "UnicodeDecodeError: x (a.py:1 in f)",
            FailedAttempt("UnicodeDecodeError: x (a.py:1 in f)", 3),
            True,
        ),
        (TYPE, None, False),
        (TYPE, FailedAttempt(TYPE, 2), False),
        (TYPE, FailedAttempt(TYPE, None), False),
        (TYPE, FailedAttempt(MISFIT, 3), False),
        ("ConnectionError: no answer", FailedAttempt("ConnectionError: no answer", 3), False),
        ("TypeErrors: x", FailedAttempt("TypeErrors: x", 3), False),
    ],
)
def test_the_same_error_of_code_at_the_same_batch_is_permanent(
    message: str, earlier: FailedAttempt | None, permanent: bool
) -> None:
    failure = Failure(reasons.PYTHON_FAILED, message, traceback="t")
    tried = repeated(failure, earlier, 3, writes=False)
    assert tried == Failure(reasons.PYTHON_FAILED, message, permanent, traceback="t")


@pytest.mark.parametrize(("message", "permanent"), [(TYPE, False), (MISFIT, True)])
def test_code_that_writes_to_a_server_may_recover_from_any_error(message: str, permanent: bool) -> None:
    failure = Failure(reasons.PYTHON_FAILED, message)
    assert repeated(failure, FailedAttempt(message, 3), 3, writes=True).permanent == permanent


def test_failures_of_other_reasons_are_tried_as_often_as_the_document_allows() -> None:
    failure = Failure(reasons.QUERY_FAILED, TYPE)
    assert repeated(failure, FailedAttempt(TYPE, 3), 3, writes=False) == failure
