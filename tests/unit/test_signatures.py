"""Code of the user's that cannot be called as Spark calls it is refused before the first row, with what is expected."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from mainstem.dataframes.user_code.signatures import check, check_processor, check_writer
from mainstem.errors import NotReady


class Good:
    def init(self, handle: Any) -> None: ...
    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any: ...


class OtherTimer(Good):
    def handleExpiredTimer(self, key: Any, timerValues: Any, timer: Any) -> Any: ...


class OtherNames(Good):
    """Spark gives these by position: their names are free."""

    def handleInputRows(self, k: Any, them: Any, now: Any) -> Any: ...
    def handleInitialState(self, k: Any, state: Any, now: Any) -> Any: ...


class FewRows(Good):
    def handleInputRows(self, key: Any, rows: Any) -> Any: ...


class FewInitial(Good):
    def handleInitialState(self, key: Any, initialState: Any) -> Any: ...


class NoHandle(Good):
    def init(self) -> None: ...


class Nothing:
    pass


@pytest.mark.parametrize(
    ("processor", "message"),
    [
        (
            OtherTimer(),
            "OtherTimer.handleExpiredTimer(key=..., timerValues=..., expiredTimerInfo=...), but the definition is OtherTimer.handleExpiredTimer(key, timerValues, timer): missing a required argument: 'timer'",
        ),
        (FewRows(), "FewRows.handleInputRows(key, rows, timerValues), but the definition is FewRows.handleInputRows(key, rows): too many"),
        (FewInitial(), "FewInitial.handleInitialState(key, initialState): too many"),
        (NoHandle(), "NoHandle.init(handle)"),
        (Nothing(), "Nothing has no method init"),
    ],
)  # fmt: skip
def test_a_processor_that_spark_cannot_call_is_rejected(processor: Any, message: str) -> None:
    with pytest.raises(NotReady) as refused:
        check_processor("view 'v'", processor, initial=True)
    assert refused.value.reason == "FunctionNotUsable"
    assert message in str(refused.value)
    assert str(refused.value).startswith("view 'v': ")


@pytest.mark.parametrize("processor", [Good(), OtherNames()])
def test_a_processor_that_spark_can_call_passes(processor: Any) -> None:
    check_processor("view 'v'", processor, initial=True)


def test_without_an_initial_state_its_method_is_not_required() -> None:
    check_processor("view 'v'", FewInitial(), initial=False)


class Writer:
    def process(self, row: Any) -> None: ...


class Opens(Writer):
    def open(self, partition: int) -> bool: ...


class Closes(Writer):
    def close(self) -> None: ...


class NoRow:
    def process(self) -> None: ...


@pytest.mark.parametrize(
    ("writer", "message"),
    [
        (Opens(), "Opens.open(partition, batch), but the definition is Opens.open(partition)"),
        (Closes(), "Closes.close(error)"),
        (NoRow(), "NoRow.process(row)"),
        (Nothing(), "Nothing has no method process"),
        (lambda: None, "(row)"),
        (functools.partial(lambda row, other: None), "(row)"),
    ],
)
def test_a_writer_of_rows_that_spark_cannot_call_is_rejected(writer: Any, message: str) -> None:
    with pytest.raises(NotReady) as refused:
        check_writer("sink 's'", writer)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "writer", [Writer(), print, lambda row: None, functools.partial(lambda row, a: None, a="1")]
)
def test_a_writer_of_rows_that_spark_can_call_passes(writer: Any) -> None:
    check_writer("sink 's'", writer)


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds an argument, so that the function takes another number than it is called with."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return function(*arguments, "more")

    return call


@decorated
def three(first: Any, second: Any, third: Any) -> None: ...


def no_name(batch: Any, number: Any) -> None: ...
def any_name(batch: Any, number: Any, **_rest: Any) -> None: ...


def test_only_certain_mistakes_are_rejected() -> None:
    check("sink 's'", three, ["batch", "number"])
    check("sink 's'", any_name, ["batch", "number"], ["folder"])
    check("sink 's'", dict, ["anything"])
    with pytest.raises(NotReady, match="unexpected keyword argument 'folder'"):
        check("sink 's'", no_name, ["batch", "number"], ["folder"])
