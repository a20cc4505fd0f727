"""Checks, before the first row, that the user's code accepts the arguments of its calls by Spark and Mainstem."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from mainstem import reasons
from mainstem.errors import NotReady


_INITIAL: Final = ("key", "initialState", "timerValues")
_PROCESSOR: Final = (
    # How pyspark's stateful_processor_util calls the methods: the timer's by keyword, all others by position.
    ("init", ("handle",), ()),
    ("handleInputRows", ("key", "rows", "timerValues"), ()),
    ("handleExpiredTimer", (), ("key", "timerValues", "expiredTimerInfo")),
    ("handleInitialState", _INITIAL, ()),
)
_WRITER: Final = (("process", ("row",)), ("open", ("partition", "batch")), ("close", ("error",)))


def check(
    where: str, function: Callable[..., Any], positional: Sequence[str], keywords: Iterable[str] = ()
) -> None:
    """Raise an error if a function does not accept the arguments.

    For a decorated function the parameters of the decorator count, which often accepts any arguments. The arguments that
    it passes on are not checked.

    Args:
        where: the part of the document that names the function, for the message.
        function: the function, or a method of an object.
        positional: names of the positional arguments, for the message.
        keywords: names of the keyword arguments.

    Raises:
        NotReady: `FunctionNotUsable`, with the call and the parameters of the function.
    """
    names = tuple(keywords)
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # compiled code may have no signature
        return
    try:
        signature.bind(*positional, **dict.fromkeys(names))
    except TypeError as error:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        call = ", ".join([*positional, *(f"{each}=..." for each in names)])
        message = f"{where}: the call is {name}({call}), but the definition is {name}{_without_types(signature)}: {error}"
        raise NotReady(
            message, reason=reasons.FUNCTION_NOT_USABLE, remedy="define it with the parameters of the call"
        ) from None


def check_processor(where: str, processor: Any, *, initial: bool) -> None:
    """Raise an error if Spark cannot call the methods of a stateful processor.

    Args:
        where: the part of the document that names the processor, for the message.
        processor: the object.
        initial: whether the step has an initial state.

    Raises:
        NotReady: `FunctionNotUsable`.
    """
    for name, positional, keywords in _PROCESSOR:
        method = getattr(processor, name, None)
        if method is None and name in ("init", "handleInputRows"):
            message = f"{where}: {type(processor).__qualname__} has no method {name}"
            raise NotReady(
                message, reason=reasons.FUNCTION_NOT_USABLE, remedy="derive it from StatefulProcessor"
            )
        if method is not None and (initial or name != "handleInitialState"):
            check(where, method, positional, keywords)


def check_writer(where: str, writer: Any) -> None:
    """Raise an error if Spark cannot call a writer of rows, an object or a function.

    Raises:
        NotReady: `FunctionNotUsable`.
    """
    if callable(writer):
        check(where, writer, ["row"])
        return
    if not callable(getattr(writer, "process", None)):
        message = f"{where}: {type(writer).__qualname__} has no method process"
        raise NotReady(message, reason=reasons.FUNCTION_NOT_USABLE, remedy="give it process(self, row)")
    for name, positional in _WRITER:
        if (method := getattr(writer, name, None)) is not None:
            check(where, method, positional)


def _without_types(signature: inspect.Signature) -> str:
    """The parameters without their types."""
    empty = inspect.Parameter.empty
    bare = [each.replace(annotation=empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
