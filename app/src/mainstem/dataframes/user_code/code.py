"""Imports the Python code that the document names, and describes its failures with the user's own lines."""

import importlib
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame

from mainstem import logs, reasons
from mainstem.errors import NotReady


_NOT_USER_CODE: Final = re.compile(
    r"[/\\](?:pyspark|py4j|delta)[/\\.]|[/\\](?:site-packages|src)[/\\]mainstem[/\\]|^<|\.p(?:yx|xi)$|"
    r"[/\\]lib[/\\]python[\d.]+[/\\](?!(?:site|dist)-packages[/\\])"
)
"""Files whose frames do not describe the user's code: those of Spark, Mainstem and Python, and compiled code."""
_LIBRARY: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_MAX_LENGTH: Final = 400
"""Maximum number of characters of a description, including the frames."""


class Frame(NamedTuple):
    """A line of code in a traceback."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        place = f"{PurePath(self.file).name}:{self.line}"
        return f"{place} in {self.function}" if self.function else place


def load(where: str, reference: str) -> Callable[..., Any]:
    """The function or class of a reference `module:name`.

    Args:
        where: the part of the document that has the reference, for the message.
        reference: the reference.

    Raises:
        NotReady: `ModuleNotFound`, `ModuleFailed`, `FunctionNotFound`.
    """
    module, _, name = reference.partition(":")
    value: Any = _module(where, module)
    for piece in name.split("."):
        if not hasattr(value, piece):
            raise NotReady(
                f"{where}: the module {module!r} has no {name!r}",
                reason=reasons.FUNCTION_NOT_FOUND,
                remedy=_names_hint(value),
            )
        value = getattr(value, piece)
    if not callable(value):
        message = f"{where}: {reference!r} is of type {type(value).__name__}, not a function or a class"
        raise NotReady(message, reason=reasons.FUNCTION_NOT_FOUND)
    return value  # type: ignore[no-any-return]


def dataframe(where: str, reference: str, inputs: list[DataFrame], arguments: Mapping[str, str]) -> DataFrame:
    """The DataFrame that the user's function returns.

    Raises:
        NotReady: the function does not exist, raises an error (`PythonFailed`), or does not return a DataFrame
            (`NotADataFrame`).
    """
    result = call(where, reference, *inputs, **arguments)
    if not isinstance(result, DataFrame):
        message = f"{where}: {reference!r} returned {type(result).__name__}; it must return a DataFrame"
        raise NotReady(message, reason=reasons.NOT_A_DATA_FRAME)
    return result


def call(where: str, reference: str, *inputs: Any, **arguments: str) -> Any:
    """Call the user's code and return its result; an exception becomes `NotReady` with the reason `PythonFailed`."""
    function = load(where, reference)
    try:
        return function(*inputs, **arguments)
    except Py4JNetworkError:
        raise
    except (Exception, SystemExit) as error:
        raise NotReady(f"{where}: {error_line(error)}", reason=reasons.PYTHON_FAILED) from error


def module_not_found(where: str, problem: str) -> NotReady:
    """The error of a missing module."""
    remedy = "install it, add its folder to PYTHONPATH, or with `mainstem run` put it beside the document"
    return NotReady(f"{where}: {problem}", reason=reasons.MODULE_NOT_FOUND, remedy=remedy)


def error_line(error: BaseException) -> str:
    """An exception of the user's code on one line: its message, without notes, and the user's lines that led to it.

    >>> error_line(ValueError("no such airport"))
    'ValueError: no such airport'
    """
    error_only = traceback.TracebackException(type(error), error, None)
    error_only.__notes__ = None
    message = "".join(error_only.format_exception_only())
    frames = [Frame(f.filename, f.lineno or 0, f.name) for f in traceback.extract_tb(error.__traceback__)]
    return describe(message, frames)


def describe(message: str, frames: Sequence[Frame]) -> str:
    """An exception on one line: its shortened message, and the last of the user's lines that led to it.

    Lines of libraries count as the user's only if there are no other lines: the user's code may be an installed library.
    """
    user_frames = [frame for frame in frames if not _NOT_USER_CODE.search(frame.file)]
    own = [frame for frame in user_frames if not _LIBRARY.search(frame.file)] or user_frames
    places = f" ({', '.join(map(str, own[-4:]))})" if own else ""
    message, limit = logs.redact(" ".join(message.split())), _MAX_LENGTH - len(places[:200])
    return f"{message if len(message) <= limit else message[: limit - 3] + '...'}{places}"[:_MAX_LENGTH]


def _module(where: str, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        problem = (
            f"no module {missing!r}"
            if name == missing or name.startswith(f"{missing}.")
            else f"{name!r} imports {missing!r}, which is not installed"
        )
        raise module_not_found(where, problem) from error
    except (Exception, SystemExit) as error:
        raise NotReady(
            f"{where}: importing {name!r} failed: {error_line(error)}", reason=reasons.MODULE_FAILED
        ) from error


def _names_hint(module: Any) -> str:
    names = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
    return f"it has {', '.join(names[:8])}" if names else ""
