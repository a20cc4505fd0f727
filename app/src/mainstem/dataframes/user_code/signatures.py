"""Checks, before the first row comes, that the user's code accepts the arguments that Spark and Mainstem call it
with.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from mainstem.errors import NotReady


_INITIAL: Final = ("key", "initialState", "timerValues")
_PROCESSOR: Final = (
    # As pyspark's stateful_processor_util calls them: the timer's by name, all others by position.
    ("init", ("handle",), ()),
    ("handleInputRows", ("key", "rows", "timerValues"), ()),
    ("handleExpiredTimer", (), ("key", "timerValues", "expiredTimerInfo")),
    ("handleInitialState", _INITIAL, ()),
)
_WRITER: Final = (("process", ("row",)), ("open", ("partition", "batch")), ("close", ("error",)))


def check(where: str, function: Callable[..., Any], given: Sequence[str], named: Iterable[str] = ()) -> None:
    """Raise an error for a function that does not accept the arguments.

    A decorator is asked for what it takes itself, which often is anything: what it passes on is its own affair.

    Args:
        where: what names the function, for the message.
        function: the function, or a method of an object.
        given: what the arguments by position are, for the message.
        named: names of the arguments by keyword.

    Raises:
        NotReady: `FunctionNotUsable`, with the call and the parameters that the function has.
    """
    names = tuple(named)
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # code that is compiled may not say
        return
    try:
        signature.bind(*given, **dict.fromkeys(names))
    except TypeError as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        call = ", ".join([*given, *(f"{each}=..." for each in names)])
        message = (
            f"{where}: the call is {name}({call}), but the definition is {name}{_plain(signature)}: {error}"
        )
        raise NotReady(
            message, reason="FunctionNotUsable", remedy="define it with the parameters of the call"
        ) from None


def check_processor(where: str, processor: Any, *, initial: bool) -> None:
    """Raise an error for a stateful processor whose methods Spark cannot call.

    Args:
        where: what names it, for the message.
        processor: the object.
        initial: whether it is given a state to start from.

    Raises:
        NotReady: `FunctionNotUsable`.
    """
    for name, given, named in _PROCESSOR:
        method = getattr(processor, name, None)
        if method is None and name in ("init", "handleInputRows"):
            message = f"{where}: {type(processor).__qualname__} has no method {name}"
            raise NotReady(message, reason="FunctionNotUsable", remedy="derive it from StatefulProcessor")
        if method is not None and (initial or name != "handleInitialState"):
            check(where, method, given, named)


def check_writer(where: str, writer: Any) -> None:
    """Raise an error for a writer of rows, an object or a function, that Spark cannot call.

    Raises:
        NotReady: `FunctionNotUsable`.
    """
    if callable(writer):
        check(where, writer, ["row"])
        return
    if not callable(getattr(writer, "process", None)):
        message = f"{where}: {type(writer).__qualname__} has no method process"
        raise NotReady(message, reason="FunctionNotUsable", remedy="give it process(self, row)")
    for name, given in _WRITER:
        if (method := getattr(writer, name, None)) is not None:
            check(where, method, given)


def _plain(signature: inspect.Signature) -> str:
    """The parameters without their types."""
    empty = inspect.Parameter.empty
    bare = [each.replace(annotation=empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
