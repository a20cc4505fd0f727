"""Recognizes an error of the user's Python code that each further try would repeat; pure."""

import re
from dataclasses import replace
from typing import Final, NamedTuple

from mainstem import reasons
from mainstem.dataframes.user_code.misfit import DECLARED
from mainstem.runtime.failures.classification import Failure


_OF_CODE: Final = re.compile(
    r"(?:ArithmeticError|AssertionError|AttributeError|IndexError|KeyError|LookupError|NameError|NotImplementedError|"
    r"OverflowError|RecursionError|TypeError|UnboundLocalError|Unicode\w*Error|ValueError|ZeroDivisionError)\b"
)
"""Python's own errors of code and values. Others, such as those of a connection, may pass."""


class FailedAttempt(NamedTuple):
    """A failure, and the last batch that was committed before it."""

    message: str
    committed: int | None


def repeated(
    failure: Failure, earlier: FailedAttempt | None, committed: int | None, *, writes: bool
) -> Failure:
    """The failure; a permanent one if the code has failed in the same way at the same batch before.

    Args:
        failure: the failure.
        earlier: the last failure of the query in this run.
        committed: the last committed batch.
        writes: whether a sink of the query is code. It talks to a server, and may raise any error for a bad answer.
    """
    if failure.reason != reasons.PYTHON_FAILED or earlier != FailedAttempt(failure.message, committed):
        return failure
    of_code = _OF_CODE.match(failure.message) and not writes
    return replace(failure, permanent=True) if of_code or DECLARED.search(failure.message) else failure
